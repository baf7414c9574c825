"""What a plan is made from, read from MAX's dumps when it compiles and kept beside its cache for when it does not.

MAX writes no dumps for a program that its cache holds. The worker that compiled leaves the facts in the cache folder,
under the hash of the executable (MEF); a later worker asks for them with the hash of the executable it was given, which
is the same bytes or another implementation.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from max import engine
from tensor_worker.adapter import Unavailable

from .code import RoutineCode
from .machine import disassemble
from .objects import read_executable
from .routines import read_invocation
from .stages import Dumps, read_dumps


@dataclass(frozen=True)
class Facts:
    mgp: str  # the program's own part of the MGP stage
    codes: tuple[RoutineCode, ...]  # of the routines in order; their texts are left out of the cache


def read_facts(compiled: engine.CompiledModel, scratch: Path, name: str) -> tuple[Facts, Dumps | None]:
    """Dumps are None where MAX took the program from its cache. Raises Unavailable where nothing tells the plan."""
    kept = _cache_path(_mef_sha256(compiled))
    if list(scratch.glob("*.mgp.mlir")):
        dumps = read_dumps(scratch, name)
        executable = read_executable(dumps.executable)
        mgp = dumps.cuts["mgp"].text
        routines = read_invocation(mgp, ()).routines
        names, contracting = [each.name for each in routines], [each.name for each in routines if each.contracts]
        codes = disassemble(executable.object, executable.dispatches, names, contracting)
        facts = Facts(mgp=mgp, codes=tuple(codes))
        _keep(kept, facts)
        return facts, dumps
    if kept is None or not kept.is_file():
        raise Unavailable(
            "MAX took the program from a cache that another tool filled, and shows nothing of it",
            "start from an empty MODULAR_CACHE_DIR, or from the cache of a capture",
        )
    return msgspec.json.decode(kept.read_bytes(), type=Facts), None


def _mef_sha256(compiled: engine.CompiledModel) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.mef")
        compiled.export_mef(str(path))
        return hashlib.sha256(path.read_bytes()).hexdigest()


def _cache_path(mef_sha256: str) -> Path | None:
    folder = os.environ.get("MODULAR_CACHE_DIR")
    return Path(folder, "tensor_worker", f"{mef_sha256}.json") if folder else None


def _keep(path: Path | None, facts: Facts) -> None:
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    lean = Facts(mgp=facts.mgp, codes=tuple(_without_texts(code) for code in facts.codes))
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_bytes(msgspec.json.encode(lean))
    partial.replace(path)


def _without_texts(code: RoutineCode) -> RoutineCode:
    return replace(code, text="", kernels=tuple(replace(kernel, sass="") for kernel in code.kernels))
