"""Kernels compiled for an architecture that this machine does not have: everything to read, nothing to run."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from tensor_worker.adapter import Arrays, Implementation, Unavailable
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Compile

from .authoring import author
from .capture import capture_compilation
from .compiling import SM_90, build_for, load_functions
from .evidence import Evidence
from .family import cut
from .plan import plan_launches
from .tiles import DEFAULT


class OfflineImplementation(Implementation):
    def __init__(self, evidence: Evidence, phases: dict[str, float]) -> None:
        self.phases, self.device = phases, "sm_90"
        self._evidence = evidence

    def upload(self, inputs: Arrays) -> None:
        raise _never_run()

    def invoke(self) -> None:
        raise _never_run()

    def wait(self) -> None:
        raise _never_run()

    def outputs(self) -> dict[str, np.ndarray]:
        raise _never_run()

    def capture(self) -> Capture:
        return capture_compilation(self._evidence)

    def plan(self) -> Plan:
        return plan_launches(self._evidence)


def compile_without_device(request: Compile, dump_dir: Path, imported: float) -> OfflineImplementation:
    started = time.perf_counter()
    program = request.program
    kernels = cut(program)
    tiles = tuple(DEFAULT.clipped(kernel) for kernel in kernels)
    source = author(program, kernels, tiles)
    functions = load_functions(source)
    dtypes = {value.name: value.dtype for value in program.values()}
    built = tuple(
        build_for(SM_90, functions[kernel.name], kernel, tile, dtypes)
        for kernel, tile in zip(kernels, tiles, strict=True)
    )
    phases = {"import": imported, "compile": time.perf_counter() - started}
    return OfflineImplementation(Evidence(program, source, built, dump_dir), phases)


def _never_run() -> Unavailable:
    return Unavailable("compiled for sm_90, never run: there is no such device behind this worker")
