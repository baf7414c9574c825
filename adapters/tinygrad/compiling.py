"""One compile request, from the program to an implementation with everything that can be shown of it."""

from __future__ import annotations

import functools
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from tensor_worker.adapter import Arrays, Implementation, Unavailable, Unsupported
from tensor_worker.artifacts import Capture, Plan, Search
from tensor_worker.messages import Compile
from tinygrad import Device, Tensor
from tinygrad.runtime.support.compiler_cuda import NVRTCCompiler
from tinygrad.uop.ops import UOp

from . import toolchain
from .correspondence import correspondences
from .fusion import Fusion, fusion_map
from .implementation import CompiledOnly, Jitted, outputs_of
from .kernels import BEAMS, Kernel, compile_for_architecture, compile_for_device, schedule
from .ledger import Ledger
from .lowering import DTYPES, Lowering
from .plan import Memory, make_plan
from .rebuilding import rebuilding
from .rewrites import rewrite_history
from .search import BeamWatch
from .semantic import TensorGraph, read_graph, semantic_graph
from .stages import Machine, machine_of, write_stages


@dataclass
class Compilation:
    """What is known about one compiled program; stages and plan are made when they are first asked for."""

    request: Compile
    dump_dir: Path
    graph: TensorGraph
    kernels: tuple[Kernel, ...]
    outputs: dict[UOp, str]
    architecture: str | None
    search: Search | None
    phases: dict[str, float] = field(default_factory=dict)

    @functools.cached_property
    def machines(self) -> tuple[Machine, ...]:
        return tuple(machine_of(kernel, self.architecture, self.request.target == "cuda") for kernel in self.kernels)

    @functools.cached_property
    def fusions(self) -> tuple[Fusion, ...]:
        return fusion_map(self.kernels, self.graph, self.outputs)

    def report(self) -> tuple[Capture, Plan]:
        return self._report

    @functools.cached_property
    def _report(self) -> tuple[Capture, Plan]:
        program = self.request.program
        memory = Memory(inputs=self.graph.inputs, outputs=self.outputs)
        plan = make_plan(program, self.graph, self.kernels, self.machines, self.fusions, memory)
        return (self._capture(plan) if self.request.capture else Capture(stages=())), plan

    def _capture(self, plan: Plan) -> Capture:
        """Rewrites are recorded for the default variant: another has the same, or has no schedule but the searched."""
        program, graph = self.request.program, self.graph
        history = rewrite_history(self.request) if self.request.variant == "default" else ""
        stages = write_stages(self.dump_dir, graph, self.kernels, self.machines, history)
        texts = {stage.name: (self.dump_dir / stage.path).read_text(encoding="utf-8") for stage in stages}
        searched = self.search is not None
        ledger = Ledger(program, graph, self.kernels, self.machines, self.fusions, plan, searched)
        return Capture(
            stages=stages,
            graph=semantic_graph(graph, program),
            decisions=ledger.decisions(),
            correspondences=correspondences(program, graph, texts, self.machines, self.fusions),
            search=self.search,
        )


def compile_program(request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
    """Raises Unsupported for a variant or op that has no counterpart here, Unavailable for a missing tool or device."""
    beam = _beam(request)
    _require(request.target)
    compilation = lower_and_compile(request, beam, dump_dir)
    if request.target == "sm_90":
        return CompiledOnly(request.target, compilation.phases, compilation.report)
    device = toolchain.DEVICES[request.target]
    implementation = Jitted(request.program, _lowering(request), device, beam, compilation.report)
    started = time.perf_counter()
    implementation.upload(inputs)
    implementation.phases = {**compilation.phases, "upload": time.perf_counter() - started}
    implementation.start(compilation.kernels)
    return implementation


def lower_and_compile(request: Compile, beam: int, dump_dir: Path = Path()) -> Compilation:
    """From the program to compiled kernels; nothing runs, unless a beam times its candidates."""
    beside = len(os.sched_getaffinity(0)) if beam and request.target == "cuda" else 0
    started, watch = time.perf_counter(), BeamWatch(dump_dir, processes=beside)
    program, device = request.program, toolchain.DEVICES[request.target]
    inputs = {
        value.name: Tensor.empty(*value.shape, dtype=DTYPES[value.dtype], device=device) for value in program.inputs
    }
    ops = _lowering(request)(inputs)
    outputs = outputs_of(program, inputs, ops)
    graph = read_graph(program, inputs, ops, outputs)
    linear = schedule(outputs)
    scheduled = time.perf_counter()
    if request.target == "sm_90":
        kernels = compile_for_architecture(linear, "sm_90")
    else:
        with rebuilding(request.candidate) if request.candidate else watch.watching():
            kernels = compile_for_device(linear, beam)
    return Compilation(
        request=request,
        dump_dir=dump_dir,
        graph=graph,
        kernels=kernels,
        outputs={tensor.uop.base: name for name, tensor in outputs.items()},
        architecture=_architecture(request.target),
        search=watch.search() if beam and not request.candidate else None,
        phases={"schedule": scheduled - started, "compile": time.perf_counter() - scheduled},
    )


def _lowering(request: Compile) -> Lowering:
    return Lowering(request.program, widen=request.variant == "widened", promotes_half=request.target == "cpu")


def _beam(request: Compile) -> int:
    if request.variant not in BEAMS:
        raise Unsupported(f"tinygrad has no variant {request.variant!r} (have: {', '.join(BEAMS)})")
    if BEAMS[request.variant] and request.target == "sm_90":
        raise Unsupported("BEAM times its candidates on the device, and sm_90 is compiled without one")
    return BEAMS[request.variant]


def _require(target: str) -> None:
    if target not in toolchain.DEVICES:
        raise Unsupported(f"tinygrad's adapter has no target {target!r} (have: {', '.join(toolchain.DEVICES)})")
    if target == "cpu":
        toolchain.require_clang()
        return
    try:
        NVRTCCompiler("sm_90")  # asks the library for its version
    except (AttributeError, OSError) as error:
        remedy = "install adapters/tinygrad/requirements.lock again"
        raise Unavailable(f"tinygrad finds no NVRTC: {error}", remedy) from error
    if target == "cuda":
        _require_device()


def _require_device() -> None:
    try:
        Device["CUDA"].synchronize()
    except Exception as error:  # whatever a missing or broken driver makes tinygrad raise
        remedy = "run on a machine with an NVIDIA GPU and its driver"
        missing = "failed to load library cuda" in str(error)
        reason = "there is no CUDA driver on this machine" if missing else f"tinygrad opens no CUDA device: {error}"
        raise Unavailable(reason, remedy) from error


def _architecture(target: str) -> str | None:
    if target == "cpu":
        return None
    return "sm_90" if target == "sm_90" else str(Device["CUDA"].renderer.target.arch)
