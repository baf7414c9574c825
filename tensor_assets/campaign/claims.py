"""Step 6: every claim judged from the store's records, its verdict filed where it changed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.claims.claim import Claim
from tensor_assets.claims.history import claim_key, claim_record, sources
from tensor_assets.claims.judging import Judgement, judge
from tensor_assets.claims.library import Library
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.redaction import redact_record
from tensor_assets.records import ClaimRecord, Record


def judge_claims(space: Workspace, claims: Iterable[Claim]) -> list[Stored[ClaimRecord]]:
    """One record a claim, in their order; the record that is there already where nothing changed."""
    library = Library(PublicView(space.store))
    return [_filed(space, judge(claim, library)) for claim in claims]


def _filed(space: Workspace, judgement: Judgement) -> Stored[ClaimRecord]:
    found = space.store.latest(ClaimRecord, claim_key(judgement.claim))
    record = claim_record(judgement, provenance(sources(judgement)), found[1] if found else None)
    if found and _same(found[1], redact_record(record, space.store.identity)[0]):
        return Stored(found[0], found[1], reused=True)
    return file(space.store, record)


def _same(one: ClaimRecord, other: Record) -> bool:
    return msgspec.structs.replace(one, provenance=other.provenance) == other
