"""A workload with its shapes filled in: what a worker is asked to compile."""

from __future__ import annotations

from typing import Literal

import msgspec

Dtype = Literal["f16", "f32"]

OpName = Literal[
    "transpose", "matmul", "add", "sub", "mul", "div", "relu", "exp", "square", "rsqrt", "max", "sum", "mean",
]  # fmt: skip


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named input array. ``shape`` counts elements per axis, outermost first."""

    name: str
    shape: tuple[int, ...]
    dtype: Dtype


class Op(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One named value of the program.

    ``of`` names inputs or earlier ops; a number stands for itself, exactly. Operands are widened to FP32, contractions
    and reductions accumulate in FP32, and the result is rounded to ``dtype``: an ``f16`` op is a boundary, an ``f32``
    op is interior. Binary ops broadcast as NumPy does; ``transpose`` swaps two axes; ``max``, ``sum`` and ``mean``
    reduce the last axis and keep it with length one.
    """

    name: str
    op: OpName
    of: tuple[str | float, ...]
    shape: tuple[int, ...]
    dtype: Dtype


class Program(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workload at one shape, in execution order. ``outputs`` name ops, in the order they are returned.

    The last two fields are for whoever judges, a compiler may ignore them: ``tolerance`` is the documents' fixed check
    (absolute, relative), and ``signed_zero`` asks that -0 and +0 differ (a contraction that is zero is +0).
    """

    workload: str
    shape: str
    inputs: tuple[Value, ...]
    ops: tuple[Op, ...]
    outputs: tuple[str, ...]
    tolerance: tuple[float, float] = (2e-4, 2e-3)
    signed_zero: bool = False

    def values(self) -> tuple[Value | Op, ...]:
        """Every named value, inputs first, in execution order."""
        return self.inputs + self.ops

    def value(self, name: str) -> Value | Op:
        """The input or op called ``name``; KeyError if the program has none."""
        for value in self.values():
            if value.name == name:
                return value
        have = ", ".join(value.name for value in self.values())
        raise KeyError(f"{name!r} is no value of {self.workload} (have: {have})")
