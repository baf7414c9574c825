"""The plan: one launch per authored kernel, values between kernels, roundings as PTX writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tensor_worker.artifacts import Buffer, Launch, Plan, Rounding
from tensor_worker.normalize import code_sha256
from tensor_worker.program import Op, Program

from .compiling import Built, disassemble
from .evidence import Evidence
from .family import KernelSpec, look_through, operand_names
from .locations import source_lines

_MATRIX = re.compile(r"\b(wgmma\.mma_async[\w.]*|mma\.sync[\w.]*)")
# A conversion, or arithmetic on half registers (exact for one operation on half operands, then rounded once).
_NARROWING = re.compile(r"\b(?:cvt\.rn\.f16(?:x2)?\.f32|(?:add|sub|mul)(?:\.rn)?\.f16(?:x2)?)\b[^;]*;")
_WARP_THREADS = 32


def plan_launches(evidence: Evidence) -> Plan:
    return Plan(
        launches=tuple(_launch(evidence.program, built) for built in evidence.built),
        buffers=_buffers(evidence),
        roundings=tuple(_roundings(evidence)),
    )


def _launch(program: Program, built: Built) -> Launch:
    machine = disassemble(built.asm["cubin"])
    matrix = _MATRIX.search(built.asm["ptx"])
    return Launch(
        kind="kernel",
        name=built.kernel.name,
        grid=built.tile.grid(built.kernel),
        block=(built.tile.warps * _WARP_THREADS, 1, 1),
        registers=built.registers,
        shared_bytes=built.shared_bytes,
        parameters=built.tile.parameters(),
        computes=_computes(program, built.kernel),
        instruction=matrix[1] if matrix else "",
        code_sha256=code_sha256(machine, "sass"),
        stage=f"{built.kernel.name}.ptx",
    )


def _computes(program: Program, kernel: KernelSpec) -> tuple[str, ...]:
    """The kernel's ops and the transposes it reads through."""
    views: set[str] = set()
    pending = [name for op in kernel.ops for name in operand_names(op)]
    while pending:
        value = program.value(pending.pop())
        if isinstance(value, Op) and value.op == "transpose":
            views.add(value.name)
            pending.extend(operand_names(value))
    names = views | {op.name for op in kernel.ops}
    return tuple(op.name for op in program.ops if op.name in names)


def _buffers(evidence: Evidence) -> tuple[Buffer, ...]:
    kernels = [built.kernel for built in evidence.built]
    names = dict.fromkeys([v.name for v in evidence.program.inputs] + [name for k in kernels for name in k.stores])
    return tuple(_buffer(evidence.program, kernels, name) for name in names)


def _buffer(program: Program, kernels: list[KernelSpec], name: str) -> Buffer:
    first = next((index for index, kernel in enumerate(kernels) if name in kernel.stores), None)
    return Buffer(
        name=name,
        role="input" if first is None else "output" if name in program.outputs else "intermediate",
        bytes=value_bytes(program, name),
        first=first,
        last=max((index for index, kernel in enumerate(kernels) if name in kernel.loads), default=None),
    )


def _roundings(evidence: Evidence) -> Iterator[Rounding]:
    """PTX that rounds to half on the source line that gives a boundary its value, by Triton's line information.

    What is moved next to a reader carries the reader's line: looked for there too, and marked uncertain.
    """
    for index, built in enumerate(evidence.built):
        narrowings = _narrowings(built)
        for op in built.kernel.ops:
            own = _shown(narrowings, _own_lines(evidence, built, op), op)
            found = own or _shown(narrowings, _readers_lines(evidence, built, op), op)
            if op.dtype == "f16" and op.op != "relu" and found:  # a relu has nothing to round
                number, text = found[0]
                words = f"{text} (PTX line {number}, {len(found)} such lines for this op)"
                yield Rounding(boundary=op.name, launch=index, evidence=words, certain=bool(own))


def _narrowings(built: Built) -> dict[int, list[tuple[int, str]]]:
    """By source line: PTX lines that round, with their numbers."""
    ptx = built.asm["ptx"]
    texts = ptx.splitlines()
    found: dict[int, list[tuple[int, str]]] = {}
    for number, line in source_lines("ptx", ptx).items():
        if _NARROWING.search(texts[number - 1]):
            found.setdefault(line, []).append((number, " ".join(texts[number - 1].split())))
    return found


def _shown(narrowings: dict[int, list[tuple[int, str]]], lines: list[int], op: Op) -> list[tuple[int, str]]:
    """A contraction's sums are converted; an elementwise op may also round by being done on half registers."""
    found = [one for line in lines for one in narrowings.get(line, [])]
    return [(number, text) for number, text in found if op.op != "matmul" or "cvt." in text]


def _own_lines(evidence: Evidence, built: Built, op: Op) -> list[int]:
    """From the line that gives the op its value: that one and the store."""
    key = (built.kernel.name, op.name)
    return [line for line in evidence.source.lines[key] if line >= evidence.source.results[key]]


def _readers_lines(evidence: Evidence, built: Built, op: Op) -> list[int]:
    """Lines of the contractions that read an operand computed in this kernel."""
    readers = [other for other in built.kernel.contractions if op.name in other.of]
    return [line for other in readers for line in evidence.source.lines[built.kernel.name, other.name]]


def value_bytes(program: Program, name: str) -> int:
    value, count = program.value(name), 1
    for size in value.shape:
        count *= size
    return count * (2 if value.dtype == "f16" else 4)


def views_read(program: Program, kernel: KernelSpec) -> dict[str, str]:
    """Transposes that a kernel reads through, with the value in memory behind each."""
    found: dict[str, str] = {}
    for op in kernel.ops:
        for name in operand_names(op):
            value = program.value(name)
            if isinstance(value, Op) and value.op == "transpose":
                found[name] = look_through(program, name).base
    return found
