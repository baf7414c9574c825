"""MAX's dump files as stages: which are kept, in which order, and what each shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tensor_worker.artifacts import Correspondence, Language, Level, Lines, Stage
from tensor_worker.dump import write_stage

from .code import RoutineCode
from .dispatches import compared_form
from .dumps import Cut, cut
from .locations import Locations, line_runs
from .routines import Invocation

_COMPARED = "MAX orders the executable's functions anew in each run; sorted, and each call with its function's name"
_MOJO_END = re.compile(r"(def|struct|trait|from|import|@\w+)\b")
_HOST_END = re.compile(r"__kernel_\w+:")
_SASS_END = re.compile(r"\s*\.section\b")


@dataclass(frozen=True)
class Kept:
    """A dump file that becomes a stage. ``map-to-mogg`` and ``mo`` are not kept: they repeat their neighbours."""

    stage: str
    suffix: str
    title: str
    level: Level


KEPT = (
    Kept("mo", "mo-pre-map", "MO: canonical operations, layouts chosen", "semantic"),
    Kept("mapped", "mo-to-map", "Map: every operation its own loop nest or kernel call", "scheduled"),
    Kept("fused", "map-pre-mogg", "Map: after fusion", "scheduled"),
    Kept("mogg", "mogg-pre-mgp", "MOGG: graph of routines", "scheduled"),
    Kept("mgp", "mogg-to-mgp", "MGP: buffers and dispatch", "scheduled"),
    Kept("mef", "mgp", "MEF: the executable's calls in order", "scheduled"),
)


@dataclass(frozen=True)
class Dumps:
    """The program's part of every kept dump, by stage, and the generated Mojo."""

    cuts: dict[str, Cut]
    mojo: str
    executable: str  # the whole text of the final dump, with its object code


def read_dumps(folder: Path, name: str) -> Dumps:
    """Raises FileNotFoundError where MAX wrote none: it does so only when it compiles, not from its cache."""
    return Dumps(
        cuts={kept.stage: cut(folder / f"{name}.{kept.suffix}.mlir") for kept in KEPT},
        mojo=(folder / f"{name}.mojo").read_text(encoding="utf-8", errors="surrogateescape"),
        executable=(folder / f"{name}.mgp.mlir").read_text(encoding="utf-8", errors="surrogateescape"),
    )


def write_dumps(dump_dir: Path, dumps: Dumps) -> list[Stage]:
    stages = [
        write_stage(
            dump_dir,
            kept.stage,
            kept.title,
            kept.level,
            "mlir",
            dumps.cuts[kept.stage].text,
            f"ir-output-dir: NAME.{kept.suffix}.mlir",
            dumps.cuts[kept.stage].excerpt(),
            (compared_form(dumps.cuts[kept.stage].text), _COMPARED) if kept.stage == "mef" else None,
        )
        for kept in KEPT
    ]
    mojo = write_stage(dump_dir, "mojo", "Generated Mojo", "code", "mojo", dumps.mojo, "ir-output-dir: NAME.mojo")
    return [*stages, mojo]


def machine_text(codes: Sequence[RoutineCode], gpu: bool) -> str:
    """SASS of every compiled kernel, or the disassembly of what each routine reaches on the host."""
    if not gpu:
        return "\n".join({code.symbol: code.text for code in codes}.values())
    kernels = {kernel.name: kernel.sass for code in codes for kernel in code.kernels}
    return "\n".join(kernels.values())


def write_machine(dump_dir: Path, codes: Sequence[RoutineCode], gpu: bool) -> Stage:
    language: Language = "sass" if gpu else "asm"
    produced_by = "nvdisasm, of the cubins in MAX's object" if gpu else "capstone, of MAX's relocatable object"
    title = "SASS of the compiled kernels" if gpu else "Host code that the routines reach"
    return write_stage(dump_dir, "machine", title, "machine", language, machine_text(codes, gpu), produced_by)


def code_correspondences(
    dumps: Dumps, invocation: Invocation, codes: Sequence[RoutineCode], gpu: bool
) -> list[Correspondence]:
    """What each routine computes, found again in the generated Mojo and the machine code: the routine as a whole."""
    mojo, machine = dumps.mojo.splitlines(), machine_text(codes, gpu).splitlines()
    found = []
    for routine, code in zip(invocation.routines, codes, strict=True):
        places = [("mojo", _block(mojo, f"def __{routine.name}(", _MOJO_END))]
        if gpu:
            places += [("machine", _block(machine, f"{kernel.name}:", _SASS_END)) for kernel in code.kernels]
        else:
            places.append(("machine", _block(machine, f"{code.symbol}:", _HOST_END)))
        found += [
            Correspondence(program_op=name, stage=stage, lines=lines)
            for name in routine.computes
            for stage, lines in places
            if lines is not None
        ]
    return found


def _block(lines: list[str], first: str, end: re.Pattern[str]) -> Lines | None:
    """1-based lines from the one that begins with ``first`` to the last before ``end`` matches."""
    start = next((index for index, line in enumerate(lines) if line.startswith(first)), None)
    if start is None:
        return None
    stop = next((index for index in range(start + 1, len(lines)) if end.match(lines[index])), len(lines))
    while not lines[stop - 1].strip():
        stop -= 1
    return start + 1, stop


def correspondences(dumps: Dumps, program_ops: tuple[str, ...]) -> list[Correspondence]:
    """Every run of lines whose MLIR location names a program op."""
    found = []
    for stage, kept in dumps.cuts.items():
        lines = kept.text.splitlines()
        for name, runs in line_runs(lines, Locations(lines, program_ops)).items():
            found += [Correspondence(program_op=name, stage=stage, lines=run) for run in runs]
    return found
