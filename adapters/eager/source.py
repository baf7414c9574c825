"""A program as the Python function a user would write: half-precision operators, FP32 where the program says so."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from tensor_worker.adapter import Unsupported
from tensor_worker.program import Op, Program

# The name the source is compiled under: no path, so that it is the same in every process.
SOURCE_NAME = "program.py"

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_UNARY = {"relu": "torch.relu", "exp": "torch.exp", "square": "torch.square", "rsqrt": "torch.rsqrt"}
_REDUCTION = {"max": "amax", "sum": "sum", "mean": "mean"}


@dataclass(frozen=True)
class Source:
    """``text`` defines a function called ``entry``; ``lines`` says on which line (1-based) each op is computed."""

    text: str
    entry: str
    lines: dict[str, int]

    def op_at(self, line: int | None) -> str | None:
        return next((op for op, number in self.lines.items() if number == line), None)


def write_source(program: Program) -> Source:
    """One line per op, variables named after the program's values. Raises Unsupported for an op without a spelling."""
    entry = identifier(program.workload)
    head = ["import torch", "", "", f"def {entry}({', '.join(identifier(value.name) for value in program.inputs)}):"]
    body = [f"    {identifier(op.name)} = {_expression(program, op)}" for op in program.ops]
    returned = "".join(f"{identifier(name)}, " for name in program.outputs).strip()
    lines = {op.name: len(head) + 1 + index for index, op in enumerate(program.ops)}
    return Source(text="\n".join([*head, *body, f"    return ({returned})", ""]), entry=entry, lines=lines)


def identifier(name: str) -> str:
    """``name`` as a variable that hides neither a keyword nor the module the code calls."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"v_{plain}" if keyword.iskeyword(plain) or plain == "torch" or not plain.isidentifier() else plain


def _expression(program: Program, op: Op) -> str:
    dtypes = {program.value(value).dtype for value in op.of if isinstance(value, str)}
    # PyTorch computes a half operator in FP32 and rounds its result to half: an FP32 result needs FP32 operands.
    widened = op.dtype == "f32" or (op.op == "matmul" and "f32" in dtypes)
    operands = [_operand(program, value, widened) for value in op.of]
    text = _call(op, operands)
    half = dtypes == {"f16"} and not widened
    return text if half or op.dtype == "f32" else f"({text}).half()"


def _call(op: Op, operands: list[str]) -> str:
    if op.op in _BINARY:
        return f"{operands[0]} {_BINARY[op.op]} {operands[1]}"
    if op.op in _UNARY:
        return f"{_UNARY[op.op]}({operands[0]})"
    if op.op in _REDUCTION:
        return f"{operands[0]}.{_REDUCTION[op.op]}(dim=-1, keepdim=True)"
    if op.op == "matmul":
        return f"torch.matmul({operands[0]}, {operands[1]})"
    if op.op == "transpose":
        return f"{operands[0]}.transpose(0, 1)"
    raise Unsupported(f"{op.name}: no PyTorch spelling of {op.op!r}")


def _operand(program: Program, value: str | float, widened: bool) -> str:
    if not isinstance(value, str):
        return repr(float(value))
    cast = ".float()" if widened and program.value(value).dtype == "f16" else ""
    return f"{identifier(value)}{cast}"
