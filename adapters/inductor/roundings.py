"""Where a boundary is rounded: the words of the generated code that narrow FP32 to half."""

from __future__ import annotations

import re

from tensor_worker.artifacts import Rounding
from tensor_worker.program import Op, Program

from .evidence import Evidence
from .output_code import Call, Kernel

# C++: a vector or scalar conversion to at::Half (a half operand's widening names Half as the source type).
_CPP = re.compile(r"convert<at::Half,\s*\d+,\s*float,\s*\d+>\(|static_cast<at::Half>\(|convert<at::Half>\(")
_TRITON_CAST = re.compile(r"^\s*(\w+) = .*\.to\(tl\.float16\)")
_TRITON_STORE = re.compile(r"^\s*tl\.store\((\w+) .*?, (\w+), ")


def roundings(
    evidence: Evidence, computed: tuple[tuple[str, ...], ...]
) -> tuple[tuple[Rounding, ...], tuple[str, ...]]:
    """Every boundary whose narrowing shows in the code; and notes on those that show none.

    ``computed`` holds the program ops of each launch.
    """
    found: list[Rounding] = []
    notes: list[str] = []
    for index, (call, names) in enumerate(zip(evidence.output.calls, computed, strict=True)):
        wanted = boundaries(evidence.program, names)
        shown = _by_kernel(call.kernel, index, wanted) if call.kernel else _by_library(evidence, call, index, wanted)
        found.extend(shown)
        missing = [name for name in wanted if name not in {rounding.boundary for rounding in shown}]
        notes.extend(f"{name}: no narrowing of its own in {call.name}" for name in missing)
    return tuple(found), tuple(notes)


def boundaries(program: Program, names: tuple[str, ...]) -> tuple[str, ...]:
    """The ops among ``names`` whose half result is not already a half value."""
    ops = {op.name: op for op in program.ops}
    return tuple(name for name in names if ops[name].dtype == "f16" and not _exact(program, ops[name]))


def narrowings(kernel: Kernel) -> tuple[str, ...]:
    """The lines of a kernel that narrow FP32 to half, in order. A loop's scalar remainder repeats them: left out."""
    if kernel.language == "cpp":
        main = re.split(r"if\s*\(C10_UNLIKELY", kernel.text)[0]
        return tuple(line.strip() for line in main.splitlines() if _CPP.search(line))
    return _triton_narrowings(kernel.text)


def _triton_narrowings(text: str) -> tuple[str, ...]:
    """Casts to half, and stores of FP32 values through half pointers (``tl.store`` converts)."""
    half_pointers = set(re.findall(r"'(\w+)': '\*fp16'", text))
    narrowed: set[str] = set()
    found: list[str] = []
    for line in text.splitlines():
        if match := _TRITON_CAST.match(line):
            narrowed.add(match[1])
            found.append(line.strip())
        elif (match := _TRITON_STORE.match(line)) and match[1] in half_pointers and match[2] not in narrowed:
            found.append(line.strip())
    return tuple(found)


def _by_kernel(kernel: Kernel, launch: int, wanted: tuple[str, ...]) -> list[Rounding]:
    """Narrowings carry no op's name: they are told apart by their order, which leaves more than one uncertain."""
    shown = narrowings(kernel)
    if len(shown) < len(wanted):
        # The last op's result is stored as half, so its narrowing is the last; what is missing came before it.
        wanted, shown = (wanted[-1:], shown[-1:]) if shown else ((), ())
    certain = len(wanted) == 1 and len(shown) == 1
    pairs = zip(wanted, shown, strict=False)
    return [Rounding(boundary=name, launch=launch, evidence=line, certain=certain) for name, line in pairs]


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
