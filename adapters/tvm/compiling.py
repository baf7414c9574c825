"""One compile request, from the program to an implementation with everything that can be shown of it."""

from __future__ import annotations

import functools
import importlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import tvm
from tensor_worker.adapter import Arrays, Implementation
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Compile
from tvm import IRModule, relax
from tvm.target import Target

from .correspondence import correspondences
from .device_code import Code, Kernel, cpu_code, cuda_code, kernels_launched
from .implementation import CompiledOnly, InMachine
from .ledger import Ledger
from .lowering import lower
from .machine import WatchedCompiler, require_nvrtc
from .passes import PassRecorder, pipeline
from .plan import Called, make_plan
from .relax_reading import FusedCall, bindings, fused_calls
from .rules import Scheduled, named, recorded_rules, replay
from .semantic import semantic_graph
from .stages import relax_text, write_stages
from .targets import device_of, native_target
from .toolchain import remembered_modules


@dataclass
class Compilation:
    """What is known about one compiled program; stages and plan are made when they are first asked for."""

    request: Compile
    dump_dir: Path
    target: Target
    original: IRModule
    executable: relax.VMExecutable
    recorder: PassRecorder
    scheduled: tuple[Scheduled, ...]
    watched: WatchedCompiler
    ran: list[str] = field(default_factory=list)  # what the virtual machine called in its first run

    @functools.cached_property
    def grouped(self) -> IRModule:
        """The module in which ``main`` calls what will be launched, each step still a function of its own."""
        module = self.recorder.after("FuseOps", "LegalizeOps")
        if module is None:
            raise RuntimeError("TVM's pipeline ran neither FuseOps nor LegalizeOps")
        return module

    @functools.cached_property
    def called(self) -> tuple[Called, ...]:
        calls = fused_calls(self.grouped, self.original, self.request.program)
        return tuple(Called(call, self._kernels(call)) for call in calls)

    @functools.cached_property
    def code(self) -> Code:
        names = tuple(kernel.name for called in self.called for kernel in called.kernels)
        if self.request.target == "cpu":
            return cpu_code(self.executable, names)
        return cuda_code(self.executable, self.target, self.watched, names)

    def report(self) -> tuple[Capture, Plan]:
        return self._report

    @functools.cached_property
    def _report(self) -> tuple[Capture, Plan]:
        plan = make_plan(self.request.program, self.called, self.grouped, self.code, self.scheduled)
        return (self._capture(plan) if self.request.capture else Capture(stages=())), plan

    def _capture(self, plan: Plan) -> Capture:
        program, text = self.request.program, relax_text(self.original)
        replays = {one.function: replay(one) for one in self.scheduled}
        stages = write_stages(
            self.dump_dir, text, self.recorder, self.scheduled, replays, self.executable.as_text(), self.code
        )
        texts = {stage.name: (self.dump_dir / stage.path).read_text(encoding="utf-8") for stage in stages}
        legalized = self.recorder.after("LegalizeOps")
        kept = {one.name: one.callee for one in bindings(legalized["main"])} if legalized is not None else {}
        return Capture(
            stages=stages,
            graph=semantic_graph(self.original, text, program),
            decisions=Ledger(program, self.called, plan, self.scheduled, replays, self.ran).decisions(),
            correspondences=correspondences(program, self.called, texts, kept),
        )

    def _kernels(self, call: FusedCall) -> tuple[Kernel, ...]:
        if self.request.target == "cpu":
            return (Kernel(name=call.function, function=call.function),)
        split = self.recorder.after("tirx.SplitHostDevice")
        if split is None:
            raise RuntimeError("TVM's pipeline split no host from device functions")
        return kernels_launched(split, call.function)


def compile_program(request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
    """Raises Unsupported for a variant or op that has no counterpart here, Unavailable for a missing tool or device."""
    started = time.perf_counter()
    target = native_target(request.target)
    if request.target != "cpu":
        require_nvrtc()
        with remembered_modules():
            importlib.import_module("tvm.s_tir.tensor_intrin")  # DLight's matrix rule would, deep in the build
    original = lower(request.program)
    lowered = time.perf_counter()
    recorder, watched = PassRecorder(everything=request.capture), WatchedCompiler()
    watched.install()
    with recorded_rules() as rules, tvm.transform.PassContext(instruments=[recorder]):
        executable = relax.build(original, target, relax_pipeline=pipeline(request.variant, target))
    phases = {"import and lower": lowered - started, "build": time.perf_counter() - lowered}
    fused = recorder.after("FuseTIR")
    scheduled = named(rules, fused) if fused is not None else ()
    compilation = Compilation(request, dump_dir, target, original, executable, recorder, scheduled, watched)
    if request.target == "sm_90":
        return CompiledOnly(request.target, phases, compilation.report)
    implementation = InMachine(
        request.program, executable, device_of(request.target), request.target, phases, compilation.report
    )
    implementation.upload(inputs)
    implementation.start(compilation.ran if request.capture else None)
    return implementation
