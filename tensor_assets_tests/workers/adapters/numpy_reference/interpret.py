"""Evaluates a program in FP32 and rounds where it says so."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tensor_worker.program import Op, Program

DTYPES = {"f16": np.float16, "f32": np.float32}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "matmul": np.matmul}
UNARY = {"exp": np.exp, "square": np.square}


def evaluate(program: Program, inputs: Mapping[str, np.ndarray], rounded: bool) -> dict[str, np.ndarray]:
    """Every output in its declared dtype. ``rounded`` False keeps interior values in FP32."""
    values = {name: array.astype(np.float32) for name, array in inputs.items()}
    for op in program.ops:
        value = apply(op, [values[of] if isinstance(of, str) else np.float32(of) for of in op.of])
        values[op.name] = value.astype(DTYPES[op.dtype]).astype(np.float32) if rounded else value
    return {name: values[name].astype(DTYPES[program.value(name).dtype]) for name in program.outputs}


def apply(op: Op, operands: list[np.ndarray]) -> np.ndarray:
    """One op in FP32."""
    first = operands[0]
    if op.op in BINARY:
        return BINARY[op.op](first, operands[1])
    if op.op in UNARY:
        return UNARY[op.op](first)
    match op.op:
        case "transpose":
            return np.swapaxes(first, -1, -2)
        case "relu":
            return np.maximum(first, np.float32(0))
        case "rsqrt":
            return np.float32(1) / np.sqrt(first)
        case "max":
            return first.max(axis=-1, keepdims=True)
        case "sum":
            return first.sum(axis=-1, keepdims=True, dtype=np.float32)
    return first.mean(axis=-1, keepdims=True, dtype=np.float32)
