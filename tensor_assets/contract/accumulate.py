"""Accumulation one term after the other with a chosen rounding of every partial sum, in FP32 arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tensor_worker.program import Op

from tensor_assets.contract.floats import Array, Float64

Rounding = Callable[[Array], Array]

_SUBNORMAL = np.float32(0.75)


def accumulated(op: Op, parts: Sequence[Float64], rounding: Rounding) -> Float64:
    """Sums of a matmul, sum or mean (before its division): each partial sum is rounded by ``rounding``, an FP32 map."""
    left = parts[0].astype(np.float32)
    if op.op != "matmul":
        sums = np.zeros((*left.shape[:-1], 1), np.float32)
        for k in range(left.shape[-1]):
            sums = rounding(sums + left[..., k : k + 1])
        return sums.astype(np.float64)
    right = parts[1].astype(np.float32)
    columns = np.ascontiguousarray(left.T)
    sums = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for k in range(left.shape[1]):
        sums = rounding(sums + columns[k][:, None] * right[k])
    return sums.astype(np.float64)


def f32(values: Array) -> Array:
    return values


def f16(values: Array) -> Array:
    """FP32 rounded to nearest even in FP16, by its bits: a cast and back takes ten times as long."""
    bits = values.view(np.uint32)
    normal = (bits + (np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1)))) & np.uint32(0xFFFFE000)
    subnormal = (values + _SUBNORMAL) - _SUBNORMAL  # a sum in [1/2, 1) has the spacing of FP16 subnormals, 2**-24
    size = np.abs(values)
    result = np.where(size < np.float32(2.0**-14), subnormal, normal.view(np.float32))
    return np.where(size >= np.float32(65520.0), np.copysign(np.float32(np.inf), values), result)


def bf16(values: Array) -> Array:
    """FP32 rounded to nearest even in BF16, by its bits."""
    bits = values.view(np.uint32)
    return ((bits + (0x7FFF + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(0xFFFF0000)).view(np.float32)


def tf32(values: Array) -> Array:
    """FP32 with the 13 bits dropped that TF32 does not have."""
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
