"""Alerts: changes of state, each found once. The store's own alert records are the memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Protocol, TypeVar

from tensor_assets.history.beside import beside
from tensor_assets.history.outcomes import Transition, transitions
from tensor_assets.history.series import History, Place, Series, Track, tracks
from tensor_assets.history.steps import Change
from tensor_assets.history.watching import SMALLEST, Told, fresh
from tensor_assets.records import AlertRecord, Key, Outcome, Provenance, Record
from tensor_assets.report.quantities import duration, percent

R = TypeVar("R", bound=Record)


class Keeping(History, Protocol):
    def put(self, record: Record) -> str: ...


def find_alerts(history: History) -> list[AlertRecord]:
    """Changes of state that no alert record tells of, oldest first. A place's first record is a state, not a change."""
    told = [record for _, record in history.records(AlertRecord, history=True)]
    found = [_of_transition(one) for one in transitions(history) if not _known(one, told)]
    for track in tracks(history):
        found += _of_track(track, told)
    return sorted(found, key=lambda alert: (alert.since, alert.sentence))


def file_alerts(store: Keeping, history: History) -> list[tuple[str, AlertRecord]]:
    """Find what is new in ``history``, the public view of ``store``, and keep it there; with the records' ids."""
    return [(store.put(alert), alert) for alert in find_alerts(history)]


def _known(transition: Transition, told: Sequence[AlertRecord]) -> bool:
    return any(alert.after == transition.after[0] and alert.kind == "outcome" for alert in told)


def _of_transition(transition: Transition) -> AlertRecord:
    (before, old), (after, new) = transition.before, transition.after
    reason = f" ({new.outcome.reason})" if new.outcome.reason else ""
    versions = "" if old.version == new.version else f", {old.version or 'unknown'} to {new.version or 'unknown'}"
    return AlertRecord(
        key=new.key,
        outcome=Outcome(status="ok"),
        provenance=made_from(before, after),
        kind="outcome",
        since=new.provenance.created,
        before=before,
        after=after,
        was=old.outcome.status,
        now=new.outcome.status,
        sentence=f"{transition.place.title}{versions}: {old.outcome.status} became {new.outcome.status}{reason}",
    )


def _of_track(track: Track, told: Sequence[AlertRecord]) -> Iterator[AlertRecord]:
    own = [alert for alert in told if alert.axis == track.axis and Place.of(alert.key) == track.place]
    for series in track.series:
        places = {point.record: place for place, point in enumerate(series.points)}
        began = ((alert, alert.before if alert.kind == "drift" else alert.after) for alert in own)
        known = [
            Told(places[first], places.get(alert.after, places[first]), bool(alert.slower))
            for alert, first in began
            if first in places
        ]
        large = [change for change in series.changes if abs(change.after - change.before) >= SMALLEST]
        for change in fresh(large, known):
            cause = series.cause(change, track.clock)
            if cause is not None:
                yield _of_change(track, series, change, cause)


def _of_change(track: Track, series: Series, change: Change, cause: int) -> AlertRecord:
    """A step's evidence is the records on both sides of the new code; a drift's, those of its first and last night."""
    ends = (change.at, change.until - 1) if change.kind == "drift" else (cause - 1, cause)
    before, after = (series.points[end] for end in ends)
    was, now = (duration(math.exp(level)) for level in (change.before, change.after))
    word = "slower" if change.ratio > 1 else "faster"
    versions = "" if before.version == after.version else f", {before.version} to {after.version}"
    how = "drifted" if change.kind == "drift" else "is"
    size, besides = percent(abs(change.ratio - 1)), beside(series, change, cause)
    sentence = f"{track.place.title}{versions}: {how} {size} {word} ({was} to {now}, {track.clock} clock)"
    return AlertRecord(
        key=Key(**track.place._asdict(), method=series.conditions.method, environment=after.environment),
        outcome=Outcome(status="ok"),
        provenance=made_from(before.record, after.record),
        kind=change.kind,
        axis=track.axis,
        since=(before if change.kind == "drift" else after).created,
        before=before.record,
        after=after.record,
        was=str(was),
        now=str(now),
        slower=change.ratio > 1,
        ratio=change.ratio,
        interval=change.interval,
        beside=tuple(also.what for also in besides if also.what),
        sentence="; ".join((sentence, *(also.words for also in besides))),
    )


def made_from(*parents: str) -> Provenance:
    """Made now, from these records."""
    return Provenance(
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        project=version("tensor-assets"),
        parents=tuple(dict.fromkeys(parents)),
    )
