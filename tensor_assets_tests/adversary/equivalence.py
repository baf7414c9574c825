"""Proofs that a wrong compiler is right about a program: one sentence each, or nothing where it may be wrong."""

from __future__ import annotations

from collections.abc import Callable

from tensor_worker.program import Op, Program

from tensor_assets_tests.adversary.compiler.arithmetic import MOVES
from tensor_assets_tests.adversary.compiler.slips import chained_sums

Proof = Callable[[Program], str]


def never(program: Program) -> str:
    return ""


def without(kinds: tuple[str, ...], what: str) -> Proof:
    """What only changes ops of some kinds changes nothing where there are none."""

    def proof(program: Program) -> str:
        return "" if any(op.op in kinds for op in program.ops) else f"there is no {what}"

    return proof


def nothing_reads(kept: Callable[[Op], bool], what: str) -> Proof:
    """A value that is only moved until it is an output is rounded there: rounding commutes with moves and is
    idempotent."""

    def proof(program: Program) -> str:
        names = [op.name for op in program.ops if op.dtype == "f16" and op.op not in MOVES and kept(op)]
        if not names:
            return f"there is no {what}"
        reached = any(_computing_readers(program, name) for name in names)
        return "" if reached else f"nothing computes with {' or '.join(names)} before it is rounded as an output"

    return proof


def interior_is_exact(program: Program) -> str:
    """FP32 values that are FP16 values already lose nothing."""
    return "" if any(op.dtype == "f32" for op in program.ops) else "every value is declared FP16"


def no_products(program: Program) -> str:
    squares = [op for op in program.ops if op.op == "square" and op.dtype == "f32"]
    sums = any(op.op == "matmul" for op in program.ops) or squares
    return "" if sums else "no sum has products for terms"


def no_chained_sums(program: Program) -> str:
    return "" if chained_sums(program) else "no sum of FP16 values is an operand of another"


def no_numbers(program: Program) -> str:
    numbers = any(not isinstance(part, str) for op in program.ops for part in op.of)
    return "" if numbers else "no operand is a number"


def one_output(program: Program) -> str:
    return "" if len(program.outputs) > 1 else "there is one output"


def bounded_results(program: Program) -> str:
    """A softmax: each quotient is of one of the terms and the sum of all, none of them negative."""
    ops = {op.name: op for op in program.ops}
    last = ops[program.outputs[0]]
    whole = ops.get(str(last.of[-1]))
    quotient = last.op == "div" and whole is not None and whole.op == "sum" and whole.of[0] == last.of[0]
    alone = all(op.dtype == "f32" for op in program.ops if op is not last)
    positive = quotient and ops[str(last.of[0])].op == "exp"
    return "every FP16 result is a share of a sum, at most 1" if positive and alone else ""


def undecided_ties(program: Program) -> str:
    """A tie between FP16 values in an FP32 result whose operand may legally be one unit off, to either side."""
    interior = {op.name for op in program.ops if op.dtype == "f32"}
    inexact = interior & {op.name for op in program.ops if op.op in ("exp", "rsqrt", "div", "mul")}
    boundaries = [op for op in program.ops if op.dtype == "f16" and op.op not in MOVES]
    ambiguous = all(op.op in ("div", "mul") and inexact & set(op.of) for op in boundaries)
    reason = (
        "each boundary rounds an FP32 result that may be a unit off to either side, so both sides of a tie are legal"
    )
    return reason if ambiguous else ""


def _computing_readers(program: Program, name: str) -> list[str]:
    """Ops that compute with ``name``, directly or through moves."""
    carried: set[str | float] = {name}
    found: list[str] = []
    for op in program.ops:
        if not carried & set(op.of):
            continue
        if op.op in MOVES:
            carried.add(op.name)
        else:
            found.append(op.name)
    return found
