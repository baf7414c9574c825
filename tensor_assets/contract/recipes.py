"""How each kind of fixture draws an input, by the part the input plays in the program.

A recipe knows no workload: ``drawing`` walks the program and asks for a contraction's left or right operand, for
something to add to or multiply with a value that is already there, or for rows that are reduced.
"""

from __future__ import annotations

import math

import numpy as np

from tensor_assets.contract.draws import Draws
from tensor_assets.contract.floats import Float64, rounded

Shape = tuple[int, ...]


class Recipe:
    """Standard normal data: weights scaled by 1/sqrt(K), multipliers around one."""

    summary = "normal data, weights scaled by 1/sqrt(K)"
    margin_ulp = 0.0

    def left(self, draws: Draws, shape: Shape) -> Float64:
        return draws.normal(shape)

    def right(self, draws: Draws, shape: Shape, left: Float64) -> Float64:
        return _on_grid(draws.normal(shape) / math.sqrt(shape[0]), 16)

    def added(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        """Something to add to ``value`` (None where both operands are inputs)."""
        return draws.normal(shape)

    def scaled(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        """Something to multiply ``value`` with."""
        return 1.0 + draws.normal(shape) / 8 if value is not None else draws.normal(shape)

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        """Rows that ``op``, a reduction or an elementwise function, reads first."""
        return draws.normal(shape)

    def rejoined(self, draws: Draws, shape: Shape, left: Float64, twin: Float64) -> Float64:
        """A second right operand for the same left one; ``twin`` is the first."""
        return self.right(draws, shape, left)


class Zeros(Recipe):
    summary = "all zeros"

    def left(self, draws: Draws, shape: Shape) -> Float64:
        return np.zeros(shape)

    def right(self, draws: Draws, shape: Shape, left: Float64) -> Float64:
        return np.zeros(shape)

    def added(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        return np.zeros(shape)

    scaled = added

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        return np.zeros(shape)


class Structured(Recipe):
    """Every element tells its place: small integers that step along both axes, so that a wrong index shows."""

    summary = "small integers that step along each axis with periods 13, 11, 7 and 17"

    def left(self, draws: Draws, shape: Shape) -> Float64:
        return _stepping(shape, 5, 3, 13) / 8

    def right(self, draws: Draws, shape: Shape, left: Float64) -> Float64:
        return _stepping(shape, 2, 7, 11) / 16

    def added(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        return _stepping(shape, 3, 2, 7)

    def scaled(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        return (_stepping(shape, 4, 3, 17) + 12) / 8

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        return _stepping(shape, 5, 3, 13) / 4

    def rejoined(self, draws: Draws, shape: Shape, left: Float64, twin: Float64) -> Float64:
        return _stepping(shape, 7, 4, 13) / 16


class Cancellation(Recipe):
    """Normal data where what is added nearly cancels what is there."""

    summary = "normal data; what is added nearly cancels what it is added to"

    def added(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        return draws.normal(shape) if value is None else opposite(draws, shape, value)

    def rejoined(self, draws: Draws, shape: Shape, left: Float64, twin: Float64) -> Float64:
        return _on_grid(-twin * (1.0 + draws.normal(shape) / 256), 16)

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        return _on_grid(64.0 + draws.normal(shape), 5)


class ProductAccumulation(Recipe):
    """Exact sums that FP16 products or FP16 partial sums lose.

    Even rows: four products of 11-bit numbers, each followed by minus its own FP16 value, which leaves what rounding
    the product loses. Odd rows: a one, then terms below half of its FP16 spacing, which an FP16 sum drops.
    """

    summary = "even rows: four products, each followed by minus its FP16 value; odd rows: one, then terms below 2**-11"

    def left(self, draws: Draws, shape: Shape) -> Float64:
        pairs = self._pairs(shape[1])
        drawn = np.zeros(shape)
        drawn[0::2, 0 : 2 * pairs : 2] = draws.integers((pairs,), 1025, 1400) / 1024
        drawn[0::2, 1 : 2 * pairs : 2] = 1.0
        odd = drawn[1::2, 2 * pairs :]
        odd[:] = draws.integers(odd.shape, 1, 3) / 2**13
        odd[:, :1] = 1.0
        return drawn

    def right(self, draws: Draws, shape: Shape, left: Float64) -> Float64:
        pairs = self._pairs(shape[0])
        first = left[0, 0 : 2 * pairs : 2]
        if left[0, 2 * pairs :].any() or not first.any():
            return _picking(draws, shape)
        numbers = draws.integers((pairs, shape[1]), 1025, 1400) / 1024
        drawn = np.ones(shape)
        drawn[0 : 2 * pairs : 2] = numbers
        drawn[1 : 2 * pairs : 2] = -rounded(first[:, None] * numbers, "f16")
        return drawn

    def added(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        return np.zeros(shape)

    def scaled(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        return np.ones(shape)

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        drawn = -(7.0 + draws.integers(shape, 0, 63) / 64) if op == "max" else draws.integers(shape, 33, 63) / 1024
        drawn[..., 0] = 0.0 if op == "max" else 4.0
        return drawn

    @staticmethod
    def _pairs(length: int) -> int:
        return min(4, length // 4)


class ProjectionRounding(Recipe):
    """One product a row whose FP16 value differs from it, and minus that FP16 value to add: what is left is zero."""

    summary = "one product a row, 1.0048828125 times an 11-bit number; minus its FP16 value is added"

    def left(self, draws: Draws, shape: Shape) -> Float64:
        drawn = np.zeros(shape)
        drawn[np.arange(shape[0]), np.arange(shape[0]) % shape[1]] = 1029 / 1024
        drawn[-1] = 0.0  # so that not every output is zero
        return drawn

    def right(self, draws: Draws, shape: Shape, left: Float64) -> Float64:
        numbers = draws.integers((1, shape[1]), 1025, 2047) / 1024
        numbers[0, 0] = 1119 / 1024  # the documents' product: 1.098109245300293 becomes 1.09765625
        return np.broadcast_to(numbers, shape).copy()

    def added(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        return np.ones(shape) if value is None else opposite(draws, shape, value, row=0)

    def scaled(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        return np.full(shape, 0.75)

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        return draws.integers(shape, 1025, 2047) / 1024


def opposite(draws: Draws, shape: Shape, value: Float64, row: int | None = None) -> Float64:
    """Minus ``value`` where the shapes agree, minus one row (or column) of it where it is broadcast.

    A full-size operand cancels its own element in half of the places, and a neighbouring row's in the others: were all
    results zero, a constant answer would be right.
    """
    if shape == value.shape:
        own = draws.integers(shape, 0, 1) == 0
        return -np.where(own, value, np.roll(value, 1, axis=0))
    picked = np.broadcast_to(value, np.broadcast_shapes(value.shape, shape))
    padded = (1,) * (picked.ndim - len(shape)) + shape
    for axis, size in enumerate(padded):
        if size == 1 and picked.shape[axis] > 1:
            place = int(draws.integers((1,), 0, picked.shape[axis] - 1)[0]) if row is None else row
            picked = np.take(picked, [place], axis=axis)
    return -picked.reshape(shape)


def _picking(draws: Draws, shape: Shape) -> Float64:
    """Two nonzeros a column, 1 and -1/2, one in each half: a sum of two terms."""
    half = max(shape[0] // 2, 1)
    drawn = np.zeros(shape)
    for offset, weight in ((0, 1.0), (shape[0] - half, -0.5)):
        places = draws.integers((shape[1],), 0, half - 1).astype(np.int64) + offset
        drawn[places, np.arange(shape[1])] = weight
    return drawn


def _on_grid(values: Float64, bits: int) -> Float64:
    return np.rint(values * 2.0**bits) / 2.0**bits


def _stepping(shape: Shape, down: int, across: int, period: int) -> Float64:
    index = np.zeros(shape)
    for axis, step in zip(range(-1, -len(shape) - 1, -1), (across, down, 1, 1), strict=False):
        places = np.arange(shape[axis], dtype=np.float64) * step
        index = index + places.reshape((-1,) + (1,) * (-axis - 1))
    return np.mod(index, period) - period // 2
