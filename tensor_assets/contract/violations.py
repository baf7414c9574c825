"""Named ways to break the contract, each with its own reference outputs.

A violation is the oracle with one rule changed. Its outputs say what a compiler that breaks the contract in that way
would return: fixtures are measured against them (coverage), and a rejected output is compared with them (diagnosis).
Where a violation depends on an order of summation, its reference uses one order, named in its summary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np
from tensor_worker.program import Op, Program

from tensor_assets.contract.accumulate import Order, accumulated, bf16, by_halves, f16, in_fours, in_sequence, tf32
from tensor_assets.contract.exact import contract
from tensor_assets.contract.floats import Array, Float64, bfloat16, rounded, ties_away16, toward_zero16
from tensor_assets.contract.leaning import leaning
from tensor_assets.contract.oracle import Rule, Values, by_contract, complete, exact_result, execute, outputs_of

# Results of these are operands' own values: they commute with rounding, so a missing rounding passes through them.
MOVES = ("transpose", "relu", "max")

_SPLITS = 4


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One violation of one program. ``ops`` are where it happens; ``rule`` is the oracle's rule, changed.

    ``combined``: at several places at once, each of which is a violation of its own in the list.
    """

    name: str
    ops: tuple[str, ...]
    summary: str
    rule: Rule
    combined: bool = False

    @property
    def title(self) -> str:
        return f"{self.name}: {', '.join(self.ops)}"

    def outputs(self, program: Program, inputs: Mapping[str, Array], lean: float = 0.0) -> dict[str, Array]:
        """What a compiler with this violation returns (FP64 work of every op: cut rows first for large programs).

        ``lean``: with FP32 values as many units larger where boundaries read them.
        """
        return self.outputs_from(program, execute(program, inputs), lean)

    def outputs_from(self, program: Program, right: Values, lean: float = 0.0) -> dict[str, Array]:
        """As ``outputs``, from the right values: only those that depend on ``ops`` are computed anew."""
        changed: set[str | float] = set(self.ops)
        for op in program.ops:
            if changed & set(op.of):
                changed.add(op.name)
        known = {name: value for name, value in right.items() if name not in changed}
        with np.errstate(all="ignore"):
            return outputs_of(program, complete(program, known, leaning(program, self.rule, lean)))

    def answering(self, program: Program, lean: float) -> Callable[[Mapping[str, Array], object], dict[str, Array]]:
        """``outputs`` as a function of the inputs."""
        return lambda inputs, right: self.outputs(program, inputs, lean)


def violations(program: Program) -> tuple[Violation, ...]:
    """The violations that can change an output of ``program``, the most specific first."""
    found: list[Violation] = []
    projections = [op.name for op in program.ops if op.op == "matmul"]
    found += _unrounded(program)
    found += _everywhere("product rounded", _products(program), "each product is rounded to FP16", _rounding_products)
    found += _everywhere("BF16 operands", projections, "operands are rounded to BF16", _bf16_operands)
    sums = [op.name for op in program.ops if op.op in ("matmul", "sum", "mean")]
    for name, rounding, order, summary in (
        ("FP16 accumulation", f16, in_sequence, "partial sums are rounded to FP16, one term after the other"),
        ("FP16 accumulation by halves", f16, by_halves, "partial sums are rounded to FP16, in a tree of halves"),
        ("FP16 accumulation in fours", f16, in_fours, "FP16 accumulators take four terms at once"),
        ("BF16 accumulation", bf16, in_sequence, "partial sums are rounded to BF16, one term after the other"),
        ("TF32 partial sums", tf32, in_sequence, "partial sums are truncated to TF32, one term after the other"),
    ):
        rule = partial(_accumulating, rounding=rounding, order=order)
        found += _everywhere(name, sums, summary, rule)
    found += _everywhere("split-K in FP16", projections, "four partial sums are stored in FP16 and added", _splitting)
    found += _interior(program)
    found += _reordered(program)
    found += _flushed(program)
    found += _misrounded(program)
    found += _everywhere("subnormal operands flushed", projections, "subnormal operands are read as zero", _flushing)
    found += _numberless(program)
    found += _unshifted(program)
    return tuple(found)


def _unrounded(program: Program) -> list[Violation]:
    """An FP16 value that its readers see before it is rounded."""
    found: list[Violation] = []
    late = [op for op in program.ops if op.dtype == "f16" and op.op not in MOVES and _read_unrounded(program, op.name)]
    projections = [op.name for op in late if op.op == "matmul"]
    others = [op.name for op in late if op.op != "matmul"]
    for name, ops in (("projection not rounded", projections), ("intermediate not rounded", others)):
        summary = "readers see the value in FP32"
        found += _everywhere(name, ops, summary, lambda names: _skipping(program, names))
    if projections and others:
        both = tuple(op.name for op in late)
        summary = "nothing but outputs is rounded"
        rule = _skipping(program, both)
        found.append(Violation(name="no boundary rounded", ops=both, summary=summary, rule=rule, combined=True))
    return found


def _read_unrounded(program: Program, name: str) -> bool:
    """Whether a value that is not rounded reaches an op that computes with it, directly or through moves."""
    carried = _carried(program, [name])
    return any(op.op not in MOVES and carried & set(op.of) for op in program.ops)


def _carried(program: Program, names: Iterable[str]) -> set[str | float]:
    carried: set[str | float] = set(names)
    for op in program.ops:
        if op.op in MOVES and op.of[0] in carried:
            carried.add(op.name)
    return carried


def _skipping(program: Program, names: tuple[str, ...]) -> Rule:
    carried = _carried(program, names)

    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        return rounded(exact_result(op, parts), "f32") if op.name in carried else by_contract(op, parts)

    return rule


def _products(program: Program) -> list[str]:
    summed = {part for op in program.ops if op.op in ("sum", "mean") for part in op.of}
    squares = [op.name for op in program.ops if op.op in ("square", "mul") and op.dtype == "f32" and op.name in summed]
    return [op.name for op in program.ops if op.op == "matmul"] + squares


def _rounding_products(names: tuple[str, ...]) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        if op.name not in names:
            return by_contract(op, parts)
        if op.op != "matmul":
            return rounded(exact_result(op, parts), "f16")
        left, right = parts
        columns = right.T.astype(np.float32)  # products of FP16 values are exact in FP32, sums of FP16 values in FP64
        sums = [f16(row.astype(np.float32) * columns).sum(axis=-1, dtype=np.float64) for row in left]
        return rounded(np.stack(sums), op.dtype)

    return rule


def _bf16_operands(names: tuple[str, ...]) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        if op.name not in names:
            return by_contract(op, parts)
        return rounded(contract(bfloat16(parts[0]), bfloat16(parts[1])), op.dtype)

    return rule


def _accumulating(names: tuple[str, ...], rounding: Callable[[Array], Array], order: Order) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        if op.name not in names:
            return by_contract(op, parts)
        sums = accumulated(op, parts, rounding, order)
        return rounded(sums / parts[0].shape[-1] if op.op == "mean" else sums, op.dtype)

    return rule


def _splitting(names: tuple[str, ...]) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        if op.name not in names:
            return by_contract(op, parts)
        left, right = parts
        sums = np.zeros((left.shape[0], right.shape[1]))
        for cut in np.array_split(np.arange(left.shape[1]), _SPLITS):
            sums = rounded(sums + rounded(contract(left[:, cut], right[cut]), "f16"), "f16")
        return sums

    return rule


def _interior(program: Program) -> list[Violation]:
    """An FP32 value that is stored in FP16. The maximum of FP16 values is one of them: nothing to lose."""
    exact = {value.name for value in program.inputs if value.dtype == "f16"}
    inside: list[str] = []
    for op in program.ops:
        if op.dtype == "f16" or (op.op in MOVES and set(op.of) <= exact):
            exact.add(op.name)
        elif op.name not in program.outputs:
            inside.append(op.name)
    name, summary = "interior rounded to FP16", "an FP32 value is stored in FP16"
    products = _products(program)
    found = _everywhere(name, [op for op in inside if op not in products], summary, _narrowing)
    if set(inside) & set(products):  # each of those alone is "product rounded"
        every = tuple(inside)
        found.append(Violation(name=name, ops=every, summary=summary, rule=_narrowing(every), combined=True))
    return found


def _narrowing(names: tuple[str, ...]) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        result = by_contract(op, parts)
        return rounded(result, "f16") if op.name in names else result

    return rule


def _reordered(program: Program) -> list[Violation]:
    """(p + b) + r computed as p + (b + r): FP16 addition is not associative."""
    found: list[Violation] = []
    by_name = {op.name: op for op in program.ops}
    for op in program.ops:
        for index, part in enumerate(op.of):
            inner = by_name.get(str(part))
            if op.op not in ("add", "mul") or inner is None or inner.op != op.op or inner.dtype != "f16":
                continue
            summary = f"{inner.name} and {op.name} are associated the other way"
            rule = _associating(inner.name, op.name, index)
            found.append(
                Violation(name="epilogue order changed", ops=(inner.name, op.name), summary=summary, rule=rule)
            )
    return found


def _associating(inner: str, outer: str, index: int) -> Rule:
    first: list[Float64] = []

    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        if op.name == inner:
            first[:] = parts
        if op.name == outer:
            late = by_contract(op, [first[1], parts[1 - index]])
            return by_contract(op, [first[0], late])
        return by_contract(op, parts)

    return rule


def _flushed(program: Program) -> list[Violation]:
    names = tuple(op.name for op in program.ops if op.dtype == "f16")

    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        result = by_contract(op, parts)
        return np.where(np.abs(result) < 2.0**-14, 0.0, result) if op.name in names else result

    summary = "FP16 subnormal results become zero"
    return [Violation(name="subnormals flushed", ops=names, summary=summary, rule=rule)] if names else []


def _flushing(names: tuple[str, ...]) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        kept = [np.where(np.abs(part) < 2.0**-14, 0.0, part) for part in parts] if op.name in names else parts
        return by_contract(op, kept)

    return rule


def _numberless(program: Program) -> list[Violation]:
    """A number of the program that is left out, such as a norm's epsilon."""
    names = tuple(op.name for op in program.ops if op.op in ("add", "sub") and not isinstance(op.of[1], str))

    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        return by_contract(op, [parts[0], np.zeros_like(parts[1])] if op.name in names else parts)

    return [Violation(name="number left out", ops=names, summary="added numbers are zero", rule=rule)] if names else []


def _misrounded(program: Program) -> list[Violation]:
    """Boundaries rounded otherwise than to nearest even, all of them at once.

    A tie in an FP32 value that may itself be a unit off has two legal values: nothing can be said there.
    """
    wide = {op.name for op in program.ops if op.dtype == "f32"}
    boundaries = tuple(op.name for op in program.ops if op.dtype == "f16" and op.op not in MOVES)
    decided = tuple(op.name for op in program.ops if op.name in boundaries and not wide & set(op.of))
    found: list[Violation] = []
    for name, ops, convert in (
        ("rounded toward zero", boundaries, toward_zero16),
        ("ties rounded away", decided, ties_away16),
    ):
        if ops:
            summary = f"boundaries are {name}" if name.startswith("rounded") else "ties at boundaries go away from zero"
            found.append(Violation(name=name, ops=ops, summary=summary, rule=_converting(ops, convert)))
    return found


def _converting(names: tuple[str, ...], convert: Callable[[Float64], Float64]) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        if op.name not in names:
            return by_contract(op, parts)
        return convert(rounded(exact_result(op, parts), "f32"))

    return rule


def _unshifted(program: Program) -> list[Violation]:
    """A softmax without its maximum: the same quotients until an exponential overflows or all of them vanish."""
    largest = {op.name for op in program.ops if op.op == "max"}
    shifted = tuple(op.name for op in program.ops if op.op == "sub" and op.of[1] in largest)

    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        return by_contract(op, [parts[0], np.zeros_like(parts[1])] if op.name in shifted else parts)

    summary = "exponents are not shifted by their maximum"
    return [Violation(name="maximum not subtracted", ops=shifted, summary=summary, rule=rule)] if shifted else []


def _everywhere(
    name: str, ops: Sequence[str], summary: str, rule: Callable[[tuple[str, ...]], Rule]
) -> list[Violation]:
    """The violation at each of ``ops`` alone, and at all of them where there are several."""
    found = [Violation(name=name, ops=(op,), summary=summary, rule=rule((op,))) for op in ops]
    if len(ops) > 1:
        found.append(Violation(name=name, ops=tuple(ops), summary=summary, rule=rule(tuple(ops)), combined=True))
    return found
