"""Claims on pages: a sentence and its verdict where an author writes ``{{ claim("id") }}``, and the table of all."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import msgspec
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from tensor_assets.claims.claim import Claim, spelled
from tensor_assets.claims.history import definition_of
from tensor_assets.claims.judging import CaseVerdict, Judgement, Observation, judge
from tensor_assets.claims.library import Library, Subject
from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.key import kind_of
from tensor_assets.records import ClaimRecord, StageFile
from tensor_assets.report.evidence_index import EvidenceRow
from tensor_assets.report.matrix import configuration_page
from tensor_assets.report.plain import plain
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import PublicStore, Snapshot

PAGE = "claims.html"
# Of the documents a claim comes from, as a reader finds them: what verdicts look like in words and in shape.
MARKS = {"holds": "✓", "differs": "≠", "not measured": "–"}


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One observation as a page shows it; ``page`` is empty where the configuration has none."""

    title: str
    version: str
    device: str
    text: str
    expected: str
    passed: bool | None
    record: str  # the one that answered
    kind: str  # what it is a record of
    texts: tuple[StageFile, ...]  # that it was read off, put on the site
    page: str


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to one query, with every device that gave it."""

    query: str
    seen: Seen
    devices: tuple[Seen, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One claim in the table."""

    claim: Claim
    verdict: str
    slug: str
    why: str
    since: str
    seen: tuple[Told, ...]
    nearest: tuple[Told, ...]
    checks: tuple[tuple[str, str, str], ...]  # query, operator, expected
    scope: str
    record: str  # id of the verdict's record; empty where none is filed
    compilers: tuple[str, ...]
    devices: tuple[str, ...]


class ClaimPages:
    """Every claim judged once for a site, and how pages show it."""

    def __init__(self, store: PublicStore, claims: Mapping[str, Claim], snapshot: Snapshot, files: PublicFiles) -> None:
        self._store, self._claims, self._snapshot, self._files = store, claims, snapshot, files

    @cached_property
    def _library(self) -> Library:
        return Library(self._store)

    @cached_property
    def _filed(self) -> dict[str, tuple[str, ClaimRecord]]:
        """The newest of each: one is filed under another key when its claim's scope changes."""
        filed = sorted(self._store.records(ClaimRecord), key=lambda pair: pair[1].provenance.created)
        return {record.claim: (record_id, record) for record_id, record in filed}

    @cached_property
    def judgements(self) -> dict[str, Judgement]:
        return {name: judge(claim, self._library) for name, claim in self._claims.items()}

    def judgement(self, claim_id: str, where: str) -> Judgement:
        """Raises SiteBroken, naming ``where`` and what comes closest, if there is no such claim."""
        if claim_id not in self._claims:
            close = difflib.get_close_matches(claim_id, self._claims, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else f"have {len(self._claims)}, see claims check"
            raise SiteBroken(f"{where}: no claim is called {claim_id!r} ({hint})")
        return self.judgements[claim_id]

    def function(self) -> Any:
        """``claim(id, statement=True)`` for templates and Markdown pages."""

        @pass_context
        def claim(context: Context, claim_id: str, statement: bool = True) -> Markup:
            judgement = self.judgement(claim_id, context.name or "a page")
            return self._badge(judgement, context["to"], statement)

        return claim

    def _badge(self, judgement: Judgement, to: Any, statement: bool) -> Markup:
        words = Markup('<span class="claim-words">{}</span> ').format(plain(judgement.claim.statement))
        slug = slug_of(judgement.verdict)
        badge = Markup(
            '<a class="claim-verdict claim-{slug}" href="{href}" title="{why}">{mark}&#8239;{verdict}</a>'
        ).format(
            slug=slug,
            href=to(f"{PAGE}#{judgement.claim.id}"),
            why=plain(judgement.why or judgement.claim.statement),
            mark=MARKS[judgement.verdict],
            verdict=judgement.verdict,
        )
        parts = [words if statement else Markup(""), badge, self._told(judgement, to)]
        return Markup('<span class="claim">{}</span>').format(Markup("").join(parts))

    def _told(self, judgement: Judgement, to: Any) -> Markup:
        """What was seen and its proof; outside the claim's scope the nearest that was."""
        shown = judgement.seen if judgement.verdict != "not measured" else judgement.nearest
        if not shown:
            return Markup("")
        first, more = shown[0], len(shown) - 1
        seen = self.seen(first)
        words = (
            seen.text
            if judgement.verdict != "not measured"
            else f"nearest: {seen.text} in {seen.title} on {seen.device}"
        )
        since = f", {judgement.since}" if judgement.since else ""
        rest = f" and {more} more" if more else ""
        return Markup(' <span class="claim-seen">{}{}</span> <a class="proof" href="{}" title="{}">{}</a>').format(
            plain(words + rest),
            plain(since),
            to(self._files[seen.record].href),
            plain(f"{seen.kind} · {seen.title} · {seen.version} on {seen.device} · sha256 {seen.record}"),
            seen.record[:7],
        )

    def table(self) -> dict[str, Any]:
        """What the template ``claims.html`` shows: every claim, and what to filter by."""
        rows = [self._row(judgement) for judgement in self.judgements.values()]
        return {
            "claim_rows": rows,
            "claim_marks": MARKS,
            "claim_counts": {verdict: sum(row.verdict == verdict for row in rows) for verdict in MARKS},
            "claim_filters": {
                "verdict": list(MARKS),
                "document": _each(row.claim.source.document for row in rows),
                "section": _each(row.claim.source.section for row in rows),
                "compiler": _each(compiler for row in rows for compiler in row.compilers),
                "device": _each(device for row in rows for device in row.devices),
            },
        }

    def evidence_rows(self) -> list[EvidenceRow]:
        """For the evidence index: verdicts that are filed, and captures of versions that have no page any more."""
        known = set(self._snapshot.workloads())
        rows = []
        for judgement in self.judgements.values():
            workload = next((c.case.workload for c in judgement.cases if c.case.workload in known), "")
            observations = (*judgement.seen, *judgement.nearest) if workload else ()
            old = [s.record for s in map(self.seen, observations) if not s.page]
            filed = [self._verdict_record(judgement)] if workload else []
            rows += [self._evidence(record, workload, judgement) for record in (*filed, *old) if record]
        return rows

    def _evidence(self, record_id: str, workload: str, judgement: Judgement) -> EvidenceRow:
        found = self._files[record_id]
        return EvidenceRow(
            sha256=record_id,
            what=found.name,
            workload=workload,
            where=f"claim {judgement.claim.id}",
            bytes=found.bytes,
            href=found.href,
            why=found.why,
            page=f"{PAGE}#{judgement.claim.id}",
        )

    def _row(self, judgement: Judgement) -> Row:
        claim, cases = judgement.claim, judgement.cases
        return Row(
            claim=claim,
            verdict=judgement.verdict,
            slug=slug_of(judgement.verdict),
            why=judgement.why,
            since=judgement.since,
            seen=self._answers((case, case.seen) for case in cases),
            nearest=self._answers((case, (case.nearest,)) for case in cases if case.nearest),
            checks=tuple(
                (check.query, check.operator.replace("_", " "), _expected(check.expected, check.tolerance))
                for check in claim.all_checks()
            ),
            scope=_scope(cases),
            record=self._verdict_record(judgement),
            compilers=_each(case.case.compiler for case in cases),
            devices=_each(o.subject.device for case in cases for o in (*case.seen, case.nearest) if o),
        )

    def _answers(self, cases: Iterable[tuple[CaseVerdict, tuple[Observation, ...]]]) -> tuple[Told, ...]:
        found: dict[tuple[object, ...], list[Seen]] = {}
        for case, observations in cases:
            for observation in observations:
                seen = self.seen(observation)
                alike = (case.case.check.query, seen.title, seen.version, seen.text, seen.expected, seen.passed)
                found.setdefault(alike, []).append(seen)
        return tuple(
            Told(query=str(alike[0]), seen=devices[0], devices=tuple(devices)) for alike, devices in found.items()
        )

    def _verdict_record(self, judgement: Judgement) -> str:
        """The verdict as it was filed, where that is still the verdict; put on the site."""
        record_id, record = self._filed.get(judgement.claim.id, ("", None))
        if record is None or (record.verdict, record.definition) != (
            judgement.verdict,
            definition_of(judgement.claim),
        ):
            return ""
        self._files.add_record(record_id, record, "verdict record")
        return record_id

    def seen(self, observation: Observation) -> Seen:
        """An observation with the record that answered put on the site, and its configuration's capture."""
        subject = observation.subject
        capture = self._library.configuration(subject).capture
        self._files.add_record(subject.records[0], capture, "capture record")
        answered = observation.record or subject.records[0]
        if answered != subject.records[0]:
            record = self._store.get(answered)
            self._files.add_record(answered, record, f"{kind_of(type(record))} record")
        for file in observation.texts:
            self._files.add(file.text)
        variant = "" if subject.variant == "default" else f" {subject.variant}"
        return Seen(
            title=f"{subject.workload} × {subject.compiler}{variant}",
            version=f"{subject.compiler} {subject.version}".strip(),
            device=subject.device,
            text=observation.shown,
            expected=_expected(observation.expected, 0),
            passed=observation.passed,
            record=answered,
            kind=self._files[answered].name,
            texts=observation.texts,
            page=self._page(subject),
        )

    def _page(self, subject: Subject) -> str:
        """Where the configuration is shown; a version that is no longer the newest has no page."""
        shown = next((c for c in self._snapshot.configurations if c.capture_id == subject.records[0]), None)
        return configuration_page(self._snapshot, shown) if shown else ""


def slug_of(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _expected(expected: Any, tolerance: float | str) -> str:
    return json.dumps(expected, ensure_ascii=False) + (f" ± {tolerance}" if tolerance else "")


def _scope(cases: Iterable[CaseVerdict]) -> str:
    """In one line: configurations, devices, versions."""
    listed = list(cases)
    titles = _each(case.case.title for case in listed)
    devices = _each(spelled(case.case.devices) for case in listed)
    versions = _each(case.case.versions for case in listed if case.case.versions)
    shown = titles if len(titles) < 5 else (*titles[:3], f"and {len(titles) - 3} more")
    return " · ".join([", ".join(shown), " or ".join(devices), *versions])


def _each(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
