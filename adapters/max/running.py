"""A compiled MAX model as the worker kit drives it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from max import driver, engine
from tensor_worker.adapter import Arrays, Implementation, Unavailable
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.program import Program

from .planning import Observed
from .report import Report

GRAPH_KEY = 1  # MAX files captured device graphs under a number of the caller's


class MaxImplementation(Implementation):
    """MAX allocates the outputs itself, at every invocation. They are poisoned by filling those of the invocation
    before with NaN and letting them go: its allocator hands the same memory out again, which ``reused`` tells."""

    def __init__(
        self,
        program: Program,
        model: engine.Model,
        device: driver.Device,
        phases: dict[str, float],
        label: str,
        report: Report,
    ) -> None:
        self.phases = phases
        self.device = label
        self._program = program
        self._model = model
        self._device = device
        self._inputs: list[driver.Buffer] = []
        self._outputs: list[driver.Buffer] = []
        self._poisoned: frozenset[int] = frozenset()
        self._captured = False
        self._report = report
        self._plan: Plan | None = None

    def upload(self, inputs: Arrays) -> None:
        self._release_graph()
        self._inputs = [self._buffer(inputs[value.name]) for value in self._program.inputs]
        if not self._outputs:
            self.invoke()  # so that there is output memory to poison
        self.wait()
        self._poison()

    def invoke(self) -> None:
        self._outputs = self._model.execute(*self._inputs)

    def wait(self) -> None:
        self._device.synchronize()

    def outputs(self) -> dict[str, np.ndarray]:
        self.wait()
        host = [buffer.to(driver.CPU()).to_numpy() for buffer in self._outputs]
        return dict(zip(self._program.outputs, host, strict=True))

    def reused(self) -> bool:
        """Whether every output of the last invocation lies in memory that was poisoned before it."""
        return {buffer._data_ptr() for buffer in self._outputs} <= self._poisoned

    def graph_replay(self) -> Callable[[], None] | None:
        """Captures on first use; ``outputs`` then reads what the replays write."""
        if self._device.is_host:
            return None
        if not self._captured:
            self._outputs = self._model.capture(GRAPH_KEY, *self._inputs)
            self._captured = True
            self.wait()
        return self._replay

    def compilations(self) -> int:
        return 1  # this process compiles once, before there is an implementation; execution never does

    def capture(self) -> Capture:
        return self._report.capture(self.plan())

    def plan(self) -> Plan:
        if self._plan is None:
            trace = None if self._device.is_host else self._launch_trace()
            state = "lay in poisoned memory" if self.reused() else "lay in fresh memory, not in what was poisoned"
            self._plan = self._report.plan(trace, [f"the outputs of the invocation after an upload {state}"])
        return self._plan

    def _launch_trace(self) -> list[Observed]:
        """What MAX enqueues for one invocation, by its own record. The first invocations are over by now."""
        driver.begin_launch_trace()
        try:
            self.invoke()
            self.wait()
        finally:
            entries = driver.take_launch_trace()
        return [_observed(entry) for entry in entries]

    def _replay(self) -> None:
        self._model.replay(GRAPH_KEY, *self._inputs)

    def _release_graph(self) -> None:
        if self._captured:
            self._outputs = []
            self._model.release_captured_graph(GRAPH_KEY)
            self._captured = False

    def _buffer(self, array: np.ndarray) -> driver.Buffer:
        """A copy: on the CPU MAX would otherwise read the caller's memory."""
        return driver.Buffer.from_numpy(np.array(array, order="C")).to(self._device)

    def _poison(self) -> None:
        for buffer in self._outputs:
            poison = np.full(buffer.shape, np.nan, np.dtype(buffer.dtype.to_numpy()))
            buffer.inplace_copy_from(driver.Buffer.from_numpy(poison).to(self._device))
        self.wait()
        self._poisoned = frozenset(buffer._data_ptr() for buffer in self._outputs)
        self._outputs = []


class CompiledOnly(Implementation):
    """Compiled for a GPU that is not here."""

    def __init__(self, phases: dict[str, float], label: str, report: Report) -> None:
        self.phases = phases
        self.device = label
        self._report = report

    def capture(self) -> Capture:
        return self._report.capture(self.plan())

    def plan(self) -> Plan:
        return self._report.plan()

    def upload(self, inputs: Arrays) -> None:
        raise Unavailable(f"compiled for {self.device}, never run: MAX compiled for a virtual device")

    def invoke(self) -> None:
        raise Unavailable(f"compiled for {self.device}, never run: MAX compiled for a virtual device")

    def wait(self) -> None:
        raise Unavailable(f"compiled for {self.device}, never run: MAX compiled for a virtual device")

    def outputs(self) -> dict[str, np.ndarray]:
        raise Unavailable(f"compiled for {self.device}, never run: MAX compiled for a virtual device")


def _observed(entry: driver.LaunchTraceEntry) -> Observed:
    if entry.kind == entry.OperationKind.KERNEL_LAUNCH:
        return Observed(
            kind="kernel",
            name=entry.name,
            grid=(entry.grid_x, entry.grid_y, entry.grid_z),
            block=(entry.block_x, entry.block_y, entry.block_z),
            shared_bytes=entry.shared_mem_bytes,
        )
    if entry.kind == entry.OperationKind.MEMSET:
        return Observed(kind="memset", name=entry.name, bytes=entry.memset_byte_size)
    return Observed(kind="memcpy", name=entry.name, bytes=entry.memcpy_byte_size)
