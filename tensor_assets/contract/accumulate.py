"""Accumulation in a chosen order with a chosen rounding of every partial sum, in FP32 arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from tensor_worker.program import Op

from tensor_assets.contract.floats import Array, Float64

Rounding = Callable[[Array], Array]

_SUBNORMAL = np.float32(0.75)


class Order(Protocol):
    """Adds ``count`` terms; each partial sum is rounded."""

    def __call__(self, count: int, term: Callable[[int], Array], rounding: Rounding) -> Array: ...


def accumulated(op: Op, parts: Sequence[Float64], rounding: Rounding, order: Order | None = None) -> Float64:
    """Sums of a matmul, sum or mean (before its division): each partial sum is rounded by ``rounding``, an FP32 map."""
    left = parts[0].astype(np.float32)
    added = order or in_sequence
    if op.op != "matmul":
        return added(left.shape[-1], lambda k: left[..., k : k + 1], rounding).astype(np.float64)
    right = parts[1].astype(np.float32)
    columns = np.ascontiguousarray(left.T)[:, :, None]
    return added(left.shape[1], lambda k: columns[k] * right[k], rounding).astype(np.float64)


def in_sequence(count: int, term: Callable[[int], Array], rounding: Rounding) -> Array:
    """One term after the other."""
    total = np.zeros_like(term(0))
    for k in range(count):
        total = rounding(total + term(k))
    return total


def by_halves(count: int, term: Callable[[int], Array], rounding: Rounding) -> Array:
    """Two halves, each by halves."""

    def between(first: int, end: int) -> Array:
        if end - first == 1:
            return rounding(term(first))
        middle = (first + end) // 2
        return rounding(between(first, middle) + between(middle, end))

    return between(0, count)


def in_fours(count: int, term: Callable[[int], Array], rounding: Rounding) -> Array:
    """As a matrix unit: four terms are added to the accumulator at once, and the result is rounded."""
    total = np.zeros_like(term(0))
    for first in range(0, count, 4):
        group = [term(k) for k in range(first, min(first + 4, count))]
        total = rounding(total + sum(group[1:], group[0]))
    return total


def f32(values: Array) -> Array:
    return values


def f16(values: Array) -> Array:
    """FP32 rounded to nearest even in FP16, by its bits: a cast and back takes five times as long, of subnormals 60."""
    bits = values.view(np.uint32)
    kept = bits >> np.uint32(13)
    kept &= np.uint32(1)
    kept += np.uint32(0x0FFF)
    kept += bits
    kept &= np.uint32(0xFFFFE000)
    result = kept.view(np.float32)
    size = np.abs(values)
    subnormal = size < np.float32(2.0**-14)
    if subnormal.any():  # a sum in [1/2, 1) has the spacing of FP16 subnormals, 2**-24
        np.copyto(result, (values + _SUBNORMAL) - _SUBNORMAL, where=subnormal)
    beyond = size >= np.float32(65520.0)
    if beyond.any():
        np.copyto(result, np.copysign(np.float32(np.inf), values), where=beyond)
    return result


def bf16(values: Array) -> Array:
    """FP32 rounded to nearest even in BF16, by its bits."""
    bits = values.view(np.uint32)
    return ((bits + (0x7FFF + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(0xFFFF0000)).view(np.float32)


def tf32(values: Array) -> Array:
    """FP32 with the 13 bits dropped that TF32 does not have."""
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
