"""Programs in NumPy's FP32, one step after the other; whoever computes something else overrides a step.

Written apart from the contract's oracle and violations, on purpose: what judges and what is judged share no arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
from tensor_worker.program import Op, Program

Array = np.ndarray
DTYPES = {"f16": np.float16, "f32": np.float32}
ZERO, ONE = np.float32(0), np.float32(1)
MOVES = ("transpose", "relu", "max")  # ops whose results are values of their operand


class Arithmetic:
    """Keeps the contract: FP32 ops, contractions by BLAS, every result rounded to its declared dtype."""

    def __init__(self, program: Program) -> None:
        self.declared = program
        self.program = self.rewritten(program)

    def rewritten(self, program: Program) -> Program:
        """The program that is computed in place of the one that was asked for."""
        return program

    def outputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        values: dict[str | float, Array] = {name: array.astype(np.float32) for name, array in inputs.items()}
        with np.errstate(all="ignore"):
            for op in self.program.ops:
                parts = [values[part] if isinstance(part, str) else np.float32(part) for part in op.of]
                values[op.name] = self.settled(op, self.computed(op, parts))
            return {name: values[name].astype(DTYPES[self.declared.value(name).dtype]) for name in self.program.outputs}

    def settled(self, op: Op, result: Array) -> Array:
        """What the readers of ``op`` see of its result."""
        return half(result) if op.dtype == "f16" else result

    def computed(self, op: Op, parts: list[Array]) -> Array:
        if op.op == "matmul":
            return self.contraction(op, *parts)
        if op.op == "sum":
            return self.total(op, parts[0])
        if op.op == "mean":
            return self.total(op, parts[0]) / np.float32(parts[0].shape[-1])
        return ELEMENTWISE[op.op](*parts)

    def contraction(self, op: Op, left: Array, right: Array) -> Array:
        return left @ right

    def total(self, op: Op, values: Array) -> Array:
        return values.sum(axis=-1, keepdims=True, dtype=np.float32)


ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "transpose": lambda a: np.swapaxes(a, -1, -2),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "relu": lambda a: np.maximum(a, ZERO),
    "exp": np.exp,
    "square": np.square,
    "rsqrt": lambda a: ONE / np.sqrt(a),
    "max": lambda a: a.max(axis=-1, keepdims=True),
}


def half(values: Array) -> Array:
    """FP32 rounded to nearest even in FP16, in an FP32 array.

    By its bits where they are many: a cast to FP16 and back takes five times as long, of subnormals sixty times.
    """
    if values.size < 4096:
        return values.astype(np.float16).astype(np.float32)
    bits = values.view(np.uint32)
    rounded = ((bits + np.uint32(0x0FFF) + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)).view(np.float32)
    size = np.abs(values)
    if (subnormal := size < np.float32(2.0**-14)).any():
        rounded = np.where(subnormal, (values + np.float32(0.75)) - np.float32(0.75), rounded)
    if (beyond := size >= np.float32(65520)).any():
        rounded = np.where(beyond, np.copysign(np.float32(np.inf), values), rounded)
    return rounded


def brain(values: Array) -> Array:
    """Rounded to nearest even in BF16: seven bits of fraction."""
    bits = values.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def tensor_float(values: Array) -> Array:
    """Truncated to TF32: ten bits of fraction."""
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def with_ops(program: Program, change: Callable[[Op], Op]) -> Program:
    return msgspec.structs.replace(program, ops=tuple(change(op) for op in program.ops))
