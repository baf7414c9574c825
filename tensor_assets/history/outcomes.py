"""Outcomes over time: stretches of records that ended alike, and the changes that somebody is told of."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby, pairwise
from typing import NamedTuple

from tensor_assets.history.series import History, Place
from tensor_assets.records import CaptureRecord
from tensor_assets.releases.accepted import environments_not_accepted

# What says something of the compiler. A cell that is unavailable or blocked says something of the host it ran on.
TELLING = ("ok", "rejected", "unsupported", "crashed", "censored")
Captured = tuple[str, CaptureRecord]  # record id and record


class Transition(NamedTuple):
    """A cell's outcome became another, judged by one method."""

    place: Place
    before: Captured
    after: Captured


class Stretch(NamedTuple):
    """Captures of one place that ended alike, one after another, whoever judged them; oldest first."""

    place: Place
    captures: tuple[Captured, ...]
    rejudged: bool  # its first capture was judged by another method than the one before it

    @property
    def first(self) -> Captured:
        return self.captures[0]

    @property
    def last(self) -> Captured:
        return self.captures[-1]

    @property
    def methods(self) -> int:
        return len({record.key.method for _, record in self.captures})

    @property
    def reasons(self) -> int:
        return len({record.outcome.reason for _, record in self.captures})


def transitions(store: History) -> list[Transition]:
    """Every change of outcome between one capture and the next of the same place and method, oldest first."""
    found = []
    for place, own in _captures(store).items():
        methods = sorted({record.key.method for _, record in own})
        for alike in ([one for one in own if one[1].key.method == method] for method in methods):
            found += [Transition(place, *two) for two in pairwise(alike) if _status(two[0]) != _status(two[1])]
    return sorted(found, key=lambda transition: transition.after[1].provenance.created)


def stretches(store: History) -> list[Stretch]:
    """By place; within it in the order they began."""
    found: list[Stretch] = []
    for place, own in _captures(store).items():
        earlier: Captured | None = None
        for _, alike in groupby(own, key=_ended):
            captures = tuple(alike)
            rejudged = earlier is not None and earlier[1].key.method != captures[0][1].key.method
            found.append(Stretch(place, captures, rejudged))
            earlier = captures[-1]
    return found


def _captures(store: History) -> dict[Place, list[Captured]]:
    """What tells something, of accepted releases; by place, oldest first."""
    found: dict[Place, list[Captured]] = defaultdict(list)
    left_out = environments_not_accepted(store)
    for record_id, record in store.records(CaptureRecord, history=True):
        accepted = (record.key.compiler, record.key.environment) not in left_out
        if accepted and record.outcome.status in TELLING:
            found[Place.of(record.key)].append((record_id, record))
    return {place: sorted(own, key=lambda one: one[1].provenance.created) for place, own in sorted(found.items())}


def _status(captured: Captured) -> str:
    return captured[1].outcome.status


def _ended(captured: Captured) -> tuple[str, str]:
    """The outcome and the boundary that broke: the rest of a reason may hold numbers that differ every time."""
    record = captured[1]
    return record.outcome.status, record.admission.boundary if record.admission else ""
