"""Mistakes that are none of rounding: what an output looks like when an index, a tile or a sign is wrong.

Each is recognized from the output, the reference and, where it is about operands, the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from tensor_worker.program import Op, Program

from tensor_assets.contract.exact import contract
from tensor_assets.contract.floats import Array, Float64, rounded
from tensor_assets.contract.leaning import leaning
from tensor_assets.contract.oracle import Rule, by_contract, complete, outputs_of, require_inputs

Outputs = Mapping[str, Array]
Mistake = Callable[[Mapping[str, Array], Outputs], Outputs]  # from the inputs and the reference outputs

# A tile or tail is said to be wrong if this share of it is, and all else is right.
_FILLED = 0.5


def wrong_part(different: Array) -> str:
    """Where the mismatches are, if they are some last rows or columns, or one block, and nearly all of it."""
    if different.ndim != 2 or not different.any():
        return ""
    rows, columns = np.flatnonzero(different.any(axis=1)), np.flatnonzero(different.any(axis=0))
    top, bottom, first, last = rows[0], rows[-1], columns[0], columns[-1]
    height, width = different.shape
    block = different[top : bottom + 1, first : last + 1]
    if block.shape == different.shape or np.mean(block) < _FILLED:
        return ""
    whole_rows, whole_columns = block.shape[1] == width, block.shape[0] == height
    if whole_rows and bottom == height - 1:
        return f"last {len(block)} of {height} rows wrong"
    if whole_columns and last == width - 1:
        return f"last {block.shape[1]} of {width} columns wrong"
    return f"only rows {top} to {bottom}, columns {first} to {last} wrong"


def saturating(limit: float) -> Rule:
    """Every FP16 value is kept within ``limit``."""

    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        result = by_contract(op, parts)
        return np.clip(result, -limit, limit) if op.dtype == "f16" else result

    return rule


def mistakes(program: Program, lean: float = 0.0) -> dict[str, Mistake]:
    """For each mistake the outputs it would give; ``lean`` as for ``with_rule``."""
    changed = partial(with_rule, program, lean=lean)
    found: dict[str, Mistake] = {
        "sign flipped": lambda inputs, right: {name: -array for name, array in right.items()},
        "output stored transposed": lambda inputs, right: {
            name: np.ascontiguousarray(np.swapaxes(array, -1, -2)).reshape(array.shape) if array.ndim > 1 else array
            for name, array in right.items()
        },
        "output read with its strides exchanged": lambda inputs, right: {
            name: array.reshape(-1).reshape(array.shape, order="F") for name, array in right.items()
        },
    }
    if len(program.outputs) > 1:
        found["outputs swapped"] = lambda inputs, right: _rotated(right)
    kinds = {op.op for op in program.ops}
    if "matmul" in kinds:
        found["last term of the contraction missing"] = changed(_without_last("matmul"))
    if kinds & {"sum", "mean"}:
        found["last term of the reduction missing"] = changed(_without_last("sum", "mean"))
        if "matmul" in kinds:
            found["last term of every sum missing"] = changed(_without_last("matmul", "sum", "mean"))
    if "matmul" in kinds:
        found["weight read along its other axis"] = changed(_misread)
    for op in program.ops:
        if op.op in ("add", "sub"):
            found[f"{op.name} has the wrong sign"] = changed(_negating(op.name))
    return found


def with_rule(program: Program, rule: Rule, lean: float = 0.0) -> Mistake:
    """The outputs of the oracle with another rule, FP32 values ``lean`` units larger where boundaries read them."""
    applied = leaning(program, rule, lean)

    def outputs(inputs: Mapping[str, Array], right: Outputs) -> Outputs:
        with np.errstate(all="ignore"):
            return outputs_of(program, complete(program, require_inputs(program, inputs), applied))

    return outputs


def _rotated(right: Outputs) -> Outputs:
    names = list(right)
    others = names[1:] + names[:1]
    same = all(right[name].shape == right[other].shape for name, other in zip(names, others, strict=True))
    return {name: right[other] for name, other in zip(names, others, strict=True)} if same else right


def _without_last(*kinds: str) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        if op.op not in kinds:
            return by_contract(op, parts)
        if op.op == "matmul":
            return rounded(contract(parts[0][:, :-1], parts[1][:-1]), op.dtype)
        kept = np.where(np.arange(parts[0].shape[-1]) < parts[0].shape[-1] - 1, parts[0], 0.0)
        return by_contract(op, [kept])

    return rule


def _misread(op: Op, parts: Sequence[Float64]) -> Float64:
    """The right operand's memory read as if its axes were exchanged."""
    if op.op != "matmul":
        return by_contract(op, parts)
    right = np.ascontiguousarray(parts[1]).reshape(parts[1].shape[::-1]).T
    return by_contract(op, [parts[0], right])


def _negating(name: str) -> Rule:
    def rule(op: Op, parts: Sequence[Float64]) -> Float64:
        return by_contract(op, [parts[0], -parts[1]] if op.name == name else parts)

    return rule
