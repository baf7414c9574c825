"""Whether a claim holds: its query asked of the newest version in its scope that answers, on every device there.

A version that crashed has nothing to ask; that it crashed is an outcome, which a claim of its own may be about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from tensor_assets.claims.claim import Case, Claim, spelled
from tensor_assets.claims.library import Library, Subject
from tensor_assets.claims.operators import passes, unsaid
from tensor_assets.claims.query import BadQuery, Query
from tensor_assets.claims.showing import shown_value
from tensor_assets.claims.versions import in_range, newest_first
from tensor_assets.records import StageFile

# Outcomes that leave something to ask: a rejected program has stages, a plan and wrong numbers.
ANSWERING = ("ok", "rejected")

DEFAULT = "default"
State = Literal["holds", "differs", "not measured"]


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What one configuration's records answered. ``passed`` is None where they do not say; ``why`` then says why."""

    subject: Subject
    expected: Any
    value: Any = None
    passed: bool | None = None
    why: str = ""
    shown: str = ""
    texts: tuple[StageFile, ...] = ()  # native texts that the answer was read off


class CaseVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One check on one configuration. ``seen`` decides it; ``earlier`` are older versions in scope, newest first."""

    case: Case
    verdict: State
    why: str = ""
    seen: tuple[Observation, ...] = ()
    earlier: tuple[Observation, ...] = ()
    since: str = ""  # first version of those that differ without one between that holds
    held: str = ""  # the version before that, where one was seen
    nearest: Observation | None = None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A claim with its verdict: all its cases together."""

    claim: Claim
    verdict: State
    why: str
    cases: tuple[CaseVerdict, ...]

    @property
    def seen(self) -> tuple[Observation, ...]:
        """What decided it: where it differs, what differs; else all that was seen."""
        deciding = [case for case in self.cases if case.verdict == self.verdict]
        return tuple(observation for case in deciding for observation in case.seen)

    @property
    def nearest(self) -> tuple[Observation, ...]:
        return tuple(case.nearest for case in self.cases if case.nearest)

    @property
    def since(self) -> str:
        """From which version on it differs, in words; empty where it does not."""
        wrong = next((case for case in self.cases if case.verdict == "differs"), None)
        return since_in_words(wrong.since, wrong.held) if wrong else ""


def since_in_words(since: str, held: str) -> str:
    """Where no version before held, none was seen that did."""
    return f"since {since}, {held} held" if held else f"in every version seen, the first {since}"


def judge(claim: Claim, library: Library) -> Judgement:
    """Differs if one case differs; holds if all of them hold; else it is not measured."""
    cases = tuple(_judge_case(case, library) for case in claim.cases())
    verdict: State = "holds" if all(case.verdict == "holds" for case in cases) else "not measured"
    if any(case.verdict == "differs" for case in cases):
        verdict = "differs"
    return Judgement(claim=claim, verdict=verdict, why=_why(cases, verdict), cases=cases)


def _why(cases: Sequence[CaseVerdict], verdict: State) -> str:
    if verdict == "holds":
        return ""
    deciding = [case for case in cases if case.verdict == verdict]
    reasons = list(dict.fromkeys(case.why for case in deciding))
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    held = sum(case.verdict == "holds" for case in cases)
    rest = f"; {held} of {len(cases)} hold" if held and len(cases) > 1 else ""
    return reasons[0] + more + rest


def _judge_case(case: Case, library: Library) -> CaseVerdict:
    query = Query(case.check.query)
    inside = [subject for subject in library.of_cell(case.workload, case.compiler) if _in_scope(subject, case)]
    by_version = {
        version: [_observe(case, query, subject, library) for subject in _newest(inside, version)]
        for version in newest_first(subject.version for subject in inside)
    }
    answered = [found for found in by_version.values() if any(o.passed is not None for o in found)]
    if not answered:
        silent = [observation for found in by_version.values() for observation in found]
        return CaseVerdict(
            case=case,
            verdict="not measured",
            why=_unmeasured(case, silent),
            nearest=_nearest(case, query, library, {id(subject) for subject in inside}),
        )
    told = [tuple(o for o in found if o.passed is not None) for found in answered]
    seen, earlier = told[0], tuple(o for found in told[1:] for o in found)
    if all(observation.passed for observation in seen):
        return CaseVerdict(case=case, verdict="holds", seen=seen, earlier=earlier)
    since, held = _since(told)
    wrong = next(observation for observation in seen if not observation.passed)
    why = f"{case.title}: expected {_expectation(case)}, seen {wrong.shown} on {wrong.subject.device}"
    return CaseVerdict(case=case, verdict="differs", why=why, seen=seen, earlier=earlier, since=since, held=held)


def _in_scope(subject: Subject, case: Case) -> bool:
    return (
        case.is_configuration(subject.workload, subject.shape, subject.compiler, subject.variant)
        and case.on_device(subject.device)
        and in_range(subject.version, case.versions)
    )


def _since(told: Sequence[tuple[Observation, ...]]) -> tuple[str, str]:
    """The oldest of the newest versions in a row that differ, and the one before it, which held."""
    differing = 0
    while differing < len(told) and not all(observation.passed for observation in told[differing]):
        differing += 1
    held = told[differing][0].subject.version if differing < len(told) else ""
    return told[differing - 1][0].subject.version, held


def _newest(subjects: Iterable[Subject], version: str) -> list[Subject]:
    """The newest record of each device; one that crashed, as with a companion package, hides none that did not."""
    by_device: dict[str, Subject] = {}
    for subject in sorted(subjects, key=lambda subject: (subject.status in ANSWERING, subject.created)):
        if subject.version == version:
            by_device[subject.device] = subject
    return [by_device[device] for device in sorted(by_device)]


def _observe(case: Case, query: Query, subject: Subject, library: Library) -> Observation:
    expected = case.check.expected
    if subject.status not in ANSWERING:
        why = f"{subject.compiler} {subject.version} was {subject.status}: {subject.reason}".replace("  ", " ")
        return Observation(subject=subject, expected=expected, why=why)
    try:
        value = query.ask(library.document(subject, deep=query.deep))
    except BadQuery as problem:
        # A function that is given nothing, as where an optional part is missing, is no answer either.
        said = "the record does not say" if 'received: "null"' in str(problem) else f"the query {problem}"
        return Observation(subject=subject, expected=expected, why=said)
    if unsaid(value, expected):
        return Observation(subject=subject, expected=expected, why="the record does not say", shown="nothing")
    passed = passes(case.check.operator, value, expected, case.check.tolerance)
    shown = shown_value(value, case.check.operator, expected)
    texts = tuple(library.texts(subject, query))
    return Observation(subject=subject, expected=expected, value=value, passed=passed, shown=shown, texts=texts)


def _unmeasured(case: Case, silent: Sequence[Observation]) -> str:
    if silent:
        return f"{case.title}: {silent[0].why}"
    versions = f" of version {case.versions}" if case.versions else ""
    return f"no record of {case.title}{versions} on {spelled(case.devices)}"


def _nearest(case: Case, query: Query, library: Library, inside: set[int]) -> Observation | None:
    """The same question asked of what comes closest to the scope from outside."""
    outside = [s for s in library.of_cell(case.workload, case.compiler) if id(s) not in inside]
    for subject in sorted(outside, key=_distance(case)):
        observation = _observe(case, query, subject, library)
        if observation.passed is not None:
            return observation
    return None


def _distance(case: Case) -> Callable[[Subject], tuple[Any, ...]]:
    def of(subject: Subject) -> tuple[Any, ...]:
        kind = 2 if subject.device == "cpu" else 1 if subject.device.startswith("sm_") else 0
        return (
            not fnmatchcase(subject.variant, case.variant),
            subject.variant != DEFAULT,  # what breaks the contract on purpose comes last
            subject.shape != case.shape,
            not case.on_device(subject.device),
            kind,
            not in_range(subject.version, case.versions),
            tuple(-ord(char) for char in subject.created),  # the newest first
        )

    return of


def _expectation(case: Case) -> str:
    check = case.check
    words = "" if check.operator == "equals" else f"{check.operator.replace('_', ' ')} "
    tolerance = f" ± {check.tolerance}" if check.tolerance else ""
    return f"{words}{json.dumps(check.expected, ensure_ascii=False)}{tolerance}"
