"""Machine code, occupancy, timelines and rooflines, against hand-made samples with known answers."""

import pytest
from tensor_worker.messages import Activity

from tensor_assets.records import KernelProfile
from tensor_assets.sessions.ceilings import DEVICES
from tensor_assets.sessions.occupancy import occupancy_of
from tensor_assets.sessions.roofline import operations_of, placed
from tensor_assets.sessions.sass import opcode_counts
from tensor_assets.sessions.timeline import busy_ns, gaps_ns, kernel_profiles, regular, span_ns

H200 = "NVIDIA H200"

CUOBJDUMP = """
Fatbin elf code:
arch = sm_90a
\t\tFunction : tile_product
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                 /* 0x00000a00ff017b82 */
                                                                          /* 0x000fe20000000800 */
        /*0010*/              @!P0 BRA 0x40 ;
        /*0020*/                   HGMMA.64x64x16.F32 R24, gdesc[UR4], R24 ;
        /*0030*/             @!UPT UIADD3 UR4, UR4, URZ, URZ ;
        /*0040*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0 ;
        /*0050*/                   NOP ;
\t\t..........
\t\tFunction : scale_rows
        /*0000*/                   HMUL2.F32 R0, R0, R1 ;
"""

NVDISASM = """
\t.section\t.text.tile_product,"ax",@progbits
.text.tile_product:
        /*0000*/                   LDSM.16.M88.4 R4, [R2] ;
        /*0010*/              @P1  HMMA.16816.F32 R8, R4, R12, R8 ;
.L_x_0:
        /*0020*/                   HMMA.16816.F32 R8, R6, R14, R8 ;
"""


def test_opcodes_are_counted_per_kernel_without_padding():
    found = opcode_counts(CUOBJDUMP)
    assert found["tile_product"] == {"HGMMA.64x64x16.F32": 2, "LDC": 1, "BRA": 1, "UIADD3": 1}
    assert found["scale_rows"] == {"HMUL2.F32": 1}


def test_both_disassemblers_are_read():
    assert opcode_counts(NVDISASM) == {"tile_product": {"HMMA.16816.F32": 2, "LDSM.16.M88.4": 1}}
    assert opcode_counts("no machine code here") == {}


def kernel(grid, block, registers, shared=0, **times):
    return Activity(kind="kernel", name="k", grid=grid, block=block, registers=registers, shared_bytes=shared, **times)


@pytest.mark.parametrize(
    ("activity", "share", "limit"),
    [
        # Launches seen on an H200 (reference figures of the CUDA occupancy calculator for compute capability 9.0).
        (kernel((2, 64, 1), (384, 1, 1), 168, 213_268), 12 / 64, "registers"),
        (kernel((8, 8, 1), (32, 16, 1), 122, 73_728), 16 / 64, "registers"),
        (kernel((8, 16, 1), (32, 4, 1), 92), 20 / 64, "registers"),
        (kernel((1, 1, 1), (1024, 1, 1), 32), 1.0, "threads"),
        (kernel((1, 1, 1), (32, 1, 1), 32), 0.5, "blocks"),
        (kernel((1, 1, 1), (128, 1, 1), 32, 100 * 1024), 8 / 64, "shared memory"),
    ],
)
def test_occupancy_by_what_limits_it(activity, share, limit):
    found = occupancy_of(activity, H200)
    assert (found.share, found.limit) == (share, limit)


def test_waves_are_the_grid_over_what_fits_at_once():
    assert occupancy_of(kernel((1024, 1, 1), (128, 1, 1), 32), H200).waves == pytest.approx(1024 / (16 * 132))


def test_what_is_no_kernel_or_no_known_device_has_no_occupancy():
    assert occupancy_of(Activity(kind="memset", name="memset"), H200) is None
    assert occupancy_of(kernel((1, 1, 1), (128, 1, 1), 32), "NVIDIA A100-SXM4-80GB") is None


INVOCATION = (
    Activity(kind="memset", name="memset", bytes=33_554_432, start_ns=0, duration_ns=8_000),
    kernel((2, 64, 1), (384, 1, 1), 168, 213_268, start_ns=9_000, duration_ns=5_000),
    kernel((512, 1, 1), (256, 1, 1), 16, start_ns=13_000, duration_ns=2_000),
)


def test_gaps_are_the_devices_idle_time():
    assert gaps_ns(INVOCATION) == [0, 1_000, 0]
    assert span_ns(INVOCATION) == 15_000
    assert busy_ns(INVOCATION) == 14_000
    assert (span_ns(()), busy_ns(())) == (0, 0)


def test_only_invocations_that_did_the_same_are_averaged():
    assert regular([INVOCATION, INVOCATION[1:], INVOCATION]) == [INVOCATION, INVOCATION]
    profiles = kernel_profiles([INVOCATION, INVOCATION], H200)
    assert [(profile.position, profile.kind) for profile in profiles] == [(0, "memset"), (1, "kernel"), (2, "kernel")]
    assert profiles[0].bytes == 33_554_432
    assert profiles[1].gap_ns == 1_000
    assert profiles[1].occupancy == 12 / 64
    assert kernel_profiles([], H200) == ()


def test_operations_count_each_instruction_by_what_it_does():
    counters = {
        "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum": 1000.0,
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 10.0,
        "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum": 10.0,
    }
    assert operations_of(counters) == 1000 + 20 + 40
    assert operations_of({"gpu__time_duration.sum": 5.0}) is None


def test_a_kernel_is_placed_under_the_roof_of_each_level():
    product = KernelProfile(position=0, kind="kernel", name="tile_product", duration_ns=5_000.0)
    counters = {
        "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum": 1.61e9,
        "lts__t_bytes.sum": 40e6,
        "dram__bytes.sum": 5e6,
    }
    found = placed(product, counters, DEVICES[H200])
    l2, hbm = found.roofs
    assert (l2.level, hbm.level) == ("L2", "HBM")
    assert hbm.intensity == pytest.approx(322)
    assert hbm.attainable == pytest.approx(DEVICES[H200].flops_per_second)
    assert hbm.share == pytest.approx(1.61e9 / 5e-6 / 1.0706e15, rel=0.01)
    assert l2.attainable == pytest.approx(40.25 * 132 * 64 * 1.98e9, rel=0.01)


def test_a_copy_stands_under_the_bandwidth_alone():
    copy = KernelProfile(position=0, kind="kernel", name="transpose", duration_ns=1_000.0)
    counters = {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 0.0, "dram__bytes.sum": 2e6}
    (roof,) = placed(copy, counters, DEVICES[H200]).roofs
    assert (roof.intensity, roof.attainable) == (0.0, 0.0)
    assert roof.share == pytest.approx(2e12 / 4.917e12, rel=0.01)
