"""A compiled program: on a device through TinyJit, or as code for a GPU that is not here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from tensor_worker.adapter import Arrays, Implementation, Unavailable
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.program import Program, Value
from tinygrad import Device, Tensor, TinyJit
from tinygrad.device import Buffer
from tinygrad.engine.jit import create_graph_call
from tinygrad.engine.realize import get_graph_runtime
from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops, UOp

from .dialect import fill
from .kernels import Kernel, compilations, programs_run
from .lowering import DTYPES, Lowering

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
        return compilations()

    def upload(self, inputs: Arrays) -> None:
        raise Unavailable(f"compiled for {self.device}, never run")

    def invoke(self) -> None:
        raise Unavailable(f"compiled for {self.device}, never run")

    def wait(self) -> None:
        raise Unavailable(f"compiled for {self.device}, never run")

    def outputs(self) -> dict[str, np.ndarray]:
        raise Unavailable(f"compiled for {self.device}, never run")


class Jitted(CompiledOnly):
    """The program under TinyJit, the way tinygrad's users run one again and again."""

    def __init__(self, program: Program, lowering: Lowering, device: str, beam: int, report: Report) -> None:
        super().__init__(device, {}, report)
        self._program, self._beam = program, beam
        self._inputs = [_empty(value, device) for value in program.inputs]
        self._jit = TinyJit(_function(program, lowering))
        self._results: tuple[Tensor, ...] = ()

    def start(self, kernels: tuple[Kernel, ...]) -> None:
        """Run once as tinygrad does without a jit, once to capture, and make sure that ``kernels`` is what runs."""
        started = time.perf_counter()
        self.invoke()
        self.wait()
        self.phases["first execution"] = time.perf_counter() - started
        self.invoke()
        self.wait()
        self.phases["jit capture"] = time.perf_counter() - started - self.phases["first execution"]
        run = programs_run(self._linear())
        if [program.key for program in run] != [kernel.program.key for kernel in kernels]:
            names = [program.arg.function_name for program in run]
            raise RuntimeError(f"TinyJit runs {names}, not the captured {[kernel.name for kernel in kernels]}")

    def _linear(self) -> UOp:
        """The schedule that the jit runs."""
        if self._jit.captured is None:
            raise RuntimeError("TinyJit has captured nothing yet")
        return self._jit.captured.linear

    def upload(self, inputs: Arrays) -> None:
        for value, tensor in zip(self._program.inputs, self._inputs, strict=True):
            _fill(_buffer(tensor), np.ascontiguousarray(inputs[value.name]))
        for tensor in self._results:
            buffer = _buffer(tensor)
            _fill(buffer, np.full(buffer.size, np.nan, _numpy_dtype(tensor)))
        self.wait()

    def invoke(self) -> None:
        """Once captured, the call alone: a search can no longer happen, and entering a context takes its time."""
        if self._jit.captured is not None:
            self._results = self._jit(*self._inputs)
            return
        with Context(BEAM=self._beam):
            self._results = self._jit(*self._inputs)

    def wait(self) -> None:
        Device[self.device].synchronize()

    def outputs(self) -> dict[str, np.ndarray]:
        return {
            name: _buffer(tensor).numpy().reshape(tensor.shape)
            for name, tensor in zip(self._program.outputs, self._results, strict=True)
        }

    def graph_replay(self) -> Callable[[], None] | None:
        """TinyJit batches several kernels into a CUDA graph, never one alone; here one alone is a graph too."""
        if not self.device.startswith("CUDA"):
            return None
        from .driver import launch_graph  # loads the CUDA driver

        buffers = tuple(tensor.uop.base for tensor in self._inputs)
        graph = get_graph_runtime(_graph_call(self._linear()), buffers)
        graph(buffers, {})  # binds the inputs, so that a replay is the launch alone
        self.wait()
        return lambda: launch_graph(graph.instance)


def _function(program: Program, lowering: Lowering) -> Callable[..., tuple[Tensor, ...]]:
    def function(*arguments: Tensor) -> tuple[Tensor, ...]:
        inputs = {value.name: tensor for value, tensor in zip(program.inputs, arguments, strict=True)}
        return tuple(outputs_of(program, inputs, lowering(inputs)).values())

    return function


def outputs_of(program: Program, inputs: Mapping[str, Tensor], ops: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The program's outputs in order; an output that is an input is copied, so that it is a buffer of its own."""
    return {name: ops[name] if name in ops else inputs[name].clone() for name in program.outputs}


def _graph_call(linear: UOp) -> UOp:
    calls = linear.src
    if len(calls) == 1 and calls[0].src[0].op is Ops.CUSTOM_FUNCTION:
        return calls[0].src[0]
    return create_graph_call(list(calls)).src[0]


def _empty(value: Value, device: str) -> Tensor:
    tensor = Tensor.empty(*value.shape, dtype=DTYPES[value.dtype], device=device)
    _buffer(tensor).ensure_allocated()
    return tensor


def _buffer(tensor: Tensor) -> Buffer:
    buffer = tensor.uop.base.buffer
    if not isinstance(buffer, Buffer):
        raise RuntimeError("a tensor of this program lies on several devices")
    return buffer


def _fill(buffer: Buffer, array: np.ndarray) -> None:
    fill(buffer.ensure_allocated(), memoryview(bytearray(array.tobytes())))


def _numpy_dtype(tensor: Tensor) -> type[np.floating]:
    return np.float16 if tensor.dtype == DTYPES["f16"] else np.float32
