"""From changes to alerts: what is found tonight, less what was told before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tensor_assets.history.steps import Change
from tensor_assets.sessions.statistics import EQUIVALENCE_MARGIN

# A change smaller than what a session calls "same" is drawn on the page, and tells nobody.
SMALLEST = EQUIVALENCE_MARGIN
# Further values move where a small change seems to have begun, by up to this many nights.
MOVES = 10


class Told(NamedTuple):
    """A change that somebody was alerted to: from when to when it went on, and whether times went up."""

    at: int
    until: int  # as ``at`` for a step
    slower: bool


def fresh(found: Sequence[Change], told: Iterable[Told]) -> list[Change]:
    """What is found and was not told: another night, or the other direction.

    What was told as a step while it was short may turn out a drift, and a drift a step.
    """
    known = tuple(told)
    return [change for change in found if not any(_same(change, one) for one in known)]


def _same(change: Change, told: Told) -> bool:
    if told.slower != (change.after > change.before):
        return False
    return change.at - MOVES <= told.until and told.at <= change.until + MOVES
