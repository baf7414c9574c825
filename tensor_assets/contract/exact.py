"""Sums and products in FP64 that come out the same everywhere: exact where FP64 can hold them, else in a fixed order.

No result depends on the order in which a BLAS adds, or on a platform's mathematical library.
"""

from __future__ import annotations

import math

import numpy as np

from tensor_assets.contract.floats import Float64

# FP64 and FP32 hold every integer up to here.
EXACT_64 = 2.0**53
EXACT_32 = 2.0**24

_F16_GRID = 2.0**-24  # every FP16 value is a multiple
_MAX_SLICES = 4

# ln 2 in two parts, the first with 32 significant bits so that its product with an exponent is exact.
_LN2_HIGH = float.fromhex("0x1.62e42feep-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


def grid(values: Float64) -> float:
    """The largest power of two that divides every element (1 where all are zero). Elements must be finite."""
    return float(grids(values.reshape(-1)).item()) if values.size else 1.0


def grids(values: Float64, axis: int = -1) -> Float64:
    """As ``grid``, for each row (or along another axis) alone; the axis is kept with length one."""
    scaled = values * (1 / _F16_GRID)
    if np.abs(scaled).max(initial=0.0) < 2.0**62:
        integers = scaled.astype(np.int64)
        if np.array_equal(integers, scaled):
            joined = np.bitwise_or.reduce(integers, axis=axis, keepdims=True)
            return np.where(joined == 0, 1.0, (joined & -joined).astype(np.float64) * _F16_GRID)
    fraction, exponent = np.frexp(values)
    integers = np.ldexp(fraction, 53).astype(np.int64)
    lowest = np.ldexp((integers & -integers).astype(np.float64), exponent - 53)
    smallest = np.where(values == 0, np.inf, lowest).min(axis=axis, keepdims=True)
    return np.where(np.isinf(smallest), 1.0, smallest)


def steps(left: Float64, right: Float64) -> float:
    """Largest sum of |products| of ``left @ right``, in units of its own products' grid.

    Below 2**24 every FP32 partial sum, in any order and grouping, is a multiple of that grid that FP32 represents, so
    every order returns the same bits; an accumulator that truncates has nothing to truncate. The sums themselves are
    taken in FP32: they are of positive integers, so they are exact up to 2**24, and once there they stay there.
    """
    with np.errstate(over="ignore"):
        rows = (np.abs(left) / grids(left)).astype(np.float32)
        columns = (np.abs(right) / grids(right, axis=0)).astype(np.float32)
        return float((rows @ columns).max(initial=0.0))


def sum_steps(values: Float64) -> float:
    """As ``steps``, for sums over the last axis."""
    return float((np.abs(values).sum(axis=-1, keepdims=True) / grids(values)).max(initial=0.0))


def contract(left: Float64, right: Float64) -> Float64:
    """``left @ right``: exact to the last bit of FP64 where partial sums fit 53 bits, else within 2**-50 of Σ|a·b|.

    Wider operands are cut into slices whose products are exact, and the partial results are added in a fixed order
    (the Ozaki scheme), so that the order in which a BLAS adds never shows. A zero is +0.
    """
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        with np.errstate(invalid="ignore", over="ignore"):
            return left @ right + 0.0
    if _fits(left, right):
        return left @ right + 0.0
    bits = (53 - math.ceil(math.log2(max(left.shape[-1], 2)))) // 2
    total = np.zeros((*left.shape[:-1], right.shape[-1]))
    for a in reversed(_slices(left, bits)):
        for b in reversed(_slices(right, bits)):
            total = total + a @ b
    return total + 0.0


def total(values: Float64) -> Float64:
    """Sum over the last axis, kept with length one, by halving: log2(n) roundings of FP64, in one order everywhere."""
    length = values.shape[-1]
    padded = np.zeros((*values.shape[:-1], 1 << max(length - 1, 0).bit_length()))
    padded[..., :length] = values
    while padded.shape[-1] > 1:
        half = padded.shape[-1] // 2
        padded = padded[..., :half] + padded[..., half:]
    return padded


def exponential(values: Float64) -> Float64:
    """e**x within 2**-50 relative, from additions and multiplications alone: Taylor to degree 14 on |r| <= ln 2 / 2."""
    bounded = np.clip(values, -800.0, 800.0)  # beyond, FP64 gives 0 and infinity
    power = np.rint(bounded * (1 / math.log(2)))
    rest = (bounded - power * _LN2_HIGH) - power * _LN2_LOW
    result = np.ones_like(rest)
    for degree in range(14, 0, -1):
        result = 1.0 + result * rest / degree
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(result, power.astype(np.int32))


def _fits(left: Float64, right: Float64) -> bool:
    rows = np.abs(left).sum(axis=-1).max(initial=0.0)
    return float(rows * np.abs(right).max(initial=0.0)) < EXACT_64 * grid(left) * grid(right) * (1 - 2.0**-40)


def _slices(values: Float64, bits: int) -> list[Float64]:
    """``values`` as a sum of arrays, each of integers below 2**bits times one power of two, largest first."""
    found: list[Float64] = []
    rest = values
    while len(found) < _MAX_SLICES and rest.any():
        exponent = int(np.frexp(np.abs(rest).max())[1])
        quantum = 2.0 ** (exponent - bits)
        part = np.rint(rest / quantum) * quantum
        found.append(part)
        rest = rest - part
    return found
