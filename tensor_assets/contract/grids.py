"""The exact fixtures' grids: operands for which every FP32 partial sum is exact in any order.

One grid is not enough: 7-bit numbers hide BF16 operands (8 bits), a dense second contraction needs a coarse first one.
So there is a family; each member is proven on its data (``drawing``) or left out.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tensor_assets.contract import exact
from tensor_assets.contract.draws import Draws
from tensor_assets.contract.floats import Float64
from tensor_assets.contract.recipes import Recipe, Shape, opposite


class NotExact(Exception):
    """No draw of this grid keeps every partial sum exact for this program."""


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """Integers of ``left`` and ``right`` bits with signs; ``nonzeros`` a row of the left operand (0: all).

    ``unit`` is the left operand's step; the right one's is the power of two that brings the largest result to ``top``.
    Multipliers are around ``scale``, rows that are reduced around ``row``. ``single``: each column of the right operand
    is the largest integer, or minus it, in one place.
    """

    left: int
    right: int
    nonzeros: int = 0
    unit: float = 2.0**-7
    top: float = 32.0
    scale: float = 1.0
    row: float = 1.0
    single: bool = False


# Bits, and what each is for. Sums at K = 1024: 7 + 7 bits give 2**22, 11 + 3 give 2**22, four times 11 + 11 give 2**24.
# Three times an eleven-bit number is often halfway between two FP16 values, which sums of many terms rarely are.
# Beside small rows a norm's epsilon shows; half of the left operands of "subnormal" are subnormal, too.
FAMILY: dict[str, Grid] = {
    "": Grid(left=7, right=7),
    "4x4": Grid(left=4, right=4, unit=2.0**-4),
    "11x3": Grid(left=11, right=3, unit=2.0**-11),
    "3x11": Grid(left=3, right=11, unit=2.0**-3),
    "sparse": Grid(left=11, right=11, nonzeros=4, unit=2.0**-10),
    "halfway": Grid(left=11, right=2, unit=2.0**-11, single=True),
    "small": Grid(left=7, right=7, row=2.0**-8),
    "subnormal": Grid(left=7, right=7, unit=2.0**-20, top=2.0**-14, scale=2.0**-15),
    "large": Grid(left=7, right=7, unit=1.0, top=2.0**15),
}

# Rows whose results stand for all when their size is chosen.
_SAMPLED = 64

# Full-mantissa operands stay below this, so that four products stay below 2**24.
_LARGEST = 2000


class Exact(Recipe):
    """Draws from one grid. Wherever an operand is computed, the other one is fitted to it by what its data allows."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.margin_ulp = 16.0
        kept = f", {grid.nonzeros} nonzeros a row" if grid.nonzeros else ""
        self.summary = f"{grid.left} × {grid.right} bit integers{kept}, largest result about {grid.top:g}"

    def left(self, draws: Draws, shape: Shape) -> Float64:
        drawn = _integers(draws, shape, _largest(self.grid.left))
        if self.grid.nonzeros:
            drawn = drawn * _kept(draws, shape, self.grid.nonzeros)
        return drawn * self.grid.unit

    def right(self, draws: Draws, shape: Shape, left: Float64) -> Float64:
        if not np.isfinite(left).all():
            raise NotExact("the left operand is not finite")
        if self.grid.single:
            drawn = draws.signs(shape) * _largest(self.grid.right) * _kept(draws, shape[::-1], 1).T
            return drawn * self._unit(exact.contract(left[:_SAMPLED], drawn))
        for largest, nonzeros in _attempts(_largest(self.grid.right)):
            drawn = _integers(draws, shape, largest)
            if nonzeros:
                if shape[0] < nonzeros:
                    continue
                drawn = drawn * _kept(draws, shape[::-1], nonzeros).T
            if all(exact.steps(part, drawn) < exact.EXACT_32 for part in (left[:_SAMPLED], left)):
                return drawn * self._unit(exact.contract(left[:_SAMPLED], drawn))
        raise NotExact("the left operand leaves no bits for a right one")

    def added(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        if value is None:
            return draws.integers(shape, -2047, 2047) * 2.0 ** -int(draws.integers((1,), 8, 11)[0])
        return opposite(draws, shape, value)

    def scaled(self, draws: Draws, shape: Shape, value: Float64 | None) -> Float64:
        """Odd sevenbit multipliers: a product has more bits than FP16 keeps, and is never a shifted copy."""
        if value is None:
            return draws.integers(shape, 64, 127) * draws.signs(shape) / 64
        return (2 * draws.integers(shape, 32, 63) + 1) / 64 * self.grid.scale

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        """Eight magnitudes within an octave."""
        magnitudes = 64 + np.sort(draws.integers((8,), 0, 63))
        return magnitudes[draws.integers(shape, 0, 7).astype(np.int64)] * draws.signs(shape) * (self.grid.row / 64)

    def _unit(self, result: Float64) -> float:
        largest = float(np.abs(result).max(initial=0.0))
        return 2.0 ** math.floor(math.log2(self.grid.top / largest)) if largest else 1.0


class Ties(Exact):
    """Softmax rows of equal maxima and of values that vanish beside them: 1/m, whatever the exponential's last bits.

    Of eight rows, two each have their maximum where e**x overflows in FP32, where the square of that does, where
    either vanishes, and near zero: a softmax that does not subtract its maximum, or adds it, has no quotient there.
    """

    _TOPS = (0.0, 120.0, 60.0, -200.0, -8.0, 1000.0, 70.0, -1000.0)

    def __init__(self) -> None:
        super().__init__(FAMILY[""])
        self.margin_ulp = 64.0
        self.summary = "between K/4 and K equal maxima a row, from -1000 to 1000, the others 24 to 40 below"

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        lead = (*shape[:-1], 1)
        share = draws.integers(lead, 256, 1023)
        tops = np.array(self._TOPS)[np.arange(math.prod(lead)) % len(self._TOPS)]
        top = tops.reshape(lead) + draws.integers(lead, 0, 8)
        equal = draws.integers(shape, 0, 1023) <= share
        return np.where(equal, top, top - draws.integers(shape, 24, 40))


class Levels(Exact):
    """Softmax rows of a few values each, so that all results of a row can be unambiguous at once.

    Differences to the maximum have more bits than FP16 keeps. ``deep``: so far below it that results are subnormal.
    """

    def __init__(self, deep: bool = False) -> None:
        super().__init__(FAMILY[""])
        self.margin_ulp = 64.0
        self.deep = deep
        far = "far enough below it for subnormal results" if deep else "1.5 to 3.5 below it"
        self.summary = f"the maximum and two values {far} on 5/8 of each row, the rest 24 to 40 below"

    def rows(self, draws: Draws, shape: Shape, op: str) -> Float64:
        lead = shape[:-1]
        top = 2.0 + draws.integers((*lead, 1), 1, 511) / 512
        if self.deep:  # exp(-d) / z is below 2**-14 from d = 10 - ln z on, and z is about a sixth of the length
            near = 512 * 9 - 355 * (shape[-1] // 8).bit_length()
            levels = -draws.integers((*lead, 2), near, near + 1023) / 512
        else:
            levels = draws.integers((*lead, 2), -2047, 2047) / 4096
        places = np.array([0, 0, 1, 1, 1, 2, 2, 2])
        choice = places[draws.integers(shape, 0, 7).astype(np.int64)]
        chosen = np.take_along_axis(np.concatenate([top, levels], axis=-1), choice, axis=-1)
        return np.where(draws.integers(shape, 0, 7) < 5, chosen, -(22.0 + draws.integers(shape, 0, 15)))


def _attempts(largest: int) -> list[tuple[int, int]]:
    """Right operands to try: dense with ever fewer bits, then with ever fewer nonzeros a column."""
    dense = [(largest >> shift, 0) for shift in range(largest.bit_length()) if largest >> shift >= 3]
    return [*dense, (3, 16), (3, 8), (3, 4), (1, 0), (1, 4), (1, 1)]


def _largest(bits: int) -> int:
    return _LARGEST if bits > 10 else (1 << bits) - 1


def _integers(draws: Draws, shape: Shape, largest: int) -> Float64:
    return draws.integers(shape, -largest, largest)


def _kept(draws: Draws, shape: Shape, nonzeros: int) -> Float64:
    """Ones in ``nonzeros`` places of each row, one in each of as many stretches; zeros elsewhere."""
    count = min(nonzeros, shape[1])
    stretch = shape[1] // count
    places = draws.integers((shape[0], count), 0, stretch - 1).astype(np.int64) + np.arange(count) * stretch
    kept = np.zeros(shape)
    np.put_along_axis(kept, places, 1.0, axis=1)
    return kept
