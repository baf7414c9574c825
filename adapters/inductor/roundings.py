"""Where a boundary is rounded: the words of the generated code that narrow FP32 to half."""

from __future__ import annotations

from itertools import pairwise

from tensor_worker.artifacts import Rounding
from tensor_worker.program import Op, Program

from .evidence import Evidence
from .narrowing import narrowings
from .output_code import Call, Kernel


def roundings(evidence: Evidence) -> tuple[tuple[Rounding, ...], tuple[str, ...]]:
    """Every boundary whose narrowing shows in the code; and notes on those that show none."""
    found: list[Rounding] = []
    notes: list[str] = []
    for index, (call, names) in enumerate(zip(evidence.output.calls, evidence.computed, strict=True)):
        wanted = boundaries(evidence.program, names)
        shown = (
            _by_kernel(evidence.program, call.kernel, index, wanted)
            if call.kernel
            else _by_library(evidence, call, index, wanted)
        )
        found.extend(shown)
        missing = [name for name in wanted if name not in {rounding.boundary for rounding in shown}]
        notes.extend(f"{name}: no narrowing of its own in {call.name}" for name in missing)
    return tuple(found), tuple(notes)


def boundaries(program: Program, names: tuple[str, ...]) -> tuple[str, ...]:
    """The ops among ``names`` whose half result is not already a half value."""
    ops = {op.name: op for op in program.ops}
    return tuple(name for name in names if ops[name].dtype == "f16" and not _exact(program, ops[name]))


def _by_kernel(program: Program, kernel: Kernel, launch: int, wanted: tuple[str, ...]) -> list[Rounding]:
    """Narrowings carry no op's name: they are told apart by their order, which is the ops' own along a chain."""
    shown = narrowings(kernel)
    certain = len(shown) == len(wanted) and _is_chain(program, wanted)
    if len(shown) < len(wanted):
        # What is stored is rounded last; what is missing came before it.
        wanted = wanted[len(wanted) - len(shown) :]
    pairs = zip(wanted, shown, strict=False)
    return [Rounding(boundary=name, launch=launch, evidence=line, certain=certain) for name, line in pairs]


def _is_chain(program: Program, names: tuple[str, ...]) -> bool:
    """Each op reads the one before it, directly or through others: only one order is possible."""
    return all(before in _sources(program, after) for before, after in pairwise(names))


def _sources(program: Program, name: str) -> set[str]:
    op = next((op for op in program.ops if op.name == name), None)
    direct = {value for value in op.of if isinstance(value, str)} if op else set()
    return direct.union(*(_sources(program, value) for value in direct))


def _by_library(evidence: Evidence, call: Call, launch: int, wanted: tuple[str, ...]) -> list[Rounding]:
    """A library rounds what it stores: the last op of its launch, if the buffer is half."""
    half = [name for name in call.writes if (a := evidence.output.allocations.get(name)) and a.dtype == "float16"]
    if not (half and wanted):
        return []
    words = f"{call.text}, {half[0]}: float16"
    return [Rounding(boundary=wanted[-1], launch=launch, evidence=words)]


def _exact(program: Program, op: Op) -> bool:
    """Its half result is one of its half operands or zero: nothing is there to round."""
    if op.op not in ("relu", "max", "transpose"):
        return False
    return all(isinstance(value, str) and program.value(value).dtype == "f16" for value in op.of)
