"""The timing loop calls what it must, in order, and counts nothing else."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_worker import timing
from tensor_worker.adapter import Implementation, Unavailable
from tensor_worker.messages import Time
from tensor_worker.timing import busy_ns, time_invocations


class Scripted(Implementation):
    """Writes down every call; the clock moves only when it is invoked or waited for."""

    def __init__(self, device: str = "cpu", replayable: bool = False) -> None:
        self.device, self.replayable = device, replayable
        self.calls: list[str] = []
        self.now = 0
        self.built = 0

    def clock(self) -> int:
        self.calls.append("clock")
        return self.now

    def invoke(self) -> None:
        self.calls.append("invoke")
        self.now += 7

    def wait(self) -> None:
        self.calls.append("wait")
        self.now += 3

    def replay(self) -> None:
        self.calls.append("replay")
        self.now += 1

    def graph_replay(self) -> Callable[[], None] | None:
        return self.replay if self.replayable else None

    def compilations(self) -> int:
        return self.built

    def upload(self, inputs) -> None: ...
    def outputs(self): ...
    def capture(self): ...
    def plan(self): ...


@pytest.fixture
def scripted(monkeypatch):
    def make(**options) -> Scripted:
        implementation = Scripted(**options)
        monkeypatch.setattr(timing, "perf_counter_ns", implementation.clock)
        return implementation

    return make


def test_a_block_is_two_clock_reads_around_invocations_each_waited_for(scripted):
    implementation = scripted()
    timed = time_invocations(implementation, Time(invocations=3, warmup=2))
    assert implementation.calls == [*["invoke", "wait"] * 2, "clock", *["invoke", "wait"] * 3, "clock"]
    assert (timed.elapsed_ns, timed.invocations, timed.compiled) == (30, 3, 0)


def test_a_graph_block_replays_and_waits(scripted):
    implementation = scripted(device="gpu", replayable=True)
    timed = time_invocations(implementation, Time(invocations=2, warmup=1, clock="graph"))
    assert implementation.calls == ["replay", "wait", "clock", *["replay", "wait"] * 2, "clock"]
    assert (timed.clock, timed.elapsed_ns) == ("graph", 8)


def test_a_compilation_inside_the_block_is_counted(scripted):
    implementation = scripted()
    invoke = implementation.invoke

    def recompile() -> None:
        implementation.built += 1
        invoke()

    implementation.invoke = recompile
    assert time_invocations(implementation, Time(invocations=4)).compiled == 4


def test_no_garbage_is_collected_inside_the_block_and_the_setting_comes_back(scripted):
    implementation = scripted()
    seen: list[bool] = []
    implementation.wait = lambda: seen.append(gc.isenabled())
    time_invocations(implementation, Time(invocations=2))
    assert seen == [False, False]
    assert gc.isenabled()
    implementation.invoke = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        time_invocations(implementation, Time(invocations=1))
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Time(invocations=1, clock="graph"), "no device graph"),
        (Time(invocations=1, clock="device"), "traced on GPUs only"),
        (Time(invocations=1, cache="cold"), "measured on GPUs only"),
    ],
)
def test_what_a_cpu_cannot_give_is_unavailable(scripted, request_, says):
    with pytest.raises(Unavailable, match=says):
        time_invocations(scripted(), request_)


def test_an_empty_block_is_refused(scripted):
    with pytest.raises(ValueError, match="at least one"):
        time_invocations(scripted(), Time(invocations=0))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=8))
def test_busy_time_counts_every_nanosecond_once(pairs):
    intervals = [(start, start + length) for start, length in pairs]
    assert busy_ns(intervals) == len({ns for start, end in intervals for ns in range(start, end)})
