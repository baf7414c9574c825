"""Admission: every verdict of every fixture, and for a rejected compiler the boundary that it broke."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.diagnosis import Diagnosis, diagnose
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.contract.floats import Array
from tensor_assets.contract.verdicts import (
    exact_verdict,
    form_of,
    form_verdict,
    interval_verdict,
    mutated,
    poisoned,
    tolerance_verdict,
)
from tensor_assets.records import Admission, Verdict


class Run(NamedTuple):
    """One invocation on one fixture: what came back, and the inputs as they were afterwards (None: not read back)."""

    fixture: BuiltFixture
    outputs: Mapping[str, object]
    inputs_after: Mapping[str, object] | None = None


def judge(
    program: Program,
    fixture: BuiltFixture,
    outputs: Mapping[str, object],
    inputs_after: Mapping[str, object] | None = None,
) -> tuple[Verdict, ...]:
    """All verdicts of one run. ``outputs`` may hold anything; nothing in it raises.

    Each output has a form verdict; if it can be compared, also an exact verdict or an interval verdict (as the fixture
    allows) and the fixed tolerance. Unexpected outputs and mutated inputs have form verdicts under their own names.
    """
    found: list[Verdict] = []
    for name in program.outputs:
        found += _judge_output(program, fixture, name, outputs)
    for name in sorted(str(name)[:64] for name in outputs if name not in program.outputs):
        found.append(form_verdict(fixture, name, "unexpected output"))
    if inputs_after is not None:
        found += [form_verdict(fixture, name, "mutated input") for name in mutated(fixture, inputs_after)]
    return tuple(found)


def admit(program: Program, runs: Iterable[tuple[Any, ...]]) -> Admission:
    """The verdicts of all runs, and what they mean: form, exact and interval verdicts decide.

    The same fixture may come more than once (a last run of the first fixture shows results that depend on what ran
    before). A rejected program is compared with each violation's own reference, see ``diagnosis``.
    """
    taken = [Run(*run) for run in runs]
    verdicts = [judge(program, *run) for run in taken]
    well = [_decided_well(found) for found in verdicts]
    compared = [_across(program, taken, index, well) for index in range(len(taken))]
    verdicts = [found + others for found, others in zip(verdicts, compared, strict=True)]
    everything = tuple(verdict for found in verdicts for verdict in found)
    failed = [verdict for verdict in everything if not verdict.passed and verdict.kind != "tolerance"]
    if not taken:
        return Admission(admitted=None, reason="no fixture was run")
    if not failed:
        proven = any(run.fixture.exact for run in taken)
        reason = "" if proven else "no exact fixture: the interval alone decided"
        return Admission(admitted=True, verdicts=everything, reason=reason)
    passed = [run.fixture for run, found in zip(taken, verdicts, strict=True) if _decided_well(found)]
    # An answer that is another run's, or was right before, says nothing about arithmetic.
    wrong = [_compared(run) for run, good, others in zip(taken, well, compared, strict=True) if not (good or others)]
    diagnosis = diagnose(program, wrong, passed)
    return Admission(
        admitted=False,
        verdicts=everything,
        boundary=diagnosis.name,
        boundary_share=diagnosis.share,
        reason=_sentence(failed, diagnosis),
    )


def _judge_output(
    program: Program, fixture: BuiltFixture, name: str, outputs: Mapping[str, object]
) -> tuple[Verdict, ...]:
    form = form_of(program, name, outputs)
    if form:
        return (form_verdict(fixture, name, form),)
    array = outputs[name]
    assert isinstance(array, np.ndarray)
    decisive = exact_verdict(program, fixture, name, array) if fixture.exact else interval_verdict(fixture, name, array)
    reason = poisoned(array, fixture.reference[name])
    tolerance = tolerance_verdict(program, fixture, name, array)
    return (form_verdict(fixture, name, reason, array.size), decisive, tolerance)


def _across(program: Program, runs: list[Run], index: int, well: list[bool]) -> tuple[Verdict, ...]:
    """What only a comparison of runs shows: the answer to another fixture, or another answer to the same one.

    ``well``: whether nothing else is wrong with each run.
    """
    run = runs[index]
    found: list[Verdict] = []
    for name in program.outputs:
        if form_of(program, name, run.outputs):
            continue
        output = run.outputs[name]
        assert isinstance(output, np.ndarray)
        reason = (
            (not well[index] and _constant(program, runs, run, name, output))
            or (not well[index] and _stale(runs, index, well, name, output))
            or _unsteady(program, runs[:index], run, name, output)
        )
        if reason:
            found.append(form_verdict(run.fixture, name, reason, output.size))
    return tuple(found)


def _constant(program: Program, runs: list[Run], run: Run, name: str, output: Array) -> str:
    """One number everywhere, in every run: on some fixtures a right answer, or one that is wrong otherwise, is that."""
    if output.size < 2 or np.array_equal(output, run.fixture.reference[name]):
        return ""
    number = output.flat[0]
    answers = [other.outputs.get(name) for other in runs if not form_of(program, name, other.outputs)]
    if len(answers) > 1 and all(bool((answer == number).all()) for answer in answers if isinstance(answer, np.ndarray)):
        return f"constant answer: every element of every run is {float(number):g}"
    return ""


def _stale(runs: list[Run], index: int, well: list[bool], name: str, output: Array) -> str:
    """The answer to another fixture: its reference, or what came back for it earlier and was right.

    Zeros are an answer to too many: they must be the one just before.
    """
    run = runs[index]
    if np.array_equal(output, run.fixture.reference[name]):
        return ""
    for place, other in enumerate(runs):
        answers: list[object] = [other.fixture.reference[name]]
        if place < index and well[place]:
            answers.append(other.outputs[name])
        same = any(isinstance(answer, np.ndarray) and np.array_equal(output, answer) for answer in answers)
        telling = output.any() or place == index - 1
        if other.fixture.name != run.fixture.name and telling and same:
            return f"stale output: the answer to fixture {other.fixture.name}"
    return ""


def _unsteady(program: Program, earlier: list[Run], run: Run, name: str, output: Array) -> str:
    """Where every legal execution has one answer, two answers are one too many, whichever is right."""
    for other in earlier:
        same = other.fixture.name == run.fixture.name and other.fixture.seed == run.fixture.seed
        before = other.outputs.get(name)
        if not (same and run.fixture.exact) or form_of(program, name, other.outputs):
            continue
        if isinstance(before, np.ndarray) and not np.array_equal(output, before, equal_nan=True):
            right = [np.array_equal(array, run.fixture.reference[name]) for array in (before, output)]
            words = ["right" if one else "wrong" for one in right]
            return f"depends on earlier invocations: {words[0]} before, {words[1]} now"
    return ""


def _decided_well(verdicts: tuple[Verdict, ...]) -> bool:
    return all(verdict.passed for verdict in verdicts if verdict.kind != "tolerance")


def _compared(run: Run) -> tuple[BuiltFixture, Mapping[str, object]]:
    return run.fixture, run.outputs


def _sentence(failed: list[Verdict], diagnosis: Diagnosis) -> str:
    forms = [verdict for verdict in failed if verdict.kind == "form"]
    first = forms[0] if forms else failed[0]
    if first.kind == "form":
        what = f"{first.output} on {first.fixture}: {first.reason}"
    else:
        what = f"{first.output} on {first.fixture}: {first.mismatches:,} of {first.elements:,} elements wrong"
    return f"{what}; {diagnosis.name}" if diagnosis.name and diagnosis.name not in what else what
