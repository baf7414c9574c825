"""One compile request, from the program to an implementation with everything that can be shown of it."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from pathlib import Path

from tensor_worker.adapter import Arrays, Implementation, Unavailable, Unsupported
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Compile
from tinygrad import Device, Tensor
from tinygrad.uop.ops import UOp

from . import toolchain
from .fusion import fusion_map
from .implementation import CompiledOnly, Jitted, outputs_of
from .kernels import BEAMS, Kernel, compile_for_architecture, compile_for_device, schedule
from .lowering import DTYPES, Lowering
from .plan import Memory, make_plan
from .semantic import TensorGraph, read_graph, semantic_graph
from .stages import machine_of, write_stages

DEVICES = {"cpu": "CPU", "cuda": "CUDA", "sm_90": "CUDA"}


@dataclass
class Compilation:
    """What is known about one compiled program; stages and plan are made when they are first asked for."""

    request: Compile
    dump_dir: Path
    graph: TensorGraph
    kernels: tuple[Kernel, ...]
    outputs: dict[UOp, str]
    architecture: str | None
    phases: dict[str, float] = field(default_factory=dict)

    @functools.cached_property
    def machines(self) -> tuple:
        return tuple(machine_of(kernel, self.architecture) for kernel in self.kernels)

    @functools.cached_property
    def fusions(self) -> tuple:
        return fusion_map(self.kernels, self.graph, self.outputs)

    def report(self) -> tuple[Capture, Plan]:
        return self._report

    @functools.cached_property
    def _report(self) -> tuple[Capture, Plan]:
        program = self.request.program
        memory = Memory(inputs=self.graph.inputs, outputs=self.outputs)
        plan = make_plan(program, self.graph, self.kernels, self.machines, self.fusions, memory)
        stages = write_stages(self.dump_dir, self.graph, self.kernels, self.machines)
        return Capture(stages=stages, graph=semantic_graph(self.graph, program)), plan


def compile_program(request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
    """Raises Unsupported for a variant or op that has no counterpart here, Unavailable for a missing tool or device."""
    beam = _beam(request)
    _require(request.target)
    device = DEVICES[request.target]
    lowering = Lowering(request.program, widen=request.variant == "widened", promotes_half=request.target == "cpu")
    compilation = _compile(request, dump_dir, lowering, device, beam)
    if request.target == "sm_90":
        return CompiledOnly(request.target, compilation.phases, compilation.report)
    implementation = Jitted(request.program, lowering, device, beam, compilation.report)
    started = time.perf_counter()
    implementation.upload(inputs)
    implementation.phases = {**compilation.phases, "upload": time.perf_counter() - started}
    implementation.start(compilation.kernels)
    return implementation


def _compile(request: Compile, dump_dir: Path, lowering: Lowering, device: str, beam: int) -> Compilation:
    started = time.perf_counter()
    program = request.program
    inputs = {
        value.name: Tensor.empty(*value.shape, dtype=DTYPES[value.dtype], device=device) for value in program.inputs
    }
    ops = lowering(inputs)
    outputs = outputs_of(program, inputs, ops)
    graph = read_graph(program, inputs, ops, outputs)
    linear = schedule(outputs)
    scheduled = time.perf_counter()
    architecture = _architecture(request.target)
    if request.target == "sm_90":
        kernels = compile_for_architecture(linear, "sm_90")
    else:
        kernels = compile_for_device(linear, beam)
    return Compilation(
        request=request,
        dump_dir=dump_dir,
        graph=graph,
        kernels=kernels,
        outputs={tensor.uop.base: name for name, tensor in outputs.items()},
        architecture=architecture,
        phases={"schedule": scheduled - started, "compile": time.perf_counter() - scheduled},
    )


def _beam(request: Compile) -> int:
    if request.variant not in BEAMS:
        raise Unsupported(f"tinygrad has no variant {request.variant!r} (have: {', '.join(BEAMS)})")
    if BEAMS[request.variant] and request.target == "sm_90":
        raise Unsupported("BEAM times its candidates on the device, and sm_90 is compiled without one")
    return BEAMS[request.variant]


def _require(target: str) -> None:
    if target not in DEVICES:
        raise Unsupported(f"tinygrad's adapter has no target {target!r} (have: {', '.join(DEVICES)})")
    if target == "cpu":
        toolchain.require_clang()
    if target == "cuda":
        try:
            Device["CUDA"].synchronize()
        except Exception as error:
            raise Unavailable(f"tinygrad opens no CUDA device: {error}") from error


def _architecture(target: str) -> str | None:
    if target == "cpu":
        return None
    return "sm_90" if target == "sm_90" else str(Device["CUDA"].renderer.target.arch)
