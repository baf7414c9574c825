"""An executable in TVM's virtual machine, or code for a GPU that is not here."""

from __future__ import annotations

import sys
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
        self._program, self._on, self._executable = program, device, executable
        self._main = relax.VirtualMachine(executable, device)["main"]
        self._inputs = [tvm.runtime.empty(value.shape, DTYPES[value.dtype], device) for value in program.inputs]
        self._results: list[tvm.runtime.Tensor] = []
        self.phases["load"] = time.perf_counter() - started

    def start(self, ran: list[str] | None) -> None:
        """The first execution, apart from compilation. With ``ran``, note there what the virtual machine calls, in
        another machine than the one that is timed: a machine cannot be rid of its instrument."""
        started = time.perf_counter()
        if ran is None:
            self.invoke()
        else:
            machine = relax.VirtualMachine(self._executable, self._on)
            machine.set_instrument(_noting(ran))
            machine["main"](*self._inputs)
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

    def graph_replay(self) -> Callable[[], None] | None:
        if self.device == "cpu":
            return None
        from .cuda_graph import captured_graph

        try:
            launch, results = captured_graph(self._on, self._capturable)
        except RuntimeError as error:
            print(f"TVM's invocation is no CUDA graph: {error}", file=sys.stderr)
            return None

        def replay() -> None:
            self._results = results
            launch()

        return replay

    def _capturable(self) -> list[tvm.runtime.Tensor]:
        self._results = []  # back to the pool, so that the invocation allocates nothing new
        self.invoke()
        return self._results


def _noting(ran: list[str]) -> Callable[..., int]:
    def instrument(_function: object, name: str, before: bool, *_arguments: object) -> int:
        if before and not str(name).startswith("vm.builtin."):
            ran.append(str(name))
        return 0  # go on as if nobody looked

    return instrument
