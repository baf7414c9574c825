"""The trace against a stand-in for CUPTI that records what a scripted program launches."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import pytest
from tensor_worker import tracing
from tensor_worker.adapter import Unavailable
from tensor_worker.messages import Time
from tensor_worker.timing import time_invocations

KINDS = SimpleNamespace(MEMCPY=1, MEMSET=2, KERNEL=3, CONCURRENT_KERNEL=10)


class CuptiError(Exception):
    pass


class Cupti:
    """Buffers records while their kind is enabled and hands them over at a flush, newest first."""

    ActivityKind, cuptiError = KINDS, CuptiError

    def __init__(self) -> None:
        self.enabled: set[int] = set()
        self.buffer: list[SimpleNamespace] = []
        self.refuses = ""
        self.lost = 0

    def activity_register_callbacks(self, requested, completed) -> None:
        assert requested() == (8 * 1024 * 1024, 0)
        self.completed = completed

    def activity_enable(self, kind) -> None:
        if self.refuses:
            raise CuptiError(self.refuses)
        self.enabled.add(kind)

    def activity_disable(self, kind) -> None:
        self.enabled.discard(kind)

    def activity_flush_all(self, forced) -> None:
        assert forced == 1
        full, self.buffer = self.buffer[::-1], []
        self.completed(full)

    def activity_get_num_dropped_records(self, context, stream, pointer) -> None:
        ctypes.c_size_t.from_address(pointer).value = self.lost

    def record(self, **fields) -> None:
        if fields["kind"] in self.enabled:
            self.buffer.append(SimpleNamespace(**fields))


class Program:
    """A memset, then a kernel, at a device clock that moves on with each invocation."""

    device = "NVIDIA H200"

    def __init__(self, cupti: Cupti) -> None:
        self.cupti, self.now, self.invoked = cupti, 10_000, 0

    def invoke(self) -> None:
        self.invoked += 1
        start = self.now = self.now + 1_000
        self.cupti.record(kind=KINDS.MEMSET, start=start, end=start + 80, bytes=33_554_432, graph_node_id=0)
        self.cupti.record(
            kind=KINDS.CONCURRENT_KERNEL, start=start + 100, end=start + 150, name="gemm",
            grid_x=2, grid_y=64, grid_z=1, block_x=384, block_y=1, block_z=1, registers_per_thread=168,
            static_shared_memory=84, dynamic_shared_memory=213_184,
            graph_node_id=5,
        )  # fmt: skip

    def wait(self) -> None: ...

    def compilations(self) -> int:
        return 0


@pytest.fixture
def cupti(monkeypatch):
    stand_in = Cupti()
    monkeypatch.setattr(tracing, "_recorder", None)
    monkeypatch.setitem(sys.modules, "cupti", SimpleNamespace(cupti=stand_in))
    return stand_in


def test_each_invocation_has_its_activities_in_order_from_its_own_origin(cupti):
    cupti.lost = 2
    traced = tracing.trace_invocations(program := Program(cupti), 3)
    assert program.invoked == 4, "one invocation is not recorded"
    assert (len(traced.invocations), traced.dropped) == (3, 2)
    for memset, kernel in traced.invocations:
        assert (memset.kind, memset.bytes, memset.start_ns, memset.duration_ns) == ("memset", 33_554_432, 0, 80)
        assert (kernel.kind, kernel.name, kernel.start_ns, kernel.duration_ns) == ("kernel", "gemm", 100, 50)
        assert (kernel.grid, kernel.block, kernel.registers) == ((2, 64, 1), (384, 1, 1), 168)
        assert (kernel.shared_bytes, kernel.graph_node) == (213_268, 5)
    assert cupti.enabled == set()


def test_a_second_trace_starts_empty(cupti):
    program = Program(cupti)
    tracing.trace_invocations(program, 1)
    program.invoke()
    assert [len(activities) for activities in tracing.trace_invocations(program, 2).invocations] == [2, 2]


def test_the_device_clock_is_the_busy_time_of_the_block(cupti):
    timed = time_invocations(Program(cupti), Time(invocations=4, warmup=2, clock="device"))
    assert timed.elapsed_ns == 4 * (80 + 50)


def test_a_trace_that_lost_records_is_no_time(cupti):
    cupti.lost = 1
    with pytest.raises(Unavailable, match="lost 1 records"):
        time_invocations(Program(cupti), Time(invocations=4, clock="device"))


def test_a_driver_that_refuses_makes_the_trace_unavailable(cupti):
    cupti.refuses = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
    with pytest.raises(Unavailable, match=r"activity_enable.*INSUFFICIENT_PRIVILEGES"):
        tracing.trace_invocations(Program(cupti), 1)


def test_cupti_is_found_in_the_folder_that_is_named_for_it(monkeypatch, tmp_path):
    (tmp_path / "cupti").mkdir()
    (tmp_path / "cupti" / "__init__.py").write_text("cupti = 'the one in the folder'")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "cupti", raising=False)
    monkeypatch.setenv(tracing.FOLDER_VARIABLE, str(tmp_path))
    assert tracing.load_cupti() == "the one in the folder"
    assert sys.path[-1] == str(tmp_path)


def test_without_cupti_the_trace_says_what_to_install(monkeypatch):
    monkeypatch.setattr(tracing, "_recorder", None)
    monkeypatch.setitem(sys.modules, "cupti", None)
    with pytest.raises(Unavailable, match="cupti-python cannot be imported") as error:
        tracing.trace_invocations(Program(Cupti()), 1)
    assert "cupti-python==13.0.1" in error.value.remedy
