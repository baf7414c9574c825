"""Nsight Compute and Nsight Systems around a worker: the command that starts them, and what they wrote, read back."""

from __future__ import annotations

import csv
import io
import math
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tensor_worker.ranges import WATCHED

from tensor_assets.sessions.roofline import BYTES, OPERATIONS

# Every kernel is replayed until all counters are read; a long pipeline of kernels is cut here.
LAUNCHES = 40
COUNTERS = (
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tensor.sum",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "smsp__inst_executed.sum",
    "l1tex__t_bytes.sum",
    "l1tex__data_bank_conflicts_pipe_lsu.sum",
    *BYTES.values(),
    *OPERATIONS,
)
NO_PERMISSION = "ERR_NVGPUCTRPERM"
PERMISSION_REASON = "this user may not read the GPU's performance counters"
PERMISSION_REMEDY = (
    "allow it on the host (driver option NVreg_RestrictProfilingToAdminUsers=0), or run as root or with CAP_PERFMON"
)


class Watcher(NamedTuple):
    """A profiler around a worker: put ``prefix`` before its command, ``variables`` into its environment."""

    name: str
    prefix: tuple[str, ...]
    variables: dict[str, str]
    output: Path


def compute_watcher(folder: Path) -> Watcher | None:
    """Nsight Compute, counters into a CSV file; None where it is not installed."""
    if (program := shutil.which("ncu")) is None:
        return None
    output = folder / "ncu.csv"
    options = (
        "--clock-control", "none",  # as timed; locked clocks would be another device
        "--cache-control", "none",  # as timed, warm; else every pass begins with empty caches
        "--profile-from-start", "off",  # only what the worker marks
        "--launch-count", str(LAUNCHES),
        "--target-processes", "all",
        "--replay-mode", "kernel",
        "--metrics", ",".join(COUNTERS),
        "--csv", "--page", "raw", "--print-units", "base",
        "--print-kernel-base", "mangled",  # as CUPTI names them
        "--log-file", str(output),
    )  # fmt: skip
    return Watcher("Nsight Compute", (program, *options), {WATCHED: "ncu"}, output)


def systems_watcher(folder: Path) -> Watcher | None:
    """Nsight Systems, its own report file; None where it is not installed."""
    if (program := shutil.which("nsys")) is None:
        return None
    output = folder / "timeline.nsys-rep"
    options = (
        "profile",
        "--trace", "cuda,nvtx",
        "--sample", "none",
        "--cpuctxsw", "none",
        "--capture-range", "cudaProfilerApi",
        "--capture-range-end", "stop",
        "--force-overwrite", "true",
        "--output", str(output.with_suffix("")),
    )  # fmt: skip
    return Watcher("Nsight Systems", (program, *options), {WATCHED: "nsys"}, output)


class CountersMissing(Exception):
    """Nsight Compute ran and counted nothing; the message says why, ``remedy`` what mends it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


class Counted(NamedTuple):
    """One launch of a kernel."""

    kernel: str
    counters: dict[str, float]  # in base units; what the device does not have is left out


def read_launches(text: str) -> list[Counted]:
    """Every launch in the CSV of ``compute_watcher``, in order. Raises CountersMissing."""
    if NO_PERMISSION in text:
        raise CountersMissing(PERMISSION_REASON, PERMISSION_REMEDY)
    found = []
    for row in _table(text):
        read = {metric: value for metric in COUNTERS if (value := _number(row.get(metric, ""))) is not None}
        found += [Counted(row["Kernel Name"], read)] if read else []
    if not found:
        raise CountersMissing(_complaint(text))
    return found


def by_kernel(launches: Iterable[Counted]) -> dict[str, dict[str, float]]:
    """Kernel → counter → median over its launches."""
    found: dict[str, list[Counted]] = defaultdict(list)
    for launch in launches:
        found[launch.kernel].append(launch)
    return {kernel: _medians(own) for kernel, own in found.items()}


def by_position(launches: Sequence[Counted], kernels: Sequence[str]) -> list[dict[str, float]]:
    """The counters of each of an invocation's ``kernels``, in its order: medians over what was launched in its place.

    A library's kernel may come twice in one invocation, with other work each time, so its name alone does not tell.
    Where the launches do not repeat the invocation, such a kernel has no counters.
    """
    count = len(kernels)
    if len(launches) >= count and all(one.kernel == kernels[place % count] for place, one in enumerate(launches)):
        return [_medians(launches[place::count]) for place in range(count)]
    named, times = by_kernel(launches), Counter(kernels)
    return [named.get(kernel, {}) if times[kernel] == 1 else {} for kernel in kernels]


def _medians(launches: Sequence[Counted]) -> dict[str, float]:
    found: dict[str, list[float]] = defaultdict(list)
    for launch in launches:
        for metric, value in launch.counters.items():
            found[metric].append(value)
    return {metric: float(np.median(values)) for metric, values in found.items()}


def _table(text: str) -> list[dict[str, str]]:
    """The rows below the header, without the row of units that follows it."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    if not rows or "Kernel Name" not in rows[0]:
        return []
    header = rows[0]
    return [dict(zip(header, row, strict=True)) for row in rows[1:] if len(row) == len(header) and row[0]]


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:  # "n/a", "no data"
        return None
    return value if math.isfinite(value) else None  # a ratio of nothing is printed as "nan"


def _complaint(text: str) -> str:
    errors = [line.removeprefix("==ERROR==").strip() for line in text.splitlines() if line.startswith("==ERROR==")]
    return f"Nsight Compute: {errors[0]}" if errors else "Nsight Compute saw no kernel in the marked invocations"
