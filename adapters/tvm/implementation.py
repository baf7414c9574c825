"""An executable in TVM's virtual machine, or code for a GPU that is not here."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import tvm
from tensor_worker.adapter import Arrays, Implementation, Unavailable
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.program import Program
from tvm import relax

from .lowering import DTYPES

Report = Callable[[], tuple[Capture, Plan]]
Launchable = Callable[[], None]


class CompiledOnly(Implementation):
    """Code for a GPU that is not on this machine: it can be looked at, never run."""

    def __init__(self, device: str, phases: dict[str, float], report: Report) -> None:
        self.device, self.phases, self._report = device, phases, report

    def capture(self) -> Capture:
        return self._report()[0]

    def plan(self) -> Plan:
        return self._report()[1]

    def compilations(self) -> int:
        return 1

    def upload(self, inputs: Arrays) -> None:
        raise Unavailable(f"compiled for {self.device}, never run")

    def invoke(self) -> None:
        raise Unavailable(f"compiled for {self.device}, never run")

    def wait(self) -> None:
        raise Unavailable(f"compiled for {self.device}, never run")

    def outputs(self) -> dict[str, np.ndarray]:
        raise Unavailable(f"compiled for {self.device}, never run")


class InMachine(CompiledOnly):
    """The executable loaded into a virtual machine on ``device``."""

    def __init__(
        self, program: Program, executable: relax.VMExecutable, device: tvm.runtime.Device, name: str,
        phases: dict[str, float], report: Report,
    ) -> None:  # fmt: skip
        super().__init__(name, phases, report)
        started = time.perf_counter()
        self._program, self._on = program, device
        self._main = relax.VirtualMachine(executable, device)["main"]
        self._inputs = [tvm.runtime.empty(value.shape, DTYPES[value.dtype], device) for value in program.inputs]
        self._results: list[tvm.runtime.Tensor] = []
        self.phases["load"] = time.perf_counter() - started

    def start(self) -> None:
        """The first execution, apart from compilation: it fills TVM's memory pool and loads the kernels."""
        started = time.perf_counter()
        self.invoke()
        self.wait()
        self.phases["first execution"] = time.perf_counter() - started

    def upload(self, inputs: Arrays) -> None:
        """Outputs are allocated by every invocation, out of a pool: the last ones go back to it full of NaN."""
        for value, tensor in zip(self._program.inputs, self._inputs, strict=True):
            tensor.copyfrom(np.ascontiguousarray(inputs[value.name]))
        for result in self._results:
            result.copyfrom(np.full(tuple(result.shape), np.nan, str(result.dtype)))
        self._results = []
        self.wait()

    def invoke(self) -> None:
        result = self._main(*self._inputs)
        self._results = [result] if len(self._program.outputs) == 1 else list(result)

    def wait(self) -> None:
        self._on.sync()

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: result.numpy() for name, result in zip(self._program.outputs, self._results, strict=True)}

    def graph_replay(self) -> Launchable | None:
        if self.device == "cpu":
            return None
        from .cuda_graph import captured_graph

        replay, self._results = captured_graph(self._on, self._capturable)
        return replay

    def _capturable(self) -> list[tvm.runtime.Tensor]:
        self.invoke()
        return self._results
