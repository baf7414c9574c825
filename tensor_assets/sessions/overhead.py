"""What measuring costs: the timed loop of a worker beside a bare one.

``python -m tensor_assets.sessions.overhead`` prints both, measured in one run on this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from rich.console import Console
from tensor_worker.adapter import Arrays, Implementation
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Time
from tensor_worker.timing import time_invocations

INVOCATIONS = 200  # of a block, as the protocol caps them
REPEATS = 300


class Nothing(Implementation):
    """An implementation that does nothing, so that only the loop around it takes time."""

    phases: dict[str, float] = {}

    def upload(self, inputs: Arrays) -> None:
        pass

    def invoke(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def outputs(self) -> dict[str, np.ndarray]:
        return {}

    def capture(self) -> Capture:
        return Capture(stages=())

    def plan(self) -> Plan:
        return Plan(launches=())


class Overhead(NamedTuple):
    """Nanoseconds of one invocation, medians over interleaved blocks."""

    bare: float  # two calls in a loop, two clock reads around it
    timed: float  # as a worker times it
    around: float  # what a worker does per block outside the clock reads, shared by its invocations

    @property
    def ratio(self) -> float:
        return self.timed / self.bare


def measure(repeats: int = REPEATS) -> Overhead:
    """Interleaved, so that whatever else this machine does meets both loops alike."""
    nothing, request = Nothing(), Time(invocations=INVOCATIONS)
    bare, timed, whole = [], [], []
    for _ in range(repeats):
        bare.append(_bare(nothing.invoke, nothing.wait))
        started = perf_counter_ns()
        timed.append(time_invocations(nothing, request).elapsed_ns)
        whole.append(perf_counter_ns() - started)
    of_one = [float(np.median(samples)) / INVOCATIONS for samples in (bare, timed, whole)]
    return Overhead(of_one[0], of_one[1], of_one[2] - of_one[1])


def _bare(invoke: Callable[[], None], wait: Callable[[], None]) -> int:
    repeat = range(INVOCATIONS)
    started = perf_counter_ns()
    for _ in repeat:
        invoke()
        wait()
    return perf_counter_ns() - started


def main() -> None:
    found = measure()
    Console().print(
        f"one invocation of nothing: {found.bare:.1f} ns in a bare loop, {found.timed:.1f} ns as timed "
        f"({found.ratio:.3f} of it), {found.around:.1f} ns more around the block"
    )


if __name__ == "__main__":
    main()
