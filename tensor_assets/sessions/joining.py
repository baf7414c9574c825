"""Many cells side by side: one false-discovery control over all of them, and only over what may be joined."""

from __future__ import annotations

from collections.abc import Mapping

from tensor_assets.records import BenchmarkRecord, Comparison, ProfileRecord, Timing
from tensor_assets.sessions.allocation import require_fingerprint, require_same
from tensor_assets.sessions.method import Axis
from tensor_assets.sessions.statistics import control


def compare_cells(benchmarks: Mapping[str, BenchmarkRecord], axis: Axis) -> dict[str, Comparison]:
    """The comparisons of many cells on one axis, with q values over all of them instead of over each session.

    Cells that were not compared there are left out. Raises AllocationMismatch unless all were measured on one
    allocation.
    """
    require_same("cells side by side", *(benchmark.allocation for benchmark in benchmarks.values()))
    found = {name: timing_of(benchmark, axis) for name, benchmark in benchmarks.items()}
    return control({name: timing.comparison for name, timing in found.items() if timing and timing.comparison})


def timing_of(benchmark: BenchmarkRecord, axis: Axis) -> Timing | None:
    """What a benchmark holds of ``axis``; None where it was not set out to be timed."""
    return next((one for one in benchmark.timings if Axis(one.clock, one.cache, one.data) == axis), None)


def require_joinable(benchmark: BenchmarkRecord, profile: ProfileRecord) -> None:
    """Raises AllocationMismatch unless the profile is of the timed implementation, on the timed allocation."""
    what = f"profile of {benchmark.key.compiler} beside its times"
    require_same(what, benchmark.allocation, profile.allocation)
    require_fingerprint(what, benchmark.fingerprint, profile.fingerprint)
