"""Claims that another release answers otherwise: each asked of the same configuration before and after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tensor_assets.claims.claim import Case, Claim
from tensor_assets.claims.judging import Observation, in_scope, observe
from tensor_assets.claims.library import Library, Subject
from tensor_assets.claims.query import Query


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a claim on one configuration that both releases answer, one as the claim says and one not."""

    claim: Claim
    case: Case
    before: Observation
    after: Observation

    @property
    def differs(self) -> bool:
        """Whether it is the new release that does not bear the claim out."""
        return not self.after.passed


def moved(claims: Iterable[Claim], pairs: Iterable[tuple[Subject, Subject]], library: Library) -> list[Move]:
    """``pairs`` are a configuration's captures under the old and under the new release, as ``library`` holds them.

    Where one of the two is out of a claim's scope, or does not answer, the release did not change what is claimed.
    """
    known = list(pairs)
    return [move for claim in claims for case in claim.cases() for move in _moves(claim, case, known, library)]


def _moves(claim: Claim, case: Case, pairs: list[tuple[Subject, Subject]], library: Library) -> Iterator[Move]:
    query = Query(case.check.query)
    for old, new in pairs:
        if not (in_scope(old, case) and in_scope(new, case)):
            continue
        before, after = (observe(case, query, subject, library) for subject in (old, new))
        if None not in (before.passed, after.passed) and before.passed != after.passed:
            yield Move(claim=claim, case=case, before=before, after=after)
