"""A claim's question as something that versions can be asked: its query, on one configuration's capture."""

from __future__ import annotations

from typing import Any

import msgspec

from tensor_assets.campaign.stored import Stored
from tensor_assets.claims.claim import Case, Check, Claim
from tensor_assets.claims.documents import document_of
from tensor_assets.claims.library import plain
from tensor_assets.claims.operators import passes, unsaid
from tensor_assets.claims.query import BadQuery, Query
from tensor_assets.errors import BisectRefused, EvidenceDamaged, EvidenceMissing, EvidencePrivate
from tensor_assets.evidence.public import PublicView
from tensor_assets.records import CaptureRecord, Evidence
from tensor_assets.report.reading import Configuration


class Answer(msgspec.Struct, frozen=True):
    """Holds or differs, as the claim's checks of one configuration judge it; nothing where a capture does not say.

    What was seen is no part of the state: compile seconds are others every time, and the claim holds all the same.
    """

    claim: str
    cases: tuple[Case, ...]
    public: PublicView

    @property
    def subject(self) -> str:
        return f"claim {self.claim}"

    def state(self, stored: Stored[CaptureRecord]) -> str | None:
        if stored.record.outcome.status not in ("ok", "rejected"):
            return f"cannot be asked: {stored.record.outcome.status}"
        document = plain(document_of(Configuration(capture_id=stored.id, capture=stored.record), (), self._text))
        told = [self._judged(case.check, document) for case in self.cases]
        return None if None in told else ", ".join(said for said in told if said)

    @staticmethod
    def _judged(check: Check, document: Any) -> str | None:
        try:
            value = Query(check.query).ask(document)
        except BadQuery:
            return None
        if unsaid(value, check.expected):
            return None
        return "holds" if passes(check.operator, value, check.expected, check.tolerance) else "differs"

    def _text(self, evidence: Evidence) -> str | None:
        try:
            return self.public.read(evidence).decode("utf-8", "replace")
        except (EvidenceMissing, EvidencePrivate, EvidenceDamaged):
            return None


def cases_of_claim(claim: Claim) -> tuple[Case, ...]:
    """The claim's checks of its first configuration, which is what can be captured of it.

    Raises BisectRefused for a claim that names configurations by a pattern alone.
    """
    cases = [case for case in claim.cases() if "*" not in case.variant]
    if not cases:
        raise BisectRefused(f"claim {claim.id} names no single configuration: bisect one of its cells")
    return tuple(case for case in cases if case.title == cases[0].title)
