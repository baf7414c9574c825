"""The authored kernels on a device: buffers allocated once, one launch per kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensor_worker.adapter import Arrays, Implementation
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Compile
from tensor_worker.program import Program

from .authoring import author, pointers
from .capture import capture_compilation
from .compiling import OPTIONS, Built, built, load_functions
from .evidence import Evidence
from .family import KernelSpec, cut
from .plan import plan_launches
from .search import search_tiles
from .tiles import DEFAULT, Tile

_DTYPES = {"f16": torch.float16, "f32": torch.float32}


class Buffers:
    """A tensor for every value that goes through memory: inputs, what kernels pass on, outputs."""

    def __init__(self, program: Program, kernels: tuple[KernelSpec, ...], device: torch.device) -> None:
        stored = [name for kernel in kernels for name in kernel.stores]
        self.inputs = tuple(value.name for value in program.inputs)
        self.made = tuple(dict.fromkeys(stored))
        values = [program.value(name) for name in (*self.inputs, *self.made)]
        self.tensors = {v.name: torch.empty(v.shape, dtype=_DTYPES[v.dtype], device=device) for v in values}

    def fill(self, inputs: Arrays) -> None:
        for name in self.inputs:
            self.tensors[name].copy_(torch.from_numpy(np.array(inputs[name])))
        for name in self.made:
            self.tensors[name].fill_(torch.nan)

    def behind(self, kernel: KernelSpec) -> list[torch.Tensor]:
        return [self.tensors[name] for name in pointers(kernel)]


class TritonImplementation(Implementation):
    def __init__(self, program: Program, kernels: tuple[KernelSpec, ...], device: torch.device) -> None:
        self.phases: dict[str, float] = {}
        self.device = torch.cuda.get_device_name(device)
        self.buffers = Buffers(program, kernels, device)
        self.launches: tuple[Callable[[], Any], ...] = ()
        self.evidence: Evidence | None = None
        self._program, self._device = program, device
        self._graph: torch.cuda.CUDAGraph | None = None

    def upload(self, inputs: Arrays) -> None:
        self.buffers.fill(inputs)
        self.wait()

    def invoke(self) -> None:
        for launch in self.launches:
            launch()

    def wait(self) -> None:
        torch.cuda.synchronize(self._device)

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: self.buffers.tensors[name].cpu().numpy() for name in self._program.outputs}

    def graph_replay(self) -> Callable[[], None] | None:
        if self._graph is None:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.invoke()
            self._graph = graph
        return self._graph.replay

    def compilations(self) -> int:
        """Every launch goes through Triton's JIT, which counts what it had to compile."""
        return _COMPILED.count

    def capture(self) -> Capture:
        return capture_compilation(self._captured())

    def plan(self) -> Plan:
        return plan_launches(self._captured())

    def _captured(self) -> Evidence:
        if self.evidence is None:
            raise RuntimeError("nothing was recorded while the kernels compiled")
        return self.evidence


class _Compiled:
    """Compilations of this process, as Triton's compilation hook sees them."""

    def __init__(self) -> None:
        self.count = 0

    def watch(self) -> None:
        import triton

        previous = triton.knobs.runtime.jit_post_compile_hook

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return previous(*args, **kwargs) if callable(previous) else None

        triton.knobs.runtime.jit_post_compile_hook = counted


_COMPILED = _Compiled()


def compile_for_device(request: Compile, inputs: Arrays, dump_dir: Path, imported: float) -> TritonImplementation:
    """Build every kernel in launch order; ``tuned`` searches a kernel's tile once those before it are chosen."""
    started = time.perf_counter()
    _COMPILED.watch()
    program, device = request.program, torch.device("cuda", torch.cuda.current_device())
    kernels = cut(program)
    implementation = TritonImplementation(program, kernels, device)
    implementation.upload(inputs)
    tiles: tuple[Tile, ...] = tuple(DEFAULT.clipped(kernel) for kernel in kernels)
    search = None
    if request.variant == "tuned":
        tiles, search = search_tiles(program, kernels, implementation.buffers.behind, dump_dir)
    source = author(program, kernels, tiles)
    functions = load_functions(source)
    made: list[Built] = []
    launches: list[Callable[[], Any]] = []
    for kernel, tile in zip(kernels, tiles, strict=True):
        launches.append(launcher(functions[kernel.name], kernel, tile, implementation.buffers.behind(kernel)))
        made.append(built(kernel, tile, launches[-1]()))
    implementation.launches = tuple(launches)
    implementation.wait()
    implementation.evidence = Evidence(program, source, tuple(made), dump_dir, search)
    implementation.phases = {"import": imported, "compile": time.perf_counter() - started}
    return implementation


def launcher(function: Any, kernel: KernelSpec, tile: Tile, tensors: list[torch.Tensor]) -> Callable[[], Any]:
    """A call that launches the kernel and returns Triton's compiled kernel; the first call compiles it."""
    bound = function[tile.grid(kernel)]
    options = {**tile.constants(), **OPTIONS, "num_warps": tile.warps, "num_stages": tile.stages}
    return lambda: bound(*tensors, **options)
