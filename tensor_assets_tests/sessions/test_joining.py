import msgspec
import pytest

from tensor_assets.errors import AllocationMismatch
from tensor_assets.records import BenchmarkRecord, Comparison, Key, Outcome, ProfileRecord, Provenance, Timing
from tensor_assets.sessions.allocation import current_allocation
from tensor_assets.sessions.joining import compare_cells, require_joinable
from tensor_assets.sessions.method import Axis
from tensor_assets_tests.sessions.simulated import SimulatedGpu

HERE = current_allocation("cuda", gpu=SimulatedGpu())
ELSEWHERE = current_allocation("cuda", "another lease", SimulatedGpu())
COMMON = {
    "outcome": Outcome(status="ok"),
    "provenance": Provenance(created="2026-01-01T00:00:00Z"),
    "fingerprint": "code",
}


def benchmark(p, allocation=HERE):
    comparison = p and Comparison(
        baseline="eager/default", ratio=1.1, interval=(1.05, 1.15), p=p, q=p, degrees=12, verdict="slower"
    )
    timing = Timing(
        clock="host", cache="warm", data="random", series=(), median_ns=1.0, noise=0.01, comparison=comparison
    )
    return BenchmarkRecord(key=Key(compiler="tvm"), session="s", allocation=allocation, timings=(timing,), **COMMON)


def test_false_discoveries_are_controlled_over_all_cells():
    cells = {f"cell {index}": benchmark(0.04) for index in range(3)} | {
        f"same {index}": benchmark(0.9) for index in range(7)
    }
    found = compare_cells(cells, Axis("host"))
    assert found["cell 0"].q == pytest.approx(0.04 * 10 / 3)
    assert found["cell 0"].verdict == "uncertain"  # each alone was called slower
    assert compare_cells({"cell": benchmark(0.04)}, Axis("host"))["cell"].verdict == "slower"


def test_cells_without_a_comparison_are_left_out():
    assert list(compare_cells({"a": benchmark(0.04), "b": benchmark(None)}, Axis("host"))) == ["a"]
    assert compare_cells({"a": benchmark(0.04)}, Axis("graph")) == {}


def test_cells_of_two_allocations_are_not_joined():
    with pytest.raises(AllocationMismatch):
        compare_cells({"a": benchmark(0.04), "b": benchmark(0.04, ELSEWHERE)}, Axis("host"))


def test_a_profile_joins_only_its_own_implementation_on_its_own_allocation():
    profile = ProfileRecord(key=Key(compiler="tvm"), allocation=HERE, **COMMON)
    require_joinable(benchmark(0.04), profile)
    for other in (
        msgspec.structs.replace(profile, fingerprint="another"),
        msgspec.structs.replace(profile, allocation=ELSEWHERE),
        msgspec.structs.replace(profile, allocation=None),
    ):
        with pytest.raises(AllocationMismatch):
            require_joinable(benchmark(0.04), other)
