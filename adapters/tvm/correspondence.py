"""Where a program op is found again. TVM keeps names all the way down: variables, functions, kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tensor_worker.artifacts import Correspondence, Lines
from tensor_worker.program import Program

from .lowering import op_of
from .plan import Called
from .stages import MACHINE, SOURCE

_ASSEMBLY = r"^(?:__tvm_ffi_)?{}(?:_compute_)?:"


def correspondences(
    program: Program, called: Sequence[Called], texts: Mapping[str, str], kept: Mapping[str, str]
) -> tuple[Correspondence, ...]:
    """``texts`` holds the stages by name; ``kept`` the TensorIR function of every variable that legalization kept."""
    return tuple(_found(program, called, texts, kept))


def _found(
    program: Program, called: Sequence[Called], texts: Mapping[str, str], kept: Mapping[str, str]
) -> Iterator[Correspondence]:
    for op in program.ops:
        for stage in ("relax", "grouped"):
            for bound in _bound(texts.get(stage, ""), op.name):
                yield Correspondence(program_op=op.name, stage=stage, lines=bound)
        for function in dict.fromkeys(function for name, function in kept.items() if op_of(name) == op.name):
            if lines := function_lines(texts.get("legalized", ""), function):
                yield Correspondence(program_op=op.name, stage="legalized", lines=lines)
        for one in called:
            if op.name in one.call.computes:
                yield from _in_code(op.name, one, texts)


def _in_code(op: str, one: Called, texts: Mapping[str, str]) -> Iterator[Correspondence]:
    for stage in ("fused", "dlight"):
        if lines := function_lines(texts.get(stage, ""), one.call.function):
            yield Correspondence(program_op=op, stage=stage, lines=lines)
    sure = len(one.kernels) == 1  # which of several kernels computes the op is not said
    for kernel in one.kernels:
        for stage, find in ((SOURCE, source_lines), (MACHINE, machine_lines)):
            if lines := find(texts[stage], kernel.name):
                yield Correspondence(program_op=op, stage=stage, lines=lines, certain=sure)


def _bound(text: str, op: str) -> Iterator[Lines]:
    """The lines that bind a variable of the op."""
    for number, line in enumerate(text.splitlines(), start=1):
        bound = re.match(r"\s+(\w+)(?:: R\..*?)? = ", line)
        if bound and op_of(bound[1]) == op:
            yield (number, number)


def function_lines(text: str, name: str) -> Lines | None:
    """A function of a module's script, from its decorator to the blank line before the next one."""
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if re.match(rf"\s+def {re.escape(name)}\(", line)), None)
    if start is None:
        return None
    end = next((at for at in range(start + 1, len(lines)) if re.match(r"    @", lines[at])), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    return (start, end)  # 1-based: the decorator stands on the line before ``def``


def source_lines(text: str, kernel: str) -> Lines | None:
    """The definition of a kernel in CUDA, or of a function in LLVM IR."""
    name = re.escape(kernel)
    head = rf"^(?:extern \"C\" __global__ .*\b{name}\(.*\{{|define .*@(?:__tvm_ffi_)?{name}(?:_compute_)?\(.*)$"
    return _until(text, re.compile(head), re.compile(r"^}"))


def machine_lines(text: str, kernel: str) -> Lines | None:
    """The section of a kernel in SASS, or the first symbol of a function in assembly."""
    if f".text.{kernel}:" in text:
        return _until(text, re.compile(rf"^\.text\.{re.escape(kernel)}:"), re.compile(r"^//-{5,}"))
    return _until(text, re.compile(_ASSEMBLY.format(re.escape(kernel))), re.compile(r"^\.Lfunc_end"))


def _until(text: str, head: re.Pattern[str], end: re.Pattern[str]) -> Lines | None:
    """From the first line that matches ``head`` to the next that matches ``end``, or the last."""
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines, start=1) if head.match(line)), None)
    if start is None:
        return None
    stop = next((at for at in range(start + 1, len(lines) + 1) if end.match(lines[at - 1])), len(lines))
    return (start, stop)
