"""A judgement as the record that is kept, joined with what earlier records of the same claim had seen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from tensor_assets.claims.claim import Claim
from tensor_assets.claims.judging import Judgement, Observation
from tensor_assets.claims.versions import newest_first
from tensor_assets.records import ClaimRecord, Key, Observed, Outcome, Provenance


def claim_key(claim: Claim) -> Key:
    """Where a claim's verdicts are filed: under its id, whatever it says; by workload and compiler if it has one."""
    cases = claim.cases()
    one = {field: {getattr(case, field) for case in cases} for field in ("workload", "shape", "compiler", "variant")}
    return Key(**{field: next(iter(values)) for field, values in one.items() if len(values) == 1}, method=claim.id)


def definition_of(claim: Claim) -> str:
    return hashlib.sha256(msgspec.json.encode(claim, order="sorted")).hexdigest()[:16]


def claim_record(judgement: Judgement, provenance: Provenance, before: ClaimRecord | None = None) -> ClaimRecord:
    """``before`` is the claim's latest record: older versions it had seen stay known when their captures are gone."""
    claim, cases = judgement.claim, judgement.cases
    seen = tuple(_observed(o, case.case.check.query) for case in cases for o in case.seen)
    earlier = [_observed(o, case.case.check.query) for case in cases for o in case.earlier]
    nearest = tuple(_observed(case.nearest, case.case.check.query) for case in cases if case.nearest)
    definition = definition_of(claim)
    if before is not None and before.definition == definition:
        known = {_place(observed) for observed in (*seen, *earlier)}
        remembered = (o for o in (*before.seen, *before.earlier) if _place(o) not in known)
        earlier += _not_newer(remembered, seen)
    first, held = since(seen, earlier) if judgement.verdict == "differs" else ("", "")
    return ClaimRecord(
        key=claim_key(claim),
        outcome=Outcome(status="ok"),
        provenance=provenance,
        claim=claim.id,
        statement=" ".join(claim.statement.split()),
        definition=definition,
        verdict=judgement.verdict,
        why=judgement.why,
        since=first,
        held=held,
        seen=seen,
        earlier=tuple(_by_version(earlier)),
        nearest=nearest,
    )


def sources(judgement: Judgement) -> tuple[str, ...]:
    """Ids of every record that the judgement rests on."""
    observations = [o for case in judgement.cases for o in (*case.seen, *case.earlier, case.nearest) if o]
    return tuple(dict.fromkeys(record for o in observations for record in o.subject.records))


def since(seen: Iterable[Observed], earlier: Iterable[Observed]) -> tuple[str, str]:
    """The oldest of the newest versions in a row that differ, of the first question that differs, and the version
    before it, which held; empty where there is none."""
    newest = list(seen)
    wrong = next((observed for observed in newest if not observed.passed), None)
    if wrong is None:
        return "", ""
    question = _question(wrong)
    passed: dict[str, bool] = {}
    for observed in (*newest, *earlier):
        if _question(observed) == question:
            passed[observed.version] = passed.get(observed.version, True) and observed.passed
    first = wrong.version
    for version in newest_first(passed):
        if passed[version]:
            return first, version
        first = version
    return first, ""


def _not_newer(remembered: Iterable[Observed], seen: Iterable[Observed]) -> list[Observed]:
    """Without versions newer than what is asked now: one that was withdrawn did not come before it."""
    asked = {_question(observed): observed.version for observed in seen}
    return [o for o in remembered if newest_first([o.version, asked.get(_question(o), o.version)])[-1] == o.version]


def _by_version(observations: list[Observed]) -> list[Observed]:
    order = {version: place for place, version in enumerate(newest_first(o.version for o in observations))}
    return sorted(observations, key=lambda o: (_question(o), order[o.version]))


def _observed(observation: Observation, query: str) -> Observed:
    subject = observation.subject
    return Observed(
        record=subject.records[0],
        workload=subject.workload,
        shape=subject.shape,
        compiler=subject.compiler,
        variant=subject.variant,
        device=subject.device,
        version=subject.version,
        query=query,
        value=observation.shown,
        passed=bool(observation.passed),
    )


def _question(observed: Observed) -> tuple[str, ...]:
    """Devices answer for themselves: each has its own newest version."""
    return observed.query, observed.workload, observed.shape, observed.compiler, observed.variant, observed.device


def _place(observed: Observed) -> tuple[str, ...]:
    return *_question(observed), observed.version
