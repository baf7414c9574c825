"""The timed loop runs what a bare loop runs, by count of instructions.

How long either takes is a benchmark's to say: ``python -m tensor_assets.sessions.overhead``.
"""

from __future__ import annotations

import opcode
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from tensor_worker.messages import Clock, Time
from tensor_worker.timing import time_invocations

from tensor_assets.sessions.overhead import Nothing, measure


class Called(Nothing):
    """Does nothing, and can be replayed as a device graph can."""

    def graph_replay(self) -> Callable[[], None]:
        return self.invoke


def test_an_invocation_costs_the_timed_loop_no_more_bytecode_than_a_bare_loop():
    nothing = Called()

    def bare(invocations: int) -> None:
        invoke, wait = nothing.invoke, nothing.wait
        for _ in range(invocations):
            invoke()
            wait()

    expected = _of_an_invocation(bare)
    assert expected["CALL"] == 2
    for clock in ("host", "graph"):

        def timed(invocations: int, clock: Clock = clock) -> None:
            time_invocations(nothing, Time(invocations=invocations, clock=clock))

        assert _of_an_invocation(timed) == expected


def test_both_loops_are_measured():
    found = measure(3)
    assert min(found) > 0
    assert found.ratio == found.timed / found.bare


def _of_an_invocation(block: Callable[[int], Any]) -> Counter[str]:
    """Instructions of the interpreter that a block of two hundred runs more than one of a hundred, for each."""
    more, fewer = _executed(lambda: block(200)), _executed(lambda: block(100))
    assert all(count % 100 == 0 for count in (more - fewer).values())
    return Counter({name: count // 100 for name, count in (more - fewer).items()})


def _executed(call: Callable[[], Any]) -> Counter[str]:
    seen: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen[opcode.opname[frame.f_code.co_code[frame.f_lasti]]] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return seen
