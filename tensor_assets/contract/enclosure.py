"""The sound outer interval: for every value, bounds that contain the result of every legal execution.

Legal is any order and grouping of FP32 accumulation, with rounding or truncating adders; FP32 interior values kept in
FP32 or in more; the approximations below. Nothing probabilistic: an element outside its interval is wrong.

**Contractions and sums.** Where the data proves that every partial sum is exact (``exact.steps`` below 2**24) there is
one result. Otherwise let S = Σ|a·b| and u = 2**-23. A sequential adder that truncates loses less than u of the partial
sum at each of n steps. A fused group of g products (matrix units: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior
of NVIDIA tensor cores", PeerJ Computer Science 2021) aligns g products and the accumulator to the largest of them, and
each of the g + 1 terms and the result lose less than u of it: (g + 2)·u·S a group, n/g groups. The worst is g = 4, the
smallest group built, hence |error| <= 1.5·n·u·S / (1 - 1.5·n·u); rounding adders, trees and split sums stay below.
Where all terms are positive, one below u·S costs at most twice itself, whatever it is added to (it may be lost, and
what it carries over may be lost once more): a sum counts such terms by their size, and n is the number of the others.

**Elementwise.** FP32 add, sub, mul, square: rounded to nearest or not at all (a fused multiply-add), enclosed by both
directed roundings. Division: 3 ulp (CUDA C++ Programming Guide: ``div.full`` 2; a reciprocal within 1 ulp, multiplied
and rounded: 2). Reciprocal root: 4 ulp (``rsqrt.approx`` 2; one over a square root of 1 ulp: 2.5). Exponential:
4 + 1.2·|x| ulp (``__expf``: 2 + floor(1.173·|x|); ``expf`` and vector libraries: at most 4). A mean may multiply by a
rounded 1/n: 2 ulp unless n is a power of two. FP32 results below 2**-126 may be flushed to zero. Numbers may be rounded
to FP32.

**Boundaries.** Rounding to nearest even is monotone, so it is applied to both ends; where an operand is FP32 the result
may have been rounded to FP32 first, so both are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from tensor_worker.program import Op, Program

from tensor_assets.contract import exact
from tensor_assets.contract.floats import Array, Float64, down32, rounded, spacing32, up32
from tensor_assets.contract.oracle import exact_result, require_inputs
from tensor_assets.records import Bound

ACCUMULATION_ULP = 1.5 * 2.0**-23
DIVISION_ULP = 3.0
RSQRT_ULP = 4.0
EXP_ULP = (4.0, 1.2)  # plus this much for each unit of |x|
MEAN_ULP = 2.0

_SLACK = 1.0 + 2.0**-40  # covers the FP64 roundings of the bound itself


class Interval(NamedTuple):
    """Ends of each element, in FP64. A point holds the same array twice."""

    low: Float64
    high: Float64

    @property
    def point(self) -> bool:
        return self.low is self.high


class Enclosed(NamedTuple):
    """``bounds``: the contractions and sums that were proven to have one answer in any order, with their steps."""

    values: dict[str, Interval]
    bounds: tuple[Bound, ...]


def enclose(program: Program, inputs: Mapping[str, Array], margin_ulp: float = 0.0) -> Enclosed:
    """Bounds of every value. ``margin_ulp`` widens by that many more FP32 ulp wherever FP32 values meet a boundary.

    Raises ValueError if an input is missing or has another dtype or shape than the program says.
    """
    dtypes = {value.name: value.dtype for value in program.values()}
    values = {name: Interval(array, array) for name, array in require_inputs(program, inputs).items()}
    bounds: list[Bound] = []
    for op in program.ops:
        parts = [values[part] if isinstance(part, str) else _number(part) for part in op.of]
        interior = any(dtypes[part] == "f32" if isinstance(part, str) else not _short(part) for part in op.of)
        with np.errstate(all="ignore"):
            result = _result(op, parts, bounds)
            values[op.name] = _settled(result, op, interior, margin_ulp)
    return Enclosed(values, tuple(bounds))


def _result(op: Op, parts: list[Interval], bounds: list[Bound]) -> Interval:
    if op.op == "matmul":
        return _contracted(op, parts[0], parts[1], bounds)
    if op.op in ("sum", "mean"):
        return _summed(op, parts[0], bounds)
    return _RESULTS[op.op](op, parts)


def _contracted(op: Op, left: Interval, right: Interval, bounds: list[Bound]) -> Interval:
    if not all(np.isfinite(end).all() for end in (*left, *right)):
        return Interval(np.full(op.shape, -np.inf), np.full(op.shape, np.inf))
    if left.point and right.point:
        steps = exact.steps(left.low, right.low)
        if steps < exact.EXACT_32:
            bounds.append(Bound(op=op.name, steps=steps))
            middle = left.low @ right.low + 0.0  # exact by the same proof
            return Interval(middle, middle)
        magnitude = exact.contract(np.abs(left.low), np.abs(right.low))
        return _around(exact.contract(left.low, right.low), _accumulation(left.low.shape[-1]) * magnitude)
    a, da = _middle(left)
    b, db = _middle(right)
    spread = exact.contract(da, np.abs(b) + db) + exact.contract(np.abs(a), db)
    magnitude = spread + exact.contract(np.abs(a), np.abs(b))
    return _around(exact.contract(a, b), spread + (_accumulation(a.shape[-1]) + 2.0**-42) * magnitude)


def _summed(op: Op, part: Interval, bounds: list[Bound]) -> Interval:
    if not all(np.isfinite(end).all() for end in part):
        return Interval(np.full(op.shape, -np.inf), np.full(op.shape, np.inf))
    length = part.low.shape[-1]
    largest = np.maximum(np.abs(part.low), np.abs(part.high))
    if part.point and (steps := exact.sum_steps(part.low)) < exact.EXACT_32:
        bounds.append(Bound(op=op.name, steps=steps))
        low = high = exact.total(part.low)
    else:
        error = _sum_error(largest, positive=bool((part.low >= 0).all()))
        low, high = exact.total(part.low) - error, exact.total(part.high) + error
    if op.op == "sum":
        return Interval(low, high)
    ulp = 0.0 if length & (length - 1) == 0 else MEAN_ULP
    if low is high and not ulp:
        low = high = low / length
        return Interval(low, high)
    return _widened(Interval(low / length, high / length), ulp)


def _sum_error(largest: Float64, positive: bool) -> Float64:
    magnitude = exact.total(largest) * _SLACK
    small = (largest <= 2.0**-23 * magnitude) & positive
    terms = np.count_nonzero(~small, axis=-1, keepdims=True)
    return _accumulation(terms) * magnitude + 2 * _SLACK * exact.total(np.where(small, largest, 0.0))


def _accumulation(terms: int | Array) -> float | Float64:
    """Bound of the relative error of accumulating that many terms."""
    error = ACCUMULATION_ULP * np.asarray(terms, dtype=np.float64)
    return np.where(error < 0.5, error / (1 - error), np.inf) * _SLACK


def _added(op: Op, parts: list[Interval]) -> Interval:
    left, right = parts
    if op.op == "sub":
        right = Interval(-right.low, -right.low) if right.point else Interval(-right.high, -right.low)
    if left.point and right.point:
        total, error = _sum_and_error(left.low, right.low)
        return Interval(total, total) if not error.any() else _around_sum(total, error)
    low, high = _sum_and_error(left.low, right.low), _sum_and_error(left.high, right.high)
    return Interval(_around_sum(*low).low, _around_sum(*high).high)


def _sum_and_error(a: Float64, b: Float64) -> tuple[Float64, Float64]:
    """The FP64 sum, and what its rounding lost (Knuth's TwoSum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _around_sum(total: Float64, error: Float64) -> Interval:
    low = np.where(error < 0, np.nextafter(total, -np.inf), total)
    return Interval(low, np.where(error > 0, np.nextafter(total, np.inf), total))


def _multiplied(op: Op, parts: list[Interval]) -> Interval:
    left, right = parts
    if left.point and right.point:
        product = left.low * right.low  # exact: 24 by 24 bits fit 53
        return Interval(product, product)
    return _hull([a * b for a in left for b in right])


def _squared(op: Op, parts: list[Interval]) -> Interval:
    (part,) = parts
    if part.point:
        product = part.low * part.low
        return Interval(product, product)
    low, high = part.low * part.low, part.high * part.high
    crosses = (part.low < 0) & (part.high > 0)
    return Interval(np.where(crosses, 0.0, np.minimum(low, high)), np.maximum(low, high))


def _divided(op: Op, parts: list[Interval]) -> Interval:
    left, right = parts
    quotient = _widened(_hull([a / b for a in left for b in right]), DIVISION_ULP)
    crosses = (right.low <= 0) & (right.high >= 0)
    return Interval(np.where(crosses, -np.inf, quotient.low), np.where(crosses, np.inf, quotient.high))


def _exponential(op: Op, parts: list[Interval]) -> Interval:
    low, high = parts[0]
    ulp = EXP_ULP[0] + EXP_ULP[1] * np.maximum(np.abs(low), np.abs(high))
    grown = _widened(Interval(exact.exponential(low), exact.exponential(high)), np.minimum(ulp, 1024.0))
    return Interval(np.maximum(grown.low, 0.0), grown.high)


def _reciprocal_root(op: Op, parts: list[Interval]) -> Interval:
    low, high = parts[0]
    grown = _widened(Interval(1.0 / np.sqrt(high), 1.0 / np.sqrt(low)), RSQRT_ULP)
    unknown = low <= 0
    return Interval(np.where(unknown, -np.inf, grown.low), np.where(unknown, np.inf, grown.high))


def _monotone(op: Op, parts: list[Interval]) -> Interval:
    low = exact_result(op, [parts[0].low])
    return Interval(low, low) if parts[0].point else Interval(low, exact_result(op, [parts[0].high]))


_RESULTS: dict[str, Callable[[Op, list[Interval]], Interval]] = {
    "transpose": _monotone,
    "relu": _monotone,
    "max": _monotone,
    "add": _added,
    "sub": _added,
    "mul": _multiplied,
    "square": _squared,
    "div": _divided,
    "exp": _exponential,
    "rsqrt": _reciprocal_root,
}


def _settled(result: Interval, op: Op, interior: bool, margin_ulp: float) -> Interval:
    """The ends rounded to the op's dtype, and one array again where they are equal."""
    if op.dtype == "f32":
        low, high = down32(result.low), up32(result.high)
    elif interior:
        wide = _widened(result, margin_ulp)
        low = np.minimum(rounded(wide.low, "f16"), rounded(rounded(wide.low, "f32"), "f16"))
        high = np.maximum(rounded(wide.high, "f16"), rounded(rounded(wide.high, "f32"), "f16"))
    else:
        low = rounded(result.low, "f16")
        if result.point:
            return Interval(low, low)
        high = rounded(result.high, "f16")
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    return Interval(low, low) if np.array_equal(low, high) else Interval(low, high)


def _short(number: float) -> bool:
    """Whether FP16 holds the number: then an op of it and FP16 values rounds as one of FP16 values does."""
    return float(np.float16(number)) == number


def _number(value: float) -> Interval:
    number = np.array(value, np.float64)
    low, high = down32(number), up32(number)
    return Interval(low, low) if low == high else Interval(low, high)


def _middle(part: Interval) -> tuple[Float64, Float64]:
    """Midpoint and radius; both are exact for FP16 ends."""
    if part.point:
        return part.low, np.zeros_like(part.low)
    return (part.low + part.high) / 2, (part.high - part.low) / 2


def _around(middle: Float64, radius: Float64) -> Interval:
    return Interval(middle - radius * _SLACK, middle + radius * _SLACK)


def _widened(part: Interval, ulp: float | Float64) -> Interval:
    if isinstance(ulp, float) and not ulp:
        return part
    return Interval(part.low - ulp * spacing32(part.low), part.high + ulp * spacing32(part.high))


def _hull(ends: list[Float64]) -> Interval:
    return Interval(np.minimum.reduce(ends), np.maximum.reduce(ends))
