"""Which violation explains what a rejected compiler returned.

Every violation's own reference is computed on some mismatching rows and compared there with what came back. A violation
explains an element that the output or the violation changes if the two agree on it, so it must be right about what it
leaves alone, too. One that would have shown on a fixture that passed is out: a violation by its coverage there, a
mistake by its own outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.contract.floats import Array
from tensor_assets.contract.leaning import leans
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

# From a program, perhaps some rows of the whole one, and a lean: what it would answer.
Answering = Callable[[Program, float], Mistake]


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
    """The violation that explains most and would not have shown on a fixture that passed."""
    known = violations(program)
    doubtful = [one for one in known if _against_most(one, passed) >= _REFUTING]
    titles = {one.title for one in doubtful}
    found, share = _most_explaining([one for one in known if one.title not in titles], known, tiles, passed)
    if share >= _CERTAIN or len(leans(program)) == 1:
        return _named(found, known, share)
    # Coverage was measured with the oracle's FP32 values: where they lean, a violation may not have shown after all.
    exact = [fixture for fixture in passed if fixture.exact]
    for violation in doubtful:
        explained = _explained_by(violation, tiles)
        if explained >= _CERTAIN and not any(_shows(program, violation.answering, fixture) for fixture in exact):
            return _named([violation], known, explained)
    return _named(found, known, share)


def _against_most(violation: Violation, passed: Sequence[BuiltFixture]) -> float:
    """The largest share of a fixture that passed which the violation would have changed."""
    return max((fixture.coverage.get(violation.title, 0.0) for fixture in passed), default=0.0)


def _most_explaining(
    candidates: Sequence[Violation], known: Sequence[Violation], tiles: Sequence[_Tile], passed: Sequence[BuiltFixture]
) -> tuple[list[Violation], float]:
    """The violation that explains the largest share, and that share; all of its places that explain it equally.

    Of different ones that do, it is the one that would have changed least of what came back right.
    """
    best: list[Violation] = []
    most, least = 0.0, 0.0
    for violation in candidates:
        share, against = _explained_by(violation, tiles), _against(violation, known, passed)
        if share > most or (best and share == most and against < least):
            best, most, least = [violation], share, against
        elif best and (share, against, violation.name) == (most, least, best[0].name):
            best.append(violation)
    return best, most


def _explained_by(violation: Violation, tiles: Sequence[_Tile]) -> float:
    return _explained(
        tiles, ([violation.outputs_from(t.program, t.values, lean) for lean in leans(t.program)] for t in tiles)
    )


def _named(best: Sequence[Violation], known: Sequence[Violation], share: float) -> Diagnosis:
    if not best:
        return Diagnosis("", None)
    name = best[0].name
    alone = [violation.name for violation in known].count(name) == len(best)
    places = " or ".join(", ".join(violation.ops) for violation in best)
    return Diagnosis(name if alone else f"{name}: {places}", share)


def _against(violation: Violation, known: Sequence[Violation], passed: Sequence[BuiltFixture]) -> float:
    """How much of what came back right the violation would have changed, in fixtures.

    Of a combined one only its parts were measured: as much as they would have, and nothing is known without any.
    """
    parts = [one.title for one in known if one.name == violation.name and set(one.ops) <= set(violation.ops)]
    measured = [title for title in parts if any(title in fixture.coverage for fixture in passed)]
    if not measured:
        return math.inf if violation.combined else 0.0
    return sum(max(fixture.coverage.get(title, 0.0) for title in measured) for fixture in passed)


def _mistake(
    program: Program, wrong: Sequence[tuple[BuiltFixture, Mapping[str, Array]]], passed: Sequence[BuiltFixture]
) -> Diagnosis:
    """A mistake of indices or tiles, recognized on whole outputs: its rows need not be alike."""
    some = wrong[:_FIXTURES]
    tiles = [_Tile(program, {}, arrays, fixture.reference) for fixture, arrays in some]
    limit = _limit(wrong)
    leaning = [_mistakes(program, limit, lean) for lean in leans(program)]
    for name in leaning[0]:
        answers = ([found[name](fixture.inputs, fixture.reference) for found in leaning] for fixture, _ in some)
        share = _explained(tiles, answers)
        if share < _CERTAIN:
            continue
        answering = partial(_mistaken, name, limit)
        if not any(_shows(program, answering, fixture) for fixture in passed):
            return Diagnosis(name, share)
    return Diagnosis("", None)


def _mistaken(name: str, limit: float | None, program: Program, lean: float) -> Mistake:
    return _mistakes(program, limit, lean)[name]


def _mistakes(program: Program, limit: float | None, lean: float) -> dict[str, Mistake]:
    found = mistakes(program, lean)
    if limit:
        found[f"saturated at {limit:g}"] = lambda inputs, right: {
            name: np.clip(array, -limit, limit).astype(array.dtype) for name, array in right.items()
        }
        found[f"every value saturated at {limit:g}"] = with_rule(program, saturating(limit), lean)
    return found


def _limit(wrong: Sequence[tuple[BuiltFixture, Mapping[str, Array]]]) -> float | None:
    """The largest magnitude that came back, if larger ones should have."""
    came = max(float(np.abs(array).max(initial=0.0)) for _, arrays in wrong for array in arrays.values())
    right = max(float(np.abs(array).max(initial=0.0)) for fixture, _ in wrong for array in fixture.reference.values())
    return came if came < right else None


def _shows(program: Program, answering: Answering, fixture: BuiltFixture) -> bool:
    """Whether it would have changed an answer that was right, whichever way its own FP32 values lean."""
    cut, inputs, right = program, dict(fixture.inputs), fixture.reference
    rows = range(min(_PASSED_ROWS, right[program.outputs[0]].shape[-2:][0]))
    try:
        cut, inputs = take(program, inputs, rows)
        right = {output: array[..., : len(rows), :] for output, array in right.items()}
    except Entangled:
        pass
    answers = [answering(cut, lean)(inputs, right) for lean in leans(cut)]
    for output, array in right.items():
        changed = np.logical_and.reduce([answer[output] != array for answer in answers])
        if float(np.mean(changed)) >= _REFUTING:
            return True
    return False


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


def _explained(tiles: Sequence[_Tile], candidates: Iterable[Sequence[Mapping[str, Array]]]) -> float:
    """Of the elements that the output or the candidate changes, the share on which they agree.

    A candidate has an answer for each way that its FP32 values may lean: it agrees where one of them does. Candidates
    are made one tile at a time; one that fails on the first tiles is made for no more.
    """
    agreed = changed = 0
    for tile, candidate in zip(tiles, candidates, strict=True):
        for name, right in tile.right.items():
            output, others = tile.output[name], [answers[name] for answers in candidate]
            different = (output != right) | np.logical_and.reduce([other != right for other in others])
            same = [(output == other) | (np.isnan(output) & np.isnan(other)) for other in others]
            changed += int(np.count_nonzero(different))
            agreed += int(np.count_nonzero(different & np.logical_or.reduce(same)))
        if agreed < _HOPEFUL * changed:
            break
    return agreed / changed if changed else 0.0
