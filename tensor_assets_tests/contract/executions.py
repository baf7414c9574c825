"""Legal executions of a program: FP32 sums in many orders and with adders that round or truncate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from tensor_worker.program import Op, Program

F32 = np.float32
Adder = Callable[[np.ndarray], np.ndarray]  # sums over the last axis of an FP32 array


def executed(program: Program, inputs: Mapping[str, np.ndarray], adder: Adder) -> dict[str, np.ndarray]:
    """The outputs of an FP32 machine that sums with ``adder`` and rounds where the program says."""
    values = {name: array.astype(F32) for name, array in inputs.items()}
    with np.errstate(all="ignore"):
        for op in program.ops:
            parts = [values[part] if isinstance(part, str) else F32(part) for part in op.of]
            result = _result(op, parts, adder)
            values[op.name] = result.astype(np.float16).astype(F32) if op.dtype == "f16" else result
    kinds = {"f16": np.float16, "f32": F32}
    return {name: values[name].astype(kinds[program.value(name).dtype]) for name in program.outputs}


def _result(op: Op, parts: Sequence[np.ndarray], adder: Adder) -> np.ndarray:
    if op.op == "matmul":
        return adder(parts[0][:, None, :] * parts[1].T[None, :, :])
    if op.op in ("sum", "mean"):
        total = adder(parts[0])[..., None]
        return total if op.op == "sum" else total * (F32(1) / F32(parts[0].shape[-1]))
    return {
        "transpose": lambda a: a.T,
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": lambda a, b: a * (F32(1) / b),
        "relu": lambda a: np.maximum(a, F32(0)),
        "exp": np.exp,
        "square": np.square,
        "rsqrt": lambda a: F32(1) / np.sqrt(a),
        "max": lambda a: a.max(axis=-1, keepdims=True),
    }[op.op](*parts)


def sequential(terms: np.ndarray) -> np.ndarray:
    total = np.zeros(terms.shape[:-1], F32)
    for k in range(terms.shape[-1]):
        total = total + terms[..., k]
    return total


def backward(terms: np.ndarray) -> np.ndarray:
    return sequential(terms[..., ::-1])


def pairwise(terms: np.ndarray) -> np.ndarray:
    while terms.shape[-1] > 1:
        if terms.shape[-1] % 2:
            terms = np.concatenate([terms, np.zeros((*terms.shape[:-1], 1), F32)], axis=-1)
        terms = terms[..., 0::2] + terms[..., 1::2]
    return terms[..., 0]


def split(terms: np.ndarray) -> np.ndarray:
    """Four partial sums in FP32, added afterwards."""
    return sequential(np.stack([sequential(part) for part in np.array_split(terms, 4, axis=-1)], axis=-1))


def compensated(terms: np.ndarray) -> np.ndarray:
    """Kahan's sum."""
    total = np.zeros(terms.shape[:-1], F32)
    lost = np.zeros_like(total)
    for k in range(terms.shape[-1]):
        term = terms[..., k] - lost
        grown = total + term
        lost = (grown - total) - term
        total = grown
    return total


def truncating(terms: np.ndarray) -> np.ndarray:
    """One term after the other, every partial sum cut toward zero."""
    total = np.zeros(terms.shape[:-1], F32)
    for k in range(terms.shape[-1]):
        total = _cut(total.astype(np.float64) + terms[..., k])
    return total


def grouped(size: int) -> Adder:
    """A matrix unit's sum: ``size`` terms and the accumulator, cut at the largest one's last bit, added and cut."""

    def adder(terms: np.ndarray) -> np.ndarray:
        total = np.zeros(terms.shape[:-1], F32)
        for start in range(0, terms.shape[-1], size):
            group = np.concatenate([total[..., None], terms[..., start : start + size]], axis=-1).astype(np.float64)
            _, exponent = np.frexp(np.abs(group).max(axis=-1, keepdims=True))
            step = np.ldexp(1.0, exponent - 24)
            total = _cut((np.trunc(group / step) * step).sum(axis=-1))
        return total

    return adder


def shuffled(order: Sequence[int]) -> Adder:
    return lambda terms: sequential(terms[..., list(order)])


def _cut(values: np.ndarray) -> np.ndarray:
    """FP64 to FP32, toward zero."""
    nearest = values.astype(F32)
    beyond = np.abs(nearest.astype(np.float64)) > np.abs(values)
    return np.where(beyond, np.nextafter(nearest, F32(0)), nearest)


ADDERS: dict[str, Adder] = {
    "sequential": sequential,
    "backward": backward,
    "pairwise": pairwise,
    "split-K": split,
    "Kahan": compensated,
    "truncating": truncating,
    "groups of 4, truncating": grouped(4),
    "groups of 8, truncating": grouped(8),
    "groups of 16, truncating": grouped(16),
}
