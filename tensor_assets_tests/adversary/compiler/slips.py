"""Wrong compilers that read, place or combine the wrong things, exactly."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from tensor_worker.program import Op, Program

from .arithmetic import Arithmetic, Array, with_ops

LARGEST_KEPT = np.float16(448)  # of FP8 E4M3


class EpilogueReordered(Arithmetic):
    """Computes (p + b) + r as p + (b + r): fewer reads of the larger operand."""

    def rewritten(self, program: Program) -> Program:
        for inner, outer in chained_sums(program):
            late = outer.of[1] if outer.of[0] == inner.name else outer.of[0]
            shape = np.broadcast_shapes(*(program.value(str(part)).shape for part in (inner.of[1], late)))
            first = msgspec.structs.replace(inner, of=(inner.of[1], late), shape=shape)
            second = msgspec.structs.replace(outer, of=(inner.of[0], inner.name))
            changed = {inner.name: first, outer.name: second}
            program = with_ops(program, lambda op, changed=changed: changed.get(op.name, op))
        return program


class LastTermMissing(Arithmetic):
    """Stops one short of the end of every sum."""

    def contraction(self, op: Op, left: Array, right: Array) -> Array:
        return super().contraction(op, left[:, :-1], right[:-1])

    def total(self, op: Op, values: Array) -> Array:
        return super().total(op, values[..., :-1])


class WeightMisread(Arithmetic):
    """Takes the right operand's memory for its transpose's."""

    def contraction(self, op: Op, left: Array, right: Array) -> Array:
        misread = np.ascontiguousarray(right).reshape(right.shape[::-1]).T
        return super().contraction(op, left, misread)


class SumNegated(Arithmetic):
    """Subtracts where the program adds, and the other way around, in the first op that does either."""

    def rewritten(self, program: Program) -> Program:
        first = next((op.name for op in program.ops if op.op in ("add", "sub")), "")
        other = {"add": "sub", "sub": "add"}
        return with_ops(program, lambda op: msgspec.structs.replace(op, op=other[op.op]) if op.name == first else op)


class ResultNegated(Arithmetic):
    """Returns minus the answer."""

    def outputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        return {name: -array for name, array in super().outputs(inputs).items()}


class Saturated(Arithmetic):
    """Keeps results within the range of FP8."""

    def outputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        right = super().outputs(inputs)
        return {name: np.clip(array, -LARGEST_KEPT, LARGEST_KEPT) for name, array in right.items()}


class NanOnZeros(Arithmetic):
    """Scales each row by its largest magnitude and back, which is 0/0 for a row of zeros."""

    def outputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        largest = np.abs(inputs[self.program.inputs[0].name].astype(np.float32)).max(axis=-1, keepdims=True)
        with np.errstate(all="ignore"):
            scale = largest / largest
        return {name: (array * scale).astype(array.dtype) for name, array in super().outputs(inputs).items()}


class MaximumKept(Arithmetic):
    """A softmax that does not subtract the maximum first: the same quotients until an exponential overflows."""

    def rewritten(self, program: Program) -> Program:
        largest = {op.name for op in program.ops if op.op == "max"}
        return with_ops(
            program,
            lambda op: (
                msgspec.structs.replace(op, of=(op.of[0], 0.0)) if op.op == "sub" and op.of[1] in largest else op
            ),
        )


class ActivationMissing(Arithmetic):
    """Forgets to clamp."""

    def computed(self, op: Op, parts: list[Array]) -> Array:
        return parts[0] if op.op == "relu" else super().computed(op, parts)


class EpilogueShifted(Arithmetic):
    """Reads what it adds or multiplies with one element too late."""

    def computed(self, op: Op, parts: list[Array]) -> Array:
        if op.op in ("add", "mul") and parts[1].ndim:
            parts = [parts[0], np.roll(parts[1], -1, axis=-1)]
        return super().computed(op, parts)


class NumberForgotten(Arithmetic):
    """Leaves out what is a number in the program, such as a norm's epsilon."""

    share = 0.0

    def rewritten(self, program: Program) -> Program:
        def change(op: Op) -> Op:
            return msgspec.structs.replace(
                op, of=tuple(part if isinstance(part, str) else part * self.share for part in op.of)
            )

        return with_ops(program, change)


class NumberWrong(NumberForgotten):
    """Takes a tenth of it."""

    share = 0.1


class OutputsSwapped(Arithmetic):
    """Hands out each output under the next one's name."""

    def outputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        right = super().outputs(inputs)
        names = list(right)
        return {name: right[other] for name, other in zip(names, names[1:] + names[:1], strict=True)}


def chained_sums(program: Program) -> list[tuple[Op, Op]]:
    """FP16 sums whose operand is an FP16 sum."""
    sums = {op.name: op for op in program.ops if op.op == "add" and op.dtype == "f16"}
    return [(sums[str(part)], op) for op in sums.values() for part in op.of if part in sums]
