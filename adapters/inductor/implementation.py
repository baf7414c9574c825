"""One compiled program: uploads, invocations, outputs, and the evidence taken while it compiled."""

from __future__ import annotations

import linecache
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensor_worker.adapter import Arrays, Implementation
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Activity, Compile
from tensor_worker.program import Program

from .capture import capture_compilation
from .evidence import Evidence
from .observed import observe
from .output_code import read_output_code
from .plan import plan_launches
from .rebuilding import rebuilding
from .recording import SOURCE_NAME, Recording, debug_files, diagnostic_trace
from .source import Source, identifier, write_source
from .variants import Configuration

_DTYPES = {"f16": torch.float16, "f32": torch.float32}


class InductorImplementation(Implementation):
    """``call`` takes the inputs in the program's order and returns its outputs as a tuple of fresh tensors."""

    def __init__(self, program: Program, call: Callable[..., Any], device: torch.device) -> None:
        self.phases: dict[str, float] = {}
        self.device = "cpu" if device.type == "cpu" else torch.cuda.get_device_name(device)
        self.evidence: Evidence | None = None
        self._program, self._call, self._device = program, call, device
        self.inputs: tuple[torch.Tensor, ...] = ()
        self._outputs: tuple[torch.Tensor, ...] = ()
        self._replayed: tuple[torch.Tensor, ...] = ()
        self._graph: torch.cuda.CUDAGraph | None = None

    def upload(self, inputs: Arrays) -> None:
        fresh = [torch.from_numpy(np.array(inputs[value.name])) for value in self._program.inputs]
        if self.inputs:
            for tensor, array in zip(self.inputs, fresh, strict=True):
                tensor.copy_(array)  # in place: a captured graph reads these addresses
        else:
            self.inputs = tuple(array.to(self._device) for array in fresh)
        self._poison()
        self.wait()

    def invoke(self) -> None:
        self._outputs = self._call(*self.inputs)

    def wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def outputs(self) -> dict[str, np.ndarray]:
        return {
            name: tensor.detach().cpu().numpy()
            for name, tensor in zip(self._program.outputs, self._outputs, strict=True)
        }

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

    def compilations(self) -> int:
        """Frames that Dynamo looked at, and graphs that Inductor compiled or took from its cache."""
        from torch._dynamo.utils import counters

        graphs = counters["inductor"]["fxgraph_cache_miss"] + counters["inductor"]["fxgraph_cache_hit"]
        return int(counters["frames"]["total"] + graphs)

    def capture(self) -> Capture:
        return capture_compilation(self._evidence())

    def plan(self) -> Plan:
        return plan_launches(self._evidence())

    def _evidence(self) -> Evidence:
        if self.evidence is None:
            raise RuntimeError("nothing was recorded while the program compiled")
        return self.evidence

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
            self._call(*self.inputs)
        torch.cuda.current_stream(self._device).wait_stream(side)
        with torch.cuda.graph(graph, stream=side):
            self._replayed = self._call(*self.inputs)
        return graph


def compile_program(
    request: Compile, configuration: Configuration, inputs: Arrays, dump_dir: Path, phases: Mapping[str, float]
) -> InductorImplementation:
    """Trace, compile and run once on ``inputs``; Triton kernels choose among their launch shapes in that first run."""
    _require_fp32_accumulation()
    source = write_source(request.program, configuration.form)
    recording, device = Recording(dump_dir), torch.device(request.target)
    options = {**configuration.options, **_PROVENANCE, "trace.enabled": request.capture}
    function = _load(source, request.program)
    call = torch.compile(function, backend=recording.backend(options), fullgraph=True, dynamic=False)
    implementation = InductorImplementation(request.program, call, device)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inductor-debug-")))
        stack.enter_context(debug_files(folder))
        stack.enter_context(recording.tables_kept())
        implementation.upload(inputs)
        started = time.perf_counter()
        with rebuilding(request.candidate, recording.row) if request.candidate else nullcontext():
            implementation.invoke()
        implementation.wait()
        elapsed = time.perf_counter() - started
        recording.diagnostic = diagnostic_trace(function, implementation.inputs) if request.capture else ""
        observed = observe(implementation) if request.capture and device.type == "cuda" else ()
        implementation.evidence = _evidence(request, configuration, source, recording, folder, dump_dir, observed)
    trace = recording.started - started
    implementation.phases = {
        **phases,
        "trace": trace,
        "compile": recording.seconds,
        "first execution": elapsed - trace - recording.seconds,
    }
    return implementation


# Which node became which kernel. On for timing workers too: it is part of the graph cache's key (the trace is not).
_PROVENANCE: dict[str, Any] = {"trace.provenance_tracking_level": 1}


def _require_fp32_accumulation() -> None:
    """The contract accumulates in FP32: no split sums in half precision, no TF32 for FP32 operands."""
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_tf32 = False


def _load(source: Source, program: Program) -> Callable[..., Any]:
    """The function that ``source`` defines, with its lines where Dynamo looks for them."""
    linecache.cache[SOURCE_NAME] = (len(source.text), None, source.text.splitlines(keepends=True), SOURCE_NAME)
    namespace: dict[str, Any] = {}
    exec(compile(source.text, SOURCE_NAME, "exec"), namespace)
    function: Callable[..., Any] = namespace[identifier(program.workload)]
    return function


def _evidence(
    request: Compile,
    configuration: Configuration,
    source: Source,
    recording: Recording,
    folder: Path,
    dump_dir: Path,
    observed: tuple[Activity, ...],
) -> Evidence:
    if len(recording.code) != 1:
        raise RuntimeError(f"one graph was expected of Inductor, it made {len(recording.code)}")
    return Evidence(
        program=request.program,
        configuration=configuration,
        target=request.target,
        captured=request.capture,
        source=source,
        recording=recording,
        output_text=recording.code[0],
        output=read_output_code(recording.code[0]),
        debug={path.name: path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()},
        dump_dir=dump_dir,
        observed=observed,
    )
