"""Turns a Program into lazy tinygrad tensors, one per named value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tensor_worker.adapter import Unsupported
from tensor_worker.program import Op, Program
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

DTYPES: dict[str, DType] = {"f16": dtypes.half, "f32": dtypes.float32}

Operand: TypeAlias = Tensor | float

# On FP16 operands these give the same bits in FP16 as in FP32 rounded to FP16.
_SAME_IN_HALF = ("add", "sub", "mul")
_REDUCTIONS = ("max", "sum", "mean")
_ELEMENTWISE: dict[str, Callable[..., Tensor]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "div": lambda left, right: left / right,
    "relu": lambda value: value.relu(),
    "exp": lambda value: value.exp(),
    "square": lambda value: value * value,
    "rsqrt": lambda value: value.rsqrt(),
}


class Lowering:
    """Lowers one program the way tinygrad's users write it: ``x.matmul(w, dtype=float32).half() + b``.

    ``widen`` casts every contraction operand to FP32 first. tinygrad's tensor cores match the plain form alone, and
    where none applies that form multiplies in FP16 before it accumulates in FP32.

    ``promotes_half`` says that the device's language computes FP16 in FP32, as the C of the CPU device does, so that
    ``a + b + c`` would be rounded once. There a boundary that more arithmetic reads becomes a cast where its operands
    are inputs, and a buffer of its own elsewhere: tinygrad itself removes a cast to FP16 between two FP32 operations
    (``pm_simplify_add_image`` in codegen/late/coalesce.py).
    """

    def __init__(self, program: Program, *, widen: bool = False, promotes_half: bool = False) -> None:
        self._program = program
        self._widen = widen
        self._promotes_half = promotes_half
        self._inputs = {value.name for value in program.inputs}
        self._in_arithmetic = {name for op in program.ops if op.op not in ("relu", "transpose") for name in op.of}

    def __call__(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Every op of the program by name, lazily. Raises Unsupported for an op with no counterpart."""
        values = dict(inputs)
        for op in self._program.ops:
            operands = [values[name] if isinstance(name, str) else float(name) for name in op.of]
            values[op.name] = self._value(op, operands)
        return {op.name: values[op.name] for op in self._program.ops}

    def _value(self, op: Op, operands: Sequence[Operand]) -> Tensor:
        if op.op == "transpose":
            return _tensor(op, operands[0]).transpose(-2, -1)
        if op.op == "matmul":
            return self._contraction(op, _tensor(op, operands[0]), _tensor(op, operands[1]))
        if op.op in _REDUCTIONS:
            return _reduction(op, _tensor(op, operands[0]).cast(dtypes.float32)).cast(DTYPES[op.dtype])
        return self._elementwise(op, operands)

    def _contraction(self, op: Op, left: Tensor, right: Tensor) -> Tensor:
        if self._widen or dtypes.float32 in (left.dtype, right.dtype):
            left, right = left.cast(dtypes.float32), right.cast(dtypes.float32)
        return left.matmul(right, dtype=dtypes.float32).cast(DTYPES[op.dtype])

    def _elementwise(self, op: Op, operands: Sequence[Operand]) -> Tensor:
        if op.op not in _ELEMENTWISE:
            raise Unsupported(f"{op.name}: no tinygrad form is written for {op.op!r}")
        compute = _ELEMENTWISE[op.op]
        lossy = self._promotes_half and op.op != "relu" and op.name in self._in_arithmetic
        if _stays_in_half(op, operands) and not (lossy and self._inputs.issuperset(op.of)):
            value = compute(*operands)
            return value.contiguous() if lossy else value
        widened = [operand.cast(dtypes.float32) if isinstance(operand, Tensor) else operand for operand in operands]
        return compute(*widened).cast(DTYPES[op.dtype])


def _stays_in_half(op: Op, operands: Sequence[Operand]) -> bool:
    halves = all(isinstance(operand, Tensor) and operand.dtype == dtypes.half for operand in operands)
    return halves and op.dtype == "f16" and op.op in (*_SAME_IN_HALF, "relu")


def _reduction(op: Op, operand: Tensor) -> Tensor:
    if op.op == "max":
        return operand.max(axis=-1, keepdim=True)
    total = operand.sum(axis=-1, keepdim=True, dtype=dtypes.float32)
    return total / int(operand.shape[-1]) if op.op == "mean" else total


def _tensor(op: Op, operand: Operand) -> Tensor:
    if isinstance(operand, Tensor):
        return operand
    raise Unsupported(f"{op.name}: {op.op} of a number ({operand}) is not written for tinygrad")
