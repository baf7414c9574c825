"""What a history lists: every record with its time, long stretches folded, and how captures ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

import msgspec

from tensor_assets.history.beside import beside
from tensor_assets.history.outcomes import Stretch
from tensor_assets.history.series import Place, Series, Track
from tensor_assets.history.steps import Change
from tensor_assets.records import Beside, Outcome
from tensor_assets.report.allocations import SHORT
from tensor_assets.report.history_chart import change_words, large_changes
from tensor_assets.report.quantities import percent

LISTED = 30  # records of one configuration: a month of nights; what tells something is listed beyond it
TURNS = {"": "", "other": "other code", "reread": "plan read otherwise by another adapter, no other code seen"}


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One record: when, what it says, and what is to be said of it."""

    when: str
    version: str
    allocation: str
    device: str  # UUID, empty where it is not told
    median_ns: float
    record: str
    what: str = ""
    telling: bool = False  # stays listed however many there are
    recoded: bool = False
    alerted: bool = False
    count: int = 1


class Folded(msgspec.Struct, frozen=True, kw_only=True):
    """Records that nothing is to be said of, one after another."""

    moments: tuple[Moment, ...]

    @property
    def count(self) -> int:
        return len(self.moments)

    @property
    def span(self) -> tuple[str, str]:
        days = [moment.when[:10] for moment in self.moments]
        return min(days), max(days)

    @property
    def range_ns(self) -> tuple[float, float]:
        medians = [moment.median_ns for moment in self.moments]
        return min(medians), max(medians)

    @property
    def recoded(self) -> int:
        return sum(moment.recoded for moment in self.moments)


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """Captures of one configuration that ended alike, one after another."""

    place: Place
    began: str
    ended: str
    count: int
    versions: tuple[str, ...]
    outcome: Outcome  # the last one's
    records: tuple[str, ...]  # the first and the last
    remarks: str


def moments(track: Track, alerted: Collection[str]) -> list[Moment]:
    """Every record of the track, newest first; ``alerted``: ids of the records that alerts name."""
    found = [moment for series in track.series for moment in _moments(track, series, alerted)]
    return sorted(found, key=lambda moment: moment.when, reverse=True)


def folded(found: list[Moment]) -> list[Moment | Folded]:
    """The newest ``LISTED`` and whatever tells something; the rest in one line a stretch."""
    room = LISTED - sum(moment.telling for moment in found)
    quiet = [moment for moment in found if not moment.telling]
    listed = {moment.record for moment in found if moment.telling} | {one.record for one in quiet[: max(room, 0)]}
    rows: list[Moment | Folded] = []
    for kept, group in groupby(found, key=lambda moment: moment.record in listed):
        own = tuple(group)
        rows += own if kept or len(own) == 1 else (Folded(moments=own),)
    return rows


def outcomes(stretches: Iterable[Stretch]) -> list[Ended]:
    """Newest first within a configuration."""
    rows = [_ended(stretch) for stretch in stretches]
    return sorted(sorted(rows, key=lambda row: row.began, reverse=True), key=lambda row: row.place)


def _moments(track: Track, series: Series, alerted: Collection[str]) -> Iterator[Moment]:
    said = {0: series.reset or "first record"}
    said |= {change.at: _said(track, series, change) for change in large_changes(series)}
    last = len(series.points) - 1
    for place, point in enumerate(series.points):
        parts = (said.get(place, ""), TURNS[series.turns[place]])
        yield Moment(
            when=point.created,
            version=point.version,
            allocation=point.allocation[:SHORT],
            device=point.device_uuid,
            median_ns=point.median_ns,
            record=point.record,
            what="; ".join(part for part in parts if part) or ("last record" if place == last else ""),
            telling=place in said or place == last or point.record in alerted,
            recoded=series.turns[place] == "other",
            alerted=point.record in alerted,
        )


def _said(track: Track, series: Series, change: Change) -> str:
    low, high = map(percent, sorted(abs(end - 1) for end in change.interval))
    cause = series.cause(change, track.clock)
    also = beside(series, change, cause)
    code = _unchanged({one.what for one in also}) if cause is None else ""
    parts = (f"{change_words(change)} ({low} to {high}, 95 %)", code, *(one.words for one in also))
    return "; ".join(part for part in parts if part)


def _unchanged(also: Collection[Beside | None]) -> str:
    """What is known of a change that no other code came with."""
    if "reading" in also:
        return ""
    return "the code is the same" if "adapter" in also else "the code is the same: the host's doing"


def _ended(stretch: Stretch) -> Ended:
    (first_id, first), (last_id, last) = stretch.first, stretch.last
    return Ended(
        place=stretch.place,
        began=first.provenance.created,
        ended=last.provenance.created,
        count=len(stretch.captures),
        versions=tuple(dict.fromkeys(record.version for _, record in stretch.captures if record.version)),
        outcome=last.outcome,
        records=tuple(dict.fromkeys((first_id, last_id))),
        remarks="; ".join(_remarks(stretch)),
    )


def _remarks(stretch: Stretch) -> Iterator[str]:
    if stretch.rejudged:
        yield "judged by another method than the record before: told to nobody"
    if stretch.methods > 1:
        yield f"{stretch.methods} versions of the adapter or of its judge"
    if stretch.reasons > 1:
        yield f"the last of {stretch.reasons} reasons"
