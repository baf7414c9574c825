"""Which violation explains what a rejected compiler returned.

Every violation's own reference is computed on some mismatching rows and compared there with what came back. A violation
explains an element that the output or the violation changes if the two agree on it, so it must be right about what it
leaves alone, too. One that would have shown on a fixture that passed is out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.contract.floats import Array
from tensor_assets.contract.mistakes import mistakes, wrong_part
from tensor_assets.contract.oracle import evaluate
from tensor_assets.contract.rows import Entangled, take_rows
from tensor_assets.contract.verdicts import form_of
from tensor_assets.contract.violations import violations

_ROWS = 8  # of a fixture, compared with each violation
_FIXTURES = 4
_NAMED = 0.5  # explained share from which a violation is named
_REFUTING = 0.02  # coverage from which a passed fixture says that it was not this violation


class Diagnosis(NamedTuple):
    """The violation's name with its ops where it is not the only one of its name; empty if none was recognized."""

    name: str
    share: float | None


class _Tile(NamedTuple):
    program: Program
    inputs: Mapping[str, Array]
    output: Mapping[str, Array]
    right: Mapping[str, Array]


def diagnose(
    program: Program, wrong: Sequence[tuple[BuiltFixture, Mapping[str, object]]], passed: Sequence[BuiltFixture]
) -> Diagnosis:
    """The violation or mistake that explains most of the wrong elements, if it explains at least half."""
    comparable = [(fixture, _arrays(program, outputs)) for fixture, outputs in wrong]
    exact = [(fixture, arrays) for fixture, arrays in comparable if fixture.exact and arrays is not None]
    if not exact:
        return Diagnosis("", None)
    whole = _whole_mistake(program, exact)
    if whole.name:
        return whole
    tiles = [_tile(program, fixture, arrays) for fixture, arrays in exact[:_FIXTURES]]
    best = Diagnosis("", None)
    names = [violation.name for violation in violations(program)]
    for index, violation in enumerate(violations(program)):
        if any(fixture.coverage.get(violation.title, 0.0) >= _REFUTING for fixture in passed):
            continue
        share = _explained(tiles, [violation.outputs(tile.program, tile.inputs) for tile in tiles])
        if share > (best.share or 0.0):
            several = names.count(names[index]) > 1
            best = Diagnosis(violation.title if several else violation.name, share)
    return best if best.share is not None and best.share >= _NAMED else Diagnosis("", best.share)


def _whole_mistake(program: Program, wrong: Sequence[tuple[BuiltFixture, Mapping[str, Array]]]) -> Diagnosis:
    """A mistake of indices or tiles: recognized on whole outputs, where violations of rounding are told on rows."""
    for name, outputs in mistakes(program).items():
        tiles = [_Tile(program, fixture.inputs, arrays, fixture.reference) for fixture, arrays in wrong[:_FIXTURES]]
        share = _explained(tiles, [outputs(tile.inputs, tile.right) for tile in tiles])
        if share >= 0.99:
            return Diagnosis(name, share)
    parts = {
        wrong_part(arrays[name], fixture.reference[name])
        for fixture, arrays in wrong
        for name in program.outputs
        if not np.array_equal(arrays[name], fixture.reference[name])
    }
    return Diagnosis(parts.pop(), 1.0) if len(parts) == 1 and "" not in parts else Diagnosis("", None)


def _arrays(program: Program, outputs: Mapping[str, object]) -> dict[str, Array] | None:
    if any(form_of(program, name, outputs) for name in program.outputs):
        return None
    return {name: array for name in program.outputs if isinstance(array := outputs[name], np.ndarray)}


def _tile(program: Program, fixture: BuiltFixture, arrays: Mapping[str, Array]) -> _Tile:
    """The rows with the most mismatches."""
    different = sum(_per_row(arrays[name] != fixture.reference[name]) for name in program.outputs)
    rows = np.sort(np.argsort(-np.asarray(different), kind="stable")[:_ROWS])
    try:
        cut, inputs = take_rows(program, fixture.inputs, [int(row) for row in rows])
    except Entangled:
        return _Tile(program, fixture.inputs, arrays, fixture.reference)
    return _Tile(cut, inputs, {name: arrays[name][..., rows, :] for name in arrays}, evaluate(cut, inputs))


def _per_row(different: Array) -> Array:
    axes = tuple(axis for axis in range(different.ndim) if axis != different.ndim - 2)
    counted: Array = different.sum(axis=axes)
    return counted


def _explained(tiles: Sequence[_Tile], candidates: Sequence[Mapping[str, Array]]) -> float:
    """Of the elements that the output or the candidate changes, the share on which they agree."""
    agreed = changed = 0
    for tile, candidate in zip(tiles, candidates, strict=True):
        for name in tile.right:
            output, right, other = tile.output[name], tile.right[name], candidate[name]
            different = (output != right) | (other != right)
            changed += int(np.count_nonzero(different))
            agreed += int(np.count_nonzero(different & ((output == other) | (np.isnan(output) & np.isnan(other)))))
    return agreed / changed if changed else 0.0
