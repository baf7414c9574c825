import msgspec
import pytest

from tensor_assets.records import Allocation
from tensor_assets.sessions.ceilings import DEVICES, ceilings_of, host_ceilings
from tensor_assets.sessions.floors import Work, floor_of, floor_under, work_of

H200 = DEVICES["NVIDIA H200"]
# weight_view at 1024×768×1024: 1.61 GFLOP; x, wt and b in, y out.
MAIN = Work(flops=2 * 1024 * 768 * 1024, read=2 * (1024 * 768 + 1024 * 768 + 1024), written=2 * 1024 * 1024)


def test_work_counts_contractions_once_and_every_byte_once(program):
    work = work_of(program)  # (8, 16, 24)
    assert work.flops == 2 * 8 * 16 * 24
    assert work.read == 2 * (8 * 16 + 24 * 16 + 24)
    assert work.written == 2 * 8 * 24


def test_an_output_that_is_also_an_operand_is_written_once(program):
    both = msgspec.structs.replace(program, outputs=("y", "p"))
    assert work_of(both).written == 2 * work_of(program).written


def test_declared_ceilings_agree_with_the_data_sheets():
    # Data sheet of the SXM parts: 989 TFLOP/s at 1,830 MHz; here at the clock they can reach.
    assert DEVICES["NVIDIA H100 80GB HBM3"].flops_per_second == pytest.approx(989.4e12 * 1980 / 1830, rel=1e-3)
    assert DEVICES["NVIDIA H100 80GB HBM3"].farthest.bytes_per_second == pytest.approx(3.35e12, rel=0.01)
    assert DEVICES["NVIDIA H100 PCIe"].farthest.bytes_per_second == pytest.approx(2.04e12, rel=0.01)
    assert 4.8e12 <= H200.farthest.bytes_per_second <= 5.0e12


def test_the_main_program_on_an_h200_is_limited_by_compute_when_warm():
    floor = floor_under(MAIN, H200, "warm")
    assert floor.ns == pytest.approx(1505, rel=0.01)
    assert floor.limit.startswith("compute")
    # Device times measured on that GPU lie above it: cuBLAS's kernel alone took 4,752 ns.
    assert floor.ns < 4752


def test_cold_inputs_come_from_the_farthest_memory():
    bound = Work(flops=0, read=48_000_000, written=0)
    assert floor_under(bound, H200, "cold").limit.startswith("HBM")
    assert floor_under(bound, H200, "cold").ns == pytest.approx(48e6 / 4.917e12 * 1e9, rel=0.01)
    assert floor_under(bound, H200, "warm").limit.startswith("L2")


def test_what_does_not_fit_the_cache_comes_from_memory_even_when_warm():
    large = Work(flops=0, read=200 << 20, written=0)
    assert floor_under(large, H200, "warm").ns == pytest.approx((140 << 20) / 4.917e12 * 1e9, rel=0.01)


def test_unknown_devices_have_no_floor(program):
    assert ceilings_of("NVIDIA A100-SXM4-80GB") is None
    assert floor_of(program, Allocation(id="x", device="NVIDIA A100-SXM4-80GB", device_uuid="GPU-1")) is None


def test_a_processor_has_one_from_its_own_instruction_sets():
    floor = floor_under(MAIN, host_ceilings("this processor"), "warm")
    assert floor.ns > 1_000
    assert "cores" in floor.limit
    # Faster than one FP16 AMX tile product a cycle on every core of the largest machine: impossible anywhere.
    assert floor.ns > MAIN.flops / (1024 * 6.2e9 * 1024) * 1e9
