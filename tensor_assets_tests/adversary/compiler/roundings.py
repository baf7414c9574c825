"""Wrong compilers that lose precision, or keep it where the program gives it up."""

from __future__ import annotations

import msgspec
import numpy as np
from tensor_worker.program import Op, Program

from .arithmetic import MOVES, Arithmetic, Array, brain, half, tensor_float, with_ops
from .orders import Ordered, Terms


class ProjectionNotRounded(Arithmetic):
    """Keeps contractions in FP32 for whoever reads them."""

    def dropped(self, op: Op) -> bool:
        return op.op == "matmul"

    def rewritten(self, program: Program) -> Program:
        wide: set[str | float] = set()

        def change(op: Op) -> Op:
            if not (self.dropped(op) or (op.op in MOVES and op.of[0] in wide)):
                return op
            wide.add(op.name)
            return msgspec.structs.replace(op, dtype="f32")

        return with_ops(program, change)


class IntermediateNotRounded(ProjectionNotRounded):
    """Keeps the results of elementwise ops in FP32."""

    def dropped(self, op: Op) -> bool:
        return op.op not in ("matmul", *MOVES)


class NothingRounded(ProjectionNotRounded):
    """Rounds outputs only, as a fusing compiler does when nobody stops it."""

    def dropped(self, op: Op) -> bool:
        return True


class InteriorStored(Arithmetic):
    """Stores every FP32 value in FP16."""

    def rewritten(self, program: Program) -> Program:
        return with_ops(program, lambda op: msgspec.structs.replace(op, dtype="f16"))


class ReductionStored(Arithmetic):
    """Stores what a reduction leaves in FP16."""

    def settled(self, op: Op, result: Array) -> Array:
        return half(result) if op.op in ("sum", "mean") else super().settled(op, result)


class ProductsRounded(Ordered):
    """Rounds each product to FP16 before it is added."""

    def computed(self, op: Op, parts: list[Array]) -> Array:
        result = super().computed(op, parts)
        return half(result) if op.op == "square" else result

    def added(self, op: Op, terms: Terms) -> Array:
        if op.op != "matmul":
            return super().added(op, terms)
        return super().added(op, Terms(terms.count, lambda k: half(terms.at(k))))


class BrainOperands(Arithmetic):
    """Feeds a BF16 matrix unit."""

    def contraction(self, op: Op, left: Array, right: Array) -> Array:
        return super().contraction(op, brain(np.ascontiguousarray(left)), brain(np.ascontiguousarray(right)))


class HalfAccumulation(Ordered):
    """Accumulates in FP16."""

    @staticmethod
    def kept(partial: Array) -> Array:
        return half(partial)

    def added(self, op: Op, terms: Terms) -> Array:
        total = self.kept(terms.at(0))
        for k in range(1, terms.count):
            total = self.kept(total + terms.at(k))
        return total


class BrainAccumulation(HalfAccumulation):
    """Accumulates in BF16."""

    @staticmethod
    def kept(partial: Array) -> Array:
        return brain(np.ascontiguousarray(partial))


class TensorFloatPartials(HalfAccumulation):
    """Truncates each partial sum to TF32."""

    @staticmethod
    def kept(partial: Array) -> Array:
        return tensor_float(np.ascontiguousarray(partial))


class PairwiseHalfAccumulation(Ordered):
    """Accumulates in FP16, by halves."""

    def added(self, op: Op, terms: Terms) -> Array:
        return self._between(terms, 0, terms.count)

    def _between(self, terms: Terms, first: int, end: int) -> Array:
        if end - first == 1:
            return half(terms.at(first))
        middle = (first + end) // 2
        return half(self._between(terms, first, middle) + self._between(terms, middle, end))


class HalfMatrixUnit(Ordered):
    """Accumulates in FP16 what four products at a time add up to."""

    def added(self, op: Op, terms: Terms) -> Array:
        total = np.zeros_like(terms.at(0))
        for first in range(0, terms.count, 4):
            group = total.astype(np.float64)
            for k in range(first, min(first + 4, terms.count)):
                group += terms.at(k)
            total = half(group.astype(np.float32))
        return total


class SplitHalf(Arithmetic):
    """Split-K whose four partial sums meet in FP16."""

    def contraction(self, op: Op, left: Array, right: Array) -> Array:
        total = np.zeros((left.shape[0], right.shape[1]), np.float32)
        for part in np.array_split(np.arange(left.shape[1]), 4):
            total = half(total + half(super().contraction(op, left[:, part], right[part])))
        return total


class SubnormalsFlushed(Arithmetic):
    """Writes zero where an FP16 result is subnormal."""

    def settled(self, op: Op, result: Array) -> Array:
        kept = super().settled(op, result)
        return np.where(np.abs(kept) < 2.0**-14, np.float32(0), kept) if op.dtype == "f16" else kept


class OperandsFlushed(Arithmetic):
    """Has a matrix unit that reads subnormal operands as zero."""

    def contraction(self, op: Op, left: Array, right: Array) -> Array:
        kept = [np.where(np.abs(part) < 2.0**-14, np.float32(0), part) for part in (left, right)]
        return super().contraction(op, *kept)


class TowardZero(Arithmetic):
    """Rounds boundaries toward zero."""

    def settled(self, op: Op, result: Array) -> Array:
        if op.dtype != "f16":
            return result
        nearest = result.astype(np.float16)
        beyond = np.abs(nearest.astype(np.float32)) > np.abs(result)
        return np.where(beyond, np.nextafter(nearest, np.float16(0)), nearest).astype(np.float32)


class TiesAway(Arithmetic):
    """Rounds ties at boundaries away from zero."""

    def settled(self, op: Op, result: Array) -> Array:
        if op.dtype != "f16":
            return result
        even = result.astype(np.float16)
        away = np.nextafter(even, np.copysign(np.float16(np.inf), even))
        middle = (even.astype(np.float64) + away.astype(np.float64)) / 2
        return np.where(result == middle, away, even).astype(np.float32)
