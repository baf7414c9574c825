"""Right compilers: each adds in FP32 in its own order, and some take a liberty that the contract leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from tensor_worker.program import Op

from .arithmetic import ELEMENTWISE, ONE, Arithmetic, Array


class Terms(NamedTuple):
    """What is summed: ``at(k)`` is the k-th term of every result, in FP32. Products of FP16 values are exact there."""

    count: int
    at: Callable[[int], Array]


class Ordered(Arithmetic):
    """One term after the other."""

    def contraction(self, op: Op, left: Array, right: Array) -> Array:
        columns = np.ascontiguousarray(left.T)[:, :, None]
        return self.added(op, Terms(len(right), lambda k: columns[k] * right[k]))

    def total(self, op: Op, values: Array) -> Array:
        return self.added(op, Terms(values.shape[-1], lambda k: values[..., k : k + 1]))

    def added(self, op: Op, terms: Terms) -> Array:
        return in_sequence(terms, range(terms.count))


class Reversed(Ordered):
    """From the last term to the first."""

    def added(self, op: Op, terms: Terms) -> Array:
        return in_sequence(terms, range(terms.count)[::-1])


class Shuffled(Ordered):
    """In an order drawn once."""

    def added(self, op: Op, terms: Terms) -> Array:
        return in_sequence(terms, np.random.Generator(np.random.PCG64(5)).permutation(terms.count))


class Pairwise(Ordered):
    """Halves first."""

    def added(self, op: Op, terms: Terms) -> Array:
        return self._between(terms, 0, terms.count)

    def _between(self, terms: Terms, first: int, end: int) -> Array:
        if end - first == 1:
            return terms.at(first)
        middle = (first + end) // 2
        return self._between(terms, first, middle) + self._between(terms, middle, end)


class Blocked(Ordered):
    """Blocks of eight, each added up alone, then to what was there."""

    def added(self, op: Op, terms: Terms) -> Array:
        blocks = [range(k, min(k + 8, terms.count)) for k in range(0, terms.count, 8)]
        total = in_sequence(terms, blocks[0])
        for block in blocks[1:]:
            total += in_sequence(terms, block)
        return total


class SplitK(Ordered):
    """Four parts of the sum, each FP32, added at the end."""

    def added(self, op: Op, terms: Terms) -> Array:
        parts = [in_sequence(terms, part) for part in np.array_split(np.arange(terms.count), 4)]
        return (parts[0] + parts[1]) + (parts[2] + parts[3])


class Lanes(Ordered):
    """Eight lanes, each with every eighth term, as vector units sum."""

    def added(self, op: Op, terms: Terms) -> Array:
        lanes = [in_sequence(terms, range(lane, terms.count, 8)) for lane in range(min(8, terms.count))]
        while len(lanes) > 1:
            half = (len(lanes) + 1) // 2
            lanes = [a + b for a, b in zip(lanes, lanes[half:], strict=False)] + lanes[len(lanes) - half : half]
        return lanes[0]


class Fused(Ordered):
    """Fused multiply-adds. Products of FP16 values lose nothing in FP32 anyway; a mean's division by its length does,
    and is fused with what is added to it."""

    def settled(self, op: Op, result: Array) -> Array:
        return super().settled(op, result if op.op == "mean" else result.astype(np.float32))

    def computed(self, op: Op, parts: list[Array]) -> Array:
        if op.op == "mean":
            inverse = np.float64(ONE / np.float32(parts[0].shape[-1]))
            return self.total(op, parts[0]).astype(np.float64) * inverse  # 24 by 24 bits: exact in FP64
        return super().computed(op, parts)


class TruncatingGroups(Ordered):
    """A matrix unit: eight products and the accumulator are aligned to the largest and cut off below its 24 bits."""

    size = 8

    def added(self, op: Op, terms: Terms) -> Array:
        total = np.zeros_like(terms.at(0), dtype=np.float64)
        for first in range(0, terms.count, self.size):
            group = [
                total,
                *(terms.at(k).astype(np.float64) for k in range(first, min(first + self.size, terms.count))),
            ]
            total = _cut(_aligned(group))
        return total.astype(np.float32)


class SmallGroups(TruncatingGroups):
    """A matrix unit of four products."""

    size = 4


class Kahan(Ordered):
    """Compensated summation."""

    def added(self, op: Op, terms: Terms) -> Array:
        total = np.zeros_like(terms.at(0))
        lost = np.zeros_like(total)
        for k in range(terms.count):
            term = terms.at(k) - lost
            longer = total + term
            lost = (longer - total) - term
            total = longer
        return total


class Approximate(Arithmetic):
    """A device's functions, not a library's: base-two exponential, products with reciprocals, a root two units off."""

    def computed(self, op: Op, parts: list[Array]) -> Array:
        if op.op == "exp":
            return np.exp2(parts[0] * np.float32(np.log2(np.e)))
        if op.op == "div":
            return parts[0] * (ONE / parts[1])
        if op.op == "mean":
            return self.total(op, parts[0]) * (ONE / np.float32(parts[0].shape[-1]))
        if op.op == "rsqrt":
            root = ELEMENTWISE["rsqrt"](*parts)
            return np.nextafter(np.nextafter(root, np.float32(np.inf)), np.float32(np.inf))
        return super().computed(op, parts)


class NegativeZeros(Ordered):
    """Every zero it writes is −0."""

    def outputs(self, inputs: dict[str, Array]) -> dict[str, Array]:
        return {
            name: np.where(array == 0, -np.zeros_like(array), array) for name, array in super().outputs(inputs).items()
        }


def in_sequence(terms: Terms, places: range | Array) -> Array:
    total = terms.at(int(places[0])).copy()
    for k in places[1:]:
        total += terms.at(int(k))
    return total


def _aligned(group: list[Array]) -> Array:
    """The sum of FP64 arrays after all but 24 bits, counted from the largest one's first, are cut off each."""
    largest = np.abs(group[0])
    for part in group[1:]:
        np.maximum(largest, np.abs(part), out=largest)
    exponent = np.frexp(largest)[1] - 24
    steps, quantum = np.ldexp(1.0, -exponent), np.ldexp(1.0, exponent)
    total = np.trunc(group[0] * steps)
    for part in group[1:]:
        total += np.trunc(part * steps)
    return total * quantum


def _cut(values: Array) -> Array:
    """FP64 truncated to 24 bits."""
    return (values.view(np.uint64) & np.uint64(0xFFFF_FFFF_E000_0000)).view(np.float64)
