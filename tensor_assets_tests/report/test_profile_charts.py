"""The roofline names the roof that bounds, says what it counts by what clock, and which activities have no dot."""

from __future__ import annotations

import re

import pytest

from tensor_assets.records import KernelProfile, Key, Outcome, ProfileRecord, Roof
from tensor_assets.report.profile_charts import ARITHMETIC, bounding, roofline, timeline
from tensor_assets.sessions.ceilings import DEVICES
from tensor_assets.sessions.roofline import placed
from tensor_assets_tests.report.words import PROVENANCE

H200 = "NVIDIA H200"
TENSOR = "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum"
SCALAR = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"


def kernel(position: int, name: str, microseconds: float, **counters: float) -> KernelProfile:
    """A kernel placed under the H200's roofs as a profile places it."""
    bare = KernelProfile(position=position, kind="kernel", name=name, duration_ns=microseconds * 1e3)
    metrics = {"tensor": TENSOR, "scalar": SCALAR, "l2": "lts__t_bytes.sum", "hbm": "dram__bytes.sum"}
    return placed(bare, {metrics[name]: value for name, value in counters.items()}, DEVICES[H200])


def profile(*kernels: KernelProfile) -> ProfileRecord:
    return ProfileRecord(
        key=Key(workload="weight_view", compiler="tvm", target=H200),
        outcome=Outcome(status="ok"),
        provenance=PROVENANCE,
        kernels=kernels,
        counted="with warm caches",
        ceilings={"compute": "132 SMs", "L2": "64 bytes a clock"},
    )


# As counted on an H200: cuBLAS' product above both ridges, TVM's below that of L2, and TVM's transpose.
NVJET = kernel(0, "nvjet", 4.8, tensor=1610612736.0, l2=22.5e6, hbm=2.2e6)
TILED = kernel(1, "fused_matmul", 41.6, tensor=1611661312.0, l2=28.1e6, hbm=0.7e6)
TRANSPOSE = kernel(0, "transpose", 6.3, scalar=0.0, l2=24e6, hbm=0.6e6)
MEMSET = KernelProfile(position=2, kind="memset", name="memset", bytes=33_554_432, duration_ns=8_000.0)


def test_where_arithmetic_bounds_no_memory_level_is_named():
    drawn = roofline(profile(NVJET), "weight_view × eager", H200)
    assert drawn.title == "weight_view × eager: activity 1 reaches 31\u202f% of what the device's arithmetic allows"
    assert all(roof.attainable == DEVICES[H200].flops_per_second for roof in NVJET.roofs)


def test_where_a_levels_bandwidth_bounds_it_is_named():
    drawn = roofline(profile(TILED), "weight_view × TVM", H200)
    assert "of what L2's bandwidth allows" in drawn.title
    assert {row["label"]: row["bound"] for row in drawn.spec["datasets"]["rows"]} == {
        "2 · L2": "L2",
        "2 · HBM": ARITHMETIC,
    }


@pytest.mark.parametrize("level", DEVICES[H200].levels, ids=lambda level: level.name)
def test_the_ridge_is_where_bandwidth_meets_arithmetic(level):
    ridge = DEVICES[H200].flops_per_second / level.bytes_per_second

    def at(intensity: float) -> Roof:
        return Roof(level=level.name, bytes=1.0, intensity=intensity, attainable=1.0, share=0.5)

    assert bounding(at(ridge * 0.99), H200) == level.name
    assert bounding(at(ridge * 1.01), H200) == ARITHMETIC
    assert bounding(at(ridge), "a device of another maker") == ""


def test_an_undeclared_device_has_a_roof_without_a_name():
    assert (
        "reaches 31\u202f% of what its roof allows" in roofline(profile(NVJET), "x", "a device of another maker").title
    )


def test_activities_without_a_dot_are_told_with_the_reason():
    drawn = roofline(profile(TRANSPOSE, TILED, MEMSET), "weight_view × TVM", H200)
    assert {row["number"] for row in drawn.spec["datasets"]["rows"]} == {2}
    assert "not drawn: activity 1 (no operations counted), activity 3 (a memset)" in drawn.spec["title"]["subtitle"]
    assert "not drawn" not in roofline(profile(NVJET, TILED), "weight_view × TVM", H200).subtitle


def test_it_says_which_time_and_which_counters():
    said = roofline(profile(NVJET), "x", H200).subtitle
    assert "in the traced time" in said
    assert "uninstrumented" not in said
    assert "operations: of tensor cores by their own counters" in said
    assert "instruction slots" not in said
    assert "bytes: counted with warm caches" in said


@pytest.mark.parametrize("drawn", [roofline(profile(NVJET), "x", H200), timeline(profile(NVJET), "x", H200, 4e4)])
def test_lines_of_a_subtitle_do_not_run_together_in_a_heading(drawn):
    assert drawn.subtitle.split("; ")[0] in drawn.spec["title"]["subtitle"][0]
    assert drawn.subtitle == "; ".join(drawn.spec["title"]["subtitle"])
    assert not re.search(r"; ;|;;", drawn.subtitle)
