"""What a wrong program may legally answer where its own FP32 values are some units off.

A fixture's rows are drawn so that units in an FP32 value decide nothing about the *right* answer. About the answer of a
program that is wrong they may: one FP16 value that falls to the other side of a tie changes a whole row behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensor_worker.program import Op, Program

from tensor_assets.contract.floats import Float64
from tensor_assets.contract.oracle import Rule

_UNITS = 16.0  # as many as rows of norms are drawn to bear
_F32_UNIT = 2.0**-23  # of a value's binade, at most


def leans(program: Program) -> tuple[float, ...]:
    """Units by which FP32 values are to lean to see what may come of it: none, and either way where there are any."""
    return (0.0, -_UNITS, _UNITS) if any(op.dtype == "f32" for op in program.ops) else (0.0,)


def leaning(program: Program, rule: Rule, lean: float) -> Rule:
    """``rule``, but what a boundary computes from an FP32 value it computes from one that is ``lean`` units larger."""
    wide = {op.name for op in program.ops if op.dtype == "f32"}

    def leant(op: Op, parts: Sequence[Float64]) -> Float64:
        first = next((index for index, part in enumerate(op.of) if part in wide), None)
        if op.dtype != "f16" or first is None:
            return rule(op, parts)
        moved = [part * (1.0 + lean * _F32_UNIT) if index == first else part for index, part in enumerate(parts)]
        return rule(op, moved)

    return leant if lean else rule
