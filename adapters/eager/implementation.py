"""The program as a Python function on tensors, invoked as it is."""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensor_worker.adapter import Arrays, Implementation
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Activity, Compile
from tensor_worker.program import Program

from .capture import Evidence, capture_dispatches, plan_dispatches
from .observed import observe
from .source import SOURCE_NAME, Source, write_source
from .tracing import Tracer

_DTYPES = {"f16": torch.float16, "f32": torch.float32}


class EagerImplementation(Implementation):
    def __init__(self, program: Program, source: Source, device: torch.device, dump_dir: Path) -> None:
        self.phases: dict[str, float] = {}
        self.device = "cpu" if device.type == "cpu" else torch.cuda.get_device_name(device)
        self._program, self._source, self._device, self._dump_dir = program, source, device, dump_dir
        self._call = _load(source)
        self._inputs: tuple[torch.Tensor, ...] = ()
        self._outputs: tuple[torch.Tensor, ...] = ()
        self._replayed: tuple[torch.Tensor, ...] = ()
        self._graph: torch.cuda.CUDAGraph | None = None
        self.observed: tuple[Activity, ...] = ()

    def upload(self, inputs: Arrays) -> None:
        fresh = [torch.from_numpy(np.array(inputs[value.name])) for value in self._program.inputs]
        if self._inputs:
            for tensor, array in zip(self._inputs, fresh, strict=True):
                tensor.copy_(array)  # in place: a captured graph reads these addresses
        else:
            self._inputs = tuple(array.to(self._device) for array in fresh)
        self._poison()
        self.wait()

    def invoke(self) -> None:
        self._outputs = self._call(*self._inputs)

    def wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def outputs(self) -> dict[str, np.ndarray]:
        named = zip(self._program.outputs, self._outputs, strict=True)
        return {name: tensor.detach().cpu().numpy() for name, tensor in named}

    def graph_replay(self) -> Callable[[], None] | None:
        if self._device.type != "cuda":
            return None
        if self._graph is None:
            self._graph = self._captured()
        graph, replayed = self._graph, self._replayed

        def replay() -> None:
            graph.replay()
            self._outputs = replayed

        return replay

    def capture(self) -> Capture:
        return capture_dispatches(self._evidence())

    def plan(self) -> Plan:
        return plan_dispatches(self._evidence())

    def _evidence(self) -> Evidence:
        tracer = Tracer(dict(zip([value.name for value in self._program.inputs], self._inputs, strict=True)))
        with tracer:
            returned = self._call(*self._inputs)
        names = tuple(tracer.name_of(tensor) for tensor in returned)
        return Evidence(self._program, self._source, tuple(tracer.calls), names, self._dump_dir, self.observed)

    def _poison(self) -> None:
        """Outputs are allocated anew by every invocation: fill what the allocator will hand out with NaN."""
        self._outputs = ()
        for tensor in self._replayed:
            tensor.fill_(float("nan"))
        values = [self._program.value(name) for name in self._program.outputs]
        poison = [torch.full(v.shape, torch.nan, dtype=_DTYPES[v.dtype], device=self._device) for v in values]
        del poison

    def _captured(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream(self._device)
        side.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(side):  # libraries allocate their workspaces for the capturing stream before the capture
            self._call(*self._inputs)
        torch.cuda.current_stream(self._device).wait_stream(side)
        with torch.cuda.graph(graph, stream=side):
            self._replayed = self._call(*self._inputs)
        return graph


def prepare(request: Compile, inputs: Arrays, dump_dir: Path, imported: float) -> EagerImplementation:
    """Nothing is compiled: the function is loaded and run once. ``imported`` is what importing PyTorch cost."""
    torch.set_grad_enabled(False)
    # The contract accumulates in FP32: no split sums in half precision, no TF32 for FP32 operands.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_tf32 = False
    implementation = EagerImplementation(
        request.program, write_source(request.program), torch.device(request.target), dump_dir
    )
    implementation.upload(inputs)
    started = time.perf_counter()
    implementation.invoke()
    implementation.wait()
    implementation.phases = {"import": imported, "first execution": time.perf_counter() - started}
    if request.capture and request.target == "cuda":
        implementation.observed = observe(implementation)
    return implementation


def _load(source: Source) -> Callable[..., Any]:
    linecache.cache[SOURCE_NAME] = (len(source.text), None, source.text.splitlines(keepends=True), SOURCE_NAME)
    namespace: dict[str, Any] = {}
    exec(compile(source.text, SOURCE_NAME, "exec"), namespace)
    function: Callable[..., Any] = namespace[source.entry]
    return function
