"""Which violation explains what a rejected compiler returned.

Every violation's own reference is computed on some mismatching rows and compared there with what came back. A violation
explains an element that the output or the violation changes if the two agree on it, so it must be right about what it
leaves alone, too. One that would have shown on a fixture that passed is out: a violation by its coverage there, a
mistake by its own outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.contract.floats import Array
from tensor_assets.contract.mistakes import Mistake, mistakes, saturating, with_rule, wrong_part
from tensor_assets.contract.oracle import Values, execute, outputs_of
from tensor_assets.contract.rows import Entangled, carrying_axes, take
from tensor_assets.contract.verdicts import form_of
from tensor_assets.contract.violations import Violation, violations

_ROWS = 8  # of a fixture, compared with each violation
_FIXTURES = 4
_PASSED_ROWS = 64  # of a fixture that passed, on which a mistake would have to show
_CERTAIN = 0.98  # explained share from which nothing else is tried
_HOPEFUL = 0.25  # explained share of the first tiles below which no more are tried
_NAMED = 0.5  # explained share from which a violation is named
_REFUTING = 0.02  # share of a passed fixture that it would have changed, from which it was not this one


class Diagnosis(NamedTuple):
    """The violation's name with its ops where it is not the only one of its name; empty if none was recognized."""

    name: str
    share: float | None


class _Tile(NamedTuple):
    """Some rows of a fixture: the program on them, all its right values, what came back, what should have."""

    program: Program
    values: Values
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
    exact.sort(key=_rightness)
    tiles = [_tile(program, fixture, arrays) for fixture, arrays in exact[:_FIXTURES]]
    broken = _violation(program, tiles, passed)
    if (broken.share or 0.0) >= _CERTAIN:
        return broken
    mistaken = _mistake(program, exact, [fixture for fixture in passed if fixture.exact])
    if mistaken.name:
        return mistaken
    if (broken.share or 0.0) >= _NAMED:
        return broken
    part = _part(program, exact)
    return Diagnosis(part, 1.0) if part else Diagnosis("", broken.share)


def _rightness(run: tuple[BuiltFixture, Mapping[str, Array]]) -> int:
    """Of the most wrong fixtures the first four are compared: where little is wrong, some of it may be chance."""
    fixture, arrays = run
    return sum(int(np.count_nonzero(arrays[name] == right)) for name, right in fixture.reference.items())


def _violation(program: Program, tiles: Sequence[_Tile], passed: Sequence[BuiltFixture]) -> Diagnosis:
    """The violation that explains the largest share; all of its places where several explain it equally."""
    best: list[Violation] = []
    most = 0.0
    known = violations(program)
    for violation in known:
        if any(fixture.coverage.get(violation.title, 0.0) >= _REFUTING for fixture in passed):
            continue
        share = _explained(tiles, (violation.outputs_from(tile.program, tile.values) for tile in tiles))
        if share > most:
            best, most = [violation], share
        elif best and share == most and violation.name == best[0].name:
            best.append(violation)
    if not best:
        return Diagnosis("", None)
    name = best[0].name
    alone = [violation.name for violation in known].count(name) == len(best)
    places = " or ".join(", ".join(violation.ops) for violation in best)
    return Diagnosis(name if alone else f"{name}: {places}", most)


def _mistake(
    program: Program, wrong: Sequence[tuple[BuiltFixture, Mapping[str, Array]]], passed: Sequence[BuiltFixture]
) -> Diagnosis:
    """A mistake of indices or tiles, recognized on whole outputs: its rows need not be alike."""
    some = wrong[:_FIXTURES]
    tiles = [_Tile(program, {}, arrays, fixture.reference) for fixture, arrays in some]
    limit = _limit(wrong)
    for name, outputs in _mistakes(program, limit).items():
        share = _explained(tiles, (outputs(fixture.inputs, fixture.reference) for fixture, _ in some))
        if share >= _CERTAIN and not any(_shows(program, name, limit, fixture) for fixture in passed):
            return Diagnosis(name, share)
    return Diagnosis("", None)


def _mistakes(program: Program, limit: float | None) -> dict[str, Mistake]:
    found = mistakes(program)
    if limit:
        found[f"saturated at {limit:g}"] = lambda inputs, right: {
            name: np.clip(array, -limit, limit).astype(array.dtype) for name, array in right.items()
        }
        found[f"every value saturated at {limit:g}"] = with_rule(program, saturating(limit))
    return found


def _limit(wrong: Sequence[tuple[BuiltFixture, Mapping[str, Array]]]) -> float | None:
    """The largest magnitude that came back, if larger ones should have."""
    came = max(float(np.abs(array).max(initial=0.0)) for _, arrays in wrong for array in arrays.values())
    right = max(float(np.abs(array).max(initial=0.0)) for fixture, _ in wrong for array in fixture.reference.values())
    return came if came < right else None


def _shows(program: Program, name: str, limit: float | None, fixture: BuiltFixture) -> bool:
    """Whether the mistake would have changed an answer that was right, by more than chance at a rounding."""
    cut, inputs, right = program, dict(fixture.inputs), fixture.reference
    rows = range(min(_PASSED_ROWS, right[program.outputs[0]].shape[-2:][0]))
    try:
        cut, inputs = take(program, inputs, rows)
        right = {output: array[..., : len(rows), :] for output, array in right.items()}
    except Entangled:
        pass
    outputs = _mistakes(cut, limit)[name](inputs, right)
    return any(float(np.mean(outputs[output] != array)) >= _REFUTING for output, array in right.items())


def _part(program: Program, wrong: Sequence[tuple[BuiltFixture, Mapping[str, Array]]]) -> str:
    """Where all mismatches of all fixtures are, if that is one part: an element may be right by chance on some.

    One fixture alone may be wrong in one part by chance.
    """
    found: set[str] = set()
    if len(wrong) < 2:
        return ""
    for name in program.outputs:
        different = np.logical_or.reduce([arrays[name] != fixture.reference[name] for fixture, arrays in wrong])
        if different.any():
            found.add(wrong_part(different))
    return found.pop() if len(found) == 1 else ""


def _arrays(program: Program, outputs: Mapping[str, object]) -> dict[str, Array] | None:
    if any(form_of(program, name, outputs) for name in program.outputs):
        return None
    return {name: array for name in program.outputs if isinstance(array := outputs[name], np.ndarray)}


def _tile(program: Program, fixture: BuiltFixture, arrays: Mapping[str, Array]) -> _Tile:
    """The rows with the most mismatches."""
    try:
        carrying_axes(program)
        different = sum(_per_row(arrays[name] != fixture.reference[name]) for name in program.outputs)
        rows = np.sort(np.argsort(-np.asarray(different), kind="stable")[:_ROWS])
        cut, inputs = take(program, fixture.inputs, [int(row) for row in rows])
    except Entangled:
        return _Tile(program, execute(program, fixture.inputs), arrays, fixture.reference)
    values = execute(cut, inputs)
    return _Tile(cut, values, {name: arrays[name][..., rows, :] for name in arrays}, outputs_of(cut, values))


def _per_row(different: Array) -> Array:
    axes = tuple(axis for axis in range(different.ndim) if axis != different.ndim - 2)
    counted: Array = different.sum(axis=axes)
    return counted


def _explained(tiles: Sequence[_Tile], candidates: Iterable[Mapping[str, Array]]) -> float:
    """Of the elements that the output or the candidate changes, the share on which they agree.

    Candidates are made one tile at a time; one that fails on the first tiles is made for no more.
    """
    agreed = changed = 0
    for tile, candidate in zip(tiles, candidates, strict=True):
        for name in tile.right:
            output, right, other = tile.output[name], tile.right[name], candidate[name]
            different = (output != right) | (other != right)
            changed += int(np.count_nonzero(different))
            agreed += int(np.count_nonzero(different & ((output == other) | (np.isnan(output) & np.isnan(other)))))
        if agreed < _HOPEFUL * changed:
            break
    return agreed / changed if changed else 0.0
