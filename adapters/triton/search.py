"""Chooses a kernel's tile by timing the listed ones on the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensor_worker.artifacts import Candidate, Search
from tensor_worker.candidates import note_candidate, note_generated
from tensor_worker.program import Program

from .authoring import author
from .compiling import load_functions
from .family import KernelSpec
from .tiles import DEFAULT, SEARCHED, Tile

_SCOPE = "tiles of each kernel in turn, the median of Triton's do_bench over 100 ms after 25 ms of warm-up, L2 flushed"

Behind = Callable[[KernelSpec], list[Any]]


def search_tiles(
    program: Program, kernels: tuple[KernelSpec, ...], behind: Behind, dump_dir: Path
) -> tuple[tuple[Tile, ...], Search]:
    """The fastest tile of each kernel. Kernels before it have run, so that it reads what they made."""
    started = time.perf_counter()
    chosen: list[Tile] = []
    rows: list[Candidate] = []
    note_generated(dump_dir, [_candidate(kernel, tile, "") for kernel in kernels for tile in _tiles(kernel)])
    for kernel in kernels:
        tile, tried = _search(program, kernel, behind, dump_dir)
        chosen.append(tile)
        rows.extend(tried)
    seconds = time.perf_counter() - started
    return tuple(chosen), Search(scope=_SCOPE, tried=len(rows), untimed=0, seconds=seconds, candidates=tuple(rows))


def _search(program: Program, kernel: KernelSpec, behind: Behind, dump_dir: Path) -> tuple[Tile, list[Candidate]]:
    measured: dict[Tile, float | str] = {}
    for tile in _tiles(kernel):
        measured[tile] = _measure(program, kernel, tile, behind)
        note_candidate(dump_dir, _candidate(kernel, tile, measured[tile]))
    times = {tile: value for tile, value in measured.items() if isinstance(value, float)}
    if not times:
        raise RuntimeError(f"no tile of {kernel.name} compiles and runs: {next(iter(measured.values()))}")
    best = min(times, key=times.__getitem__)
    _launch(program, kernel, best, behind)()
    return best, [_candidate(kernel, tile, value, best) for tile, value in measured.items()]


def _tiles(kernel: KernelSpec) -> tuple[Tile, ...]:
    return tuple(dict.fromkeys(tile.clipped(kernel) for tile in (DEFAULT, *SEARCHED)))


def _measure(program: Program, kernel: KernelSpec, tile: Tile, behind: Behind) -> float | str:
    """Nanoseconds, or why this tile has none."""
    import triton
    from triton.testing import do_bench

    try:
        milliseconds = do_bench(_launch(program, kernel, tile, behind), return_mode="median")
    except (triton.runtime.errors.OutOfResources, triton.CompilationError, triton.runtime.errors.PTXASError) as error:
        return " ".join(str(error).split())
    return float(milliseconds) * 1e6


def _launch(program: Program, kernel: KernelSpec, tile: Tile, behind: Behind) -> Callable[[], Any]:
    from .implementation import launcher

    function = load_functions(author(program, (kernel,), (tile,)))[kernel.name]
    return launcher(function, kernel, tile, behind(kernel))


def _candidate(kernel: KernelSpec, tile: Tile, value: float | str, best: Tile | None = None) -> Candidate:
    """``best`` is the tile that was chosen, once one is."""
    slower = "" if best in (tile, None) else "slower"
    return Candidate(
        name=f"{kernel.name} {tile.name}",
        chosen=tile == best,
        parameters=tile.parameters(),
        measured_ns=value if isinstance(value, float) else None,
        refused=slower if isinstance(value, float) else value,
    )
