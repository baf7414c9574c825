"""Whether a claim holds: its query asked on every device in its scope, of the newest version that answers there.

What a newer version does on one device says nothing about another: there the older one's answer stands. A version that
crashed has nothing to ask; that it crashed is an outcome, which a claim of its own may be about.
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
    record: str = ""  # id of the record that answered
    texts: tuple[StageFile, ...] = ()  # native texts that the answer was read off


class CaseVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One check on one configuration. ``seen`` decides it, one a device; ``earlier`` are older versions there."""

    case: Case
    verdict: State
    why: str = ""
    seen: tuple[Observation, ...] = ()
    earlier: tuple[Observation, ...] = ()
    since: str = ""  # on the first device that differs: first version of those without one between that holds
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
        observations = [o for case in self.cases if case.verdict == self.verdict for o in case.seen]
        return tuple(o for o in observations if self.verdict != "differs" or not o.passed)

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


def in_scope(subject: Subject, case: Case) -> bool:
    """Whether ``subject`` may answer for ``case``."""
    return (
        case.is_configuration(subject.workload, subject.shape, subject.compiler, subject.variant)
        and case.on_device(subject.device)
        and in_range(subject.version, case.versions)
    )


def observe(case: Case, query: Query, subject: Subject, library: Library) -> Observation:
    """What ``subject`` answers, or why it does not."""
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
    return Observation(
        subject=subject,
        expected=expected,
        value=value,
        passed=passed,
        shown=shown_value(value, case.check.operator, expected),
        record=library.record(subject, query),
        texts=tuple(library.texts(subject, query)),
    )


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
    inside = [subject for subject in library.of_cell(case.workload, case.compiler) if in_scope(subject, case)]
    asked = [_asked(case, query, subjects, library) for subjects in _by_device(inside)]
    told = [found for on_device in asked if (found := [o for o in on_device if o.passed is not None])]
    if not told:
        return CaseVerdict(
            case=case,
            verdict="not measured",
            why=_unmeasured(case, [observation for on_device in asked for observation in on_device]),
            nearest=_nearest(case, query, library, {id(subject) for subject in inside}),
        )
    seen, earlier = tuple(found[0] for found in told), tuple(o for found in told for o in found[1:])
    wrong = next((found for found in told if not found[0].passed), None)
    if wrong is None:
        return CaseVerdict(case=case, verdict="holds", seen=seen, earlier=earlier)
    since, held = _since(wrong)
    why = _difference(case, wrong[0], seen)
    return CaseVerdict(case=case, verdict="differs", why=why, seen=seen, earlier=earlier, since=since, held=held)


def _difference(case: Case, wrong: Observation, seen: Sequence[Observation]) -> str:
    """With the version, where another device has answered for a newer one."""
    version, newest = wrong.subject.version, newest_first(observation.subject.version for observation in seen)[0]
    stands = "" if version == newest else f" ({version}, the newest that answers there)"
    return f"{case.title}: expected {_expectation(case)}, seen {wrong.shown} on {wrong.subject.device}{stands}"


def _since(told: Sequence[Observation]) -> tuple[str, str]:
    """Of one device: the oldest of the newest versions in a row that differ, and the one before it, which held."""
    differing = 0
    while differing < len(told) and not told[differing].passed:
        differing += 1
    held = told[differing].subject.version if differing < len(told) else ""
    return told[differing - 1].subject.version, held


def _by_device(subjects: Sequence[Subject]) -> list[list[Subject]]:
    devices = sorted({subject.device for subject in subjects})
    return [[subject for subject in subjects if subject.device == device] for device in devices]


def _asked(case: Case, query: Query, subjects: Sequence[Subject], library: Library) -> list[Observation]:
    """The answers on one device, one a version, the newest version first."""
    versions = newest_first(subject.version for subject in subjects)
    return [observe(case, query, _newest(subjects, version), library) for version in versions]


def _newest(subjects: Iterable[Subject], version: str) -> Subject:
    """The newest record of a version; one that crashed, as with a companion package, hides none that did not."""
    found = (subject for subject in subjects if subject.version == version)
    return max(found, key=lambda subject: (subject.status in ANSWERING, subject.created))


def _unmeasured(case: Case, silent: Sequence[Observation]) -> str:
    if silent:
        newest = newest_first(observation.subject.version for observation in silent)[0]
        return f"{case.title}: {next(o.why for o in silent if o.subject.version == newest)}"
    versions = f" of version {case.versions}" if case.versions else ""
    return f"no capture of {case.title}{versions} on {spelled(case.devices)}"


def _nearest(case: Case, query: Query, library: Library, inside: set[int]) -> Observation | None:
    """The same question asked of what comes closest to the scope from outside; half an answer only where none is whole.

    A kernel of a CPU has no grid, and its code no matrix instruction: that says little of what a GPU would answer.
    """
    outside = [s for s in library.of_cell(case.workload, case.compiler) if id(s) not in inside]
    half: Observation | None = None
    for subject in sorted(outside, key=_distance(case)):
        observation = observe(case, query, subject, library)
        if observation.passed is not None and _whole(observation.value):
            return observation
        if observation.passed is not None and half is None:
            half = observation
    return half


def _whole(value: Any) -> bool:
    if isinstance(value, list | dict):
        return all(map(_whole, value.values() if isinstance(value, dict) else value))
    return value is not None


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
