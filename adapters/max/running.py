"""A compiled MAX model as the worker kit drives it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from max import driver, engine
from tensor_worker.adapter import Arrays, Implementation, Unavailable
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.program import Program

from .planning import Observed
from .report import Planned, Report

GRAPH_KEY = 1  # MAX files captured device graphs under a number of the caller's

# Held at the same time and filled, so that the allocator has only poisoned memory of that size to give.
POISONED_INVOCATIONS = 3


class MaxImplementation(Implementation):
    """MAX allocates the outputs itself, at every invocation. They are poisoned by filling those of earlier invocations
    with NaN and letting them go: its allocator hands the same memory out again, most often; the plan's notes tell."""

    def __init__(
        self,
        program: Program,
        model: engine.Model,
        device: driver.Device,
        phases: dict[str, float],
        label: str,
        report: Report,
        library: str = "",
    ) -> None:
        self.phases = phases
        self.device = label
        self._library = [f"cuBLAS {library}"] if library else []
        self._program = program
        self._model = model
        self._device = device
        self._inputs: list[driver.Buffer] = []
        self._outputs: list[driver.Buffer] = []
        self._poisoned: frozenset[int] = frozenset()
        self._reused = False
        self._replayed: list[driver.Buffer] = []  # what a captured graph writes; it must outlive the graph
        self._report = report
        self._planned: Planned | None = None

    def upload(self, inputs: Arrays) -> None:
        self.place(inputs)
        self._poison()

    def place(self, inputs: Arrays) -> None:
        """Bring the inputs to the device, and no more."""
        self._release_graph()
        arrays = [np.array(inputs[value.name], order="C") for value in self._program.inputs]
        self._inputs = [self._copied(array) for array in arrays]
        self.wait()  # the copies read the arrays

    def invoke(self) -> None:
        self._outputs = self._model.execute(*self._inputs)

    def wait(self) -> None:
        self._device.synchronize()

    def outputs(self) -> dict[str, np.ndarray]:
        self._reused = self._in_poisoned_memory()
        host = [buffer.to(driver.CPU()) for buffer in self._outputs]
        self.wait()
        return {name: np.array(buffer.to_numpy()) for name, buffer in zip(self._program.outputs, host, strict=True)}

    def _in_poisoned_memory(self) -> bool:
        """Whether every output of the last invocation lies in memory that was poisoned before it."""
        return {buffer._data_ptr() for buffer in self._outputs} <= self._poisoned

    def graph_replay(self) -> Callable[[], None] | None:
        """Captures on first use. None on the CPU, and where MAX refuses to capture the program."""
        if self._device.is_host:
            return None
        if not self._replayed:
            try:
                self._replayed = self._model.capture(GRAPH_KEY, *self._inputs)
            except RuntimeError as error:
                print(f"MAX captures no device graph: {error}", file=sys.stderr)
                return None
            self.wait()
        return self._replay

    def compilations(self) -> int:
        return 1  # this process compiles once, before there is an implementation; execution never does

    def capture(self) -> Capture:
        return self._report.capture(self._planning())

    def plan(self) -> Plan:
        return self._planning().plan

    def _planning(self) -> Planned:
        if self._planned is None:
            trace = None if self._device.is_host else self._launch_trace()
            state = "lay in poisoned memory" if self._reused else "lay in fresh memory, not in what was poisoned"
            notes = [f"the outputs that were read last {state}", *self._library]
            self._planned = self._report.plan(trace, notes)
        return self._planned

    def _launch_trace(self) -> list[Observed]:
        """What MAX enqueues for one invocation, by its own record. The first invocations are over by now."""
        with driver.launch_trace() as entries:
            self.invoke()
            self.wait()
        return [_observed(entry) for entry in entries]

    def _replay(self) -> None:
        self._model.replay(GRAPH_KEY, *self._inputs)
        self._outputs = self._replayed

    def _release_graph(self) -> None:
        if self._replayed:
            self._outputs, self._replayed = [], []
            self._model.release_captured_graph(GRAPH_KEY)

    def _copied(self, array: np.ndarray) -> driver.Buffer:
        """On the CPU the buffer is the array itself, which must be ours."""
        return driver.Buffer.from_numpy(array).to(self._device)

    def _poison(self) -> None:
        held: list[driver.Buffer] = []
        for _ in range(POISONED_INVOCATIONS):
            self.invoke()
            held += self._outputs
        self.wait()
        for buffer in held:
            self._fill(buffer)
        self._poisoned = frozenset(buffer._data_ptr() for buffer in held)
        self._outputs = []

    def _fill(self, buffer: driver.Buffer) -> None:
        """With NaN. Waits: a copy that is still on its way would write into memory that is no longer ours."""
        if self._device.is_host:
            buffer.to_numpy()[...] = np.nan  # the array is the buffer's own memory
            return
        poison = self._copied(np.full(buffer.shape, np.nan, np.dtype(buffer.dtype.to_numpy())))
        buffer.inplace_copy_from(poison)
        self.wait()


class CompiledOnly(Implementation):
    """Compiled for a GPU that is not here."""

    def __init__(self, phases: dict[str, float], label: str, report: Report) -> None:
        self.phases = phases
        self.device = label
        self._report = report

    def capture(self) -> Capture:
        return self._report.capture(self._report.plan())

    def plan(self) -> Plan:
        return self._report.plan().plan

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
