"""A program as the Python function that is given to ``torch.compile``, in two forms.

``contract``: every operand of an arithmetic op is widened to FP32 and its result narrowed to the declared dtype, in so
many words. Contractions stay ``torch.matmul`` on half operands, which rounds its FP32 sums once.
``native``: the operators as a user writes them, on half tensors. PyTorch's eager mode rounds after each of them too;
nothing obliges a compiler to keep those roundings.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import Literal

from tensor_worker.adapter import Unsupported
from tensor_worker.program import Op, Program

Form = Literal["contract", "native"]

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_UNARY = {"relu": "torch.relu", "exp": "torch.exp", "square": "torch.square", "rsqrt": "torch.rsqrt"}
_REDUCTION = {"max": "amax", "sum": "sum", "mean": "mean"}
_EXACT = ("relu", "max", "transpose")  # their result is one of their operands or zero: nothing to round


@dataclass(frozen=True)
class Source:
    """``text`` defines a function called ``entry``; ``lines`` says on which line (1-based) each op is computed."""

    text: str
    entry: str
    lines: dict[str, int]

    def op_at(self, line: int) -> str | None:
        return next((op for op, number in self.lines.items() if number == line), None)


def write_source(program: Program, form: Form) -> Source:
    """One line per op, variables named after the program's values. Raises Unsupported for an op without a spelling."""
    entry = identifier(program.workload)
    head = ["import torch", "", "", f"def {entry}({', '.join(identifier(value.name) for value in program.inputs)}):"]
    body = [f"    {identifier(op.name)} = {_expression(program, op, form)}" for op in program.ops]
    returned = "".join(f"{identifier(name)}, " for name in program.outputs).strip()
    lines = {op.name: len(head) + 1 + index for index, op in enumerate(program.ops)}
    return Source(text="\n".join([*head, *body, f"    return ({returned})", ""]), entry=entry, lines=lines)


def identifier(name: str) -> str:
    """``name`` as a variable that hides neither a keyword nor the module the code calls."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"v_{plain}" if keyword.iskeyword(plain) or plain == "torch" or not plain.isidentifier() else plain


def _expression(program: Program, op: Op, form: Form) -> str:
    if op.op == "transpose":
        return f"{_operand(op.of[0])}.transpose(0, 1)"
    if op.op == "matmul":
        return _matmul(program, op)
    widen = form == "contract" and not (op.op in _EXACT and _dtype(program, op.of[0]) == op.dtype)
    text, dtype = _arithmetic(program, op, widen)
    return text if dtype == op.dtype else f"({text}){_cast(op.dtype)}"


def _arithmetic(program: Program, op: Op, widen: bool) -> tuple[str, str]:
    """The expression of an elementwise op or reduction before its result is narrowed, and the dtype it has then."""
    # A reduction to FP32 of a half tensor must see FP32, or PyTorch would round the sum to half first.
    widen = widen or op.dtype == "f32"
    operands = [_widened(program, value) if widen else _operand(value) for value in op.of]
    dtypes = {_dtype(program, value) for value in op.of if isinstance(value, str)}
    dtype = "f32" if widen or "f32" in dtypes else "f16"
    if op.op in _BINARY:
        return f"{operands[0]} {_BINARY[op.op]} {operands[1]}", dtype
    if op.op in _UNARY:
        return f"{_UNARY[op.op]}({operands[0]})", dtype
    if op.op in _REDUCTION:
        return f"{operands[0]}.{_REDUCTION[op.op]}(dim=-1, keepdim=True)", dtype
    raise Unsupported(f"{op.name}: no PyTorch spelling of {op.op!r}")


def _matmul(program: Program, op: Op) -> str:
    if all(_dtype(program, value) == "f16" for value in op.of) and op.dtype == "f16":
        return f"torch.matmul({_operand(op.of[0])}, {_operand(op.of[1])})"
    left, right = (_widened(program, value) for value in op.of)
    return f"torch.matmul({left}, {right})" + ("" if op.dtype == "f32" else _cast(op.dtype))


def _operand(value: str | float) -> str:
    return identifier(value) if isinstance(value, str) else repr(float(value))


def _widened(program: Program, value: str | float) -> str:
    return f"{_operand(value)}.float()" if _dtype(program, value) == "f16" else _operand(value)


def _dtype(program: Program, value: str | float) -> str:
    return program.value(value).dtype if isinstance(value, str) else ""


def _cast(dtype: str) -> str:
    return ".half()" if dtype == "f16" else ".float()"
