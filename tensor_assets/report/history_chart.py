"""A configuration's times over its records: every night a dot, levels as lines, resets and changes marked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import altair as alt

from tensor_assets.history.beside import beside
from tensor_assets.history.series import Point, Series, Track
from tensor_assets.history.steps import Change
from tensor_assets.history.watching import SMALLEST
from tensor_assets.report.allocations import SHORT
from tensor_assets.report.charts import BAND, INK, QUIET, ROWS, Chart, finished
from tensor_assets.report.faces import Face
from tensor_assets.report.quantities import duration, percent

LINES, MARKS = "lines", "marks"
BELIEVED = 3  # records that a level takes
TICKS = 5  # about as many: Vega takes the nearest round step of time
# Span of the records in seconds, from where ticks lie no closer than the label's last part tells apart.
_LABELS = (
    (4 * 86400, "%Y-%m-%d", None),
    (600, "%m-%d %H:%M", "month, day and time, UTC"),
    (0, "%H:%M:%S.%L", "time, UTC"),
)
HEIGHT = 150
STEPS = 4  # words at the foot of the plot, where times from zero leave room: neighbours stand one above the other
ROOM = 14  # pixels of the time axis beyond the first and the last record
_SCALE = alt.Scale(type="utc", padding=ROOM)
_TIPS = {
    "version": "version", "text": "median", "made": "recorded", "allocation": "allocation", "device": "device",
    "code": "code",
    "record": "record",
}  # fmt: skip
_CODE = {"": "the same", "other": "another than before", "reread": "read otherwise by another adapter"}
_UNITS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0}


def history_chart(track: Track, face: Face) -> Chart | None:
    """None where there is one record: a dot has no history."""
    points = [point for series in track.series for point in series.points]
    if len(points) < 2:
        return None
    unit = duration(points[-1].median_ns).unit
    scale = _UNITS[unit]
    rows = [row for series in track.series for row in _rows(series, scale)]
    lines = [row for series in track.series for row in _lines(series, scale)]
    marks = _marks(track)
    y = alt.Y("median:Q", title=f"{unit}, {track.clock} clock", scale=alt.Scale(zero=True, nice=TICKS))
    layers = _layers(_moments([point.created for point in points]), y, face.colour, bool(lines), bool(marks))
    title, subtitle = _title(track, face), _subtitle(track)
    spec = finished(alt.layer(*layers).properties(width=640, height=HEIGHT), rows, title, subtitle)
    spec["datasets"] = {ROWS: rows, LINES: lines, MARKS: marks}
    place = track.place
    name = "-".join(("history", place.workload, place.compiler, place.variant, place.target, place.shape, track.clock))
    return Chart(name=name, spec=spec, title=title, subtitle="; ".join(subtitle), alternative=_words(track))


def _layers(x: alt.X, y: alt.Y, colour: str, levelled: bool, marked: bool) -> Iterator[alt.Chart]:
    """What holds no row is left out: the drawer would ask for its extent."""
    dots = alt.Chart(alt.NamedData(name=ROWS)).encode(x=x)
    levels = alt.Chart(alt.NamedData(name=LINES)).encode(x=x, y=alt.Y("level:Q"), detail="piece:N")
    rules = alt.Chart(alt.NamedData(name=MARKS)).encode(x=alt.X("day:T", scale=_SCALE))
    yield dots.mark_rule(color=BAND, strokeWidth=3).encode(y=alt.Y("low:Q"), y2="high:Q")
    if marked:
        yield rules.mark_rule(color=QUIET).encode(strokeDash=alt.StrokeDash("dash:N", scale=None, legend=None))
    yield dots.mark_point(filled=True, size=26, opacity=1, color=colour).encode(y=y)
    if levelled:
        yield levels.mark_line(color=INK, strokeWidth=1.5)
    if marked:
        foot = alt.Y("foot:Q", scale=None, axis=None)
        yield rules.mark_text(align="left", baseline="bottom", dx=4, fontSize=11, color=INK).encode(
            y=foot, text="text:N"
        )
    # On top, since a level's line would keep the pointer from the dots below it.
    tips = [alt.Tooltip(f"{name}:N", title=title) for name, title in _TIPS.items()]
    yield dots.mark_point(filled=True, size=120, opacity=0).encode(y=y, tooltip=tips)


def _moments(created: list[str]) -> alt.X:
    """The channel of the records' times: few ticks, each with a label of its own, however close the records lie."""
    seconds = [datetime.fromisoformat(moment).timestamp() for moment in created]
    span = max(seconds) - min(seconds)
    format, title = next((format, title) for least, format, title in _LABELS if span >= least)
    axis = alt.Axis(grid=False, format=format, tickCount=TICKS, labelOverlap="greedy", labelSeparation=8)
    return alt.X("day:T", title=title, scale=_SCALE, axis=axis)


def _rows(series: Series, scale: float) -> list[dict[str, Any]]:
    return [
        {
            "day": point.created,
            "made": point.created[:16].replace("T", " "),
            "median": point.median_ns / scale,
            "low": point.median_ns / scale * math.exp(-2 * point.deviation),
            "high": point.median_ns / scale * math.exp(2 * point.deviation),
            "text": str(duration(point.median_ns)),
            "version": point.version,
            "allocation": point.allocation[:SHORT],
            "device": point.device_uuid[:12] or "not told",
            "code": _CODE[turned] if place else "first of its series",
            "record": point.record[:12],
        }
        for place, (point, turned) in enumerate(zip(series.points, series.turns, strict=True))
    ]


def _lines(series: Series, scale: float) -> list[dict[str, Any]]:
    """Levels; none where there are too few records to believe one."""
    if len(series.points) < BELIEVED:
        return []
    found = []
    for piece in series.levels:
        ends = ((piece.start, piece.first), (piece.end - 1, piece.last))
        name = f"{series.conditions.method[:8]} {series.conditions.driver} {series.conditions.device} {piece.start}"
        found += [
            {"day": series.points[place].created, "level": math.exp(level) / scale, "piece": name}
            for place, level in ends
        ]
    return found


def _marks(track: Track) -> list[dict[str, Any]]:
    """In the order of time: changes as lines, where a series begins anew as dashes."""
    marks: list[dict[str, Any]] = []
    for series in track.series:
        if series.reset:
            marks.append({"day": series.points[0].created, "text": series.reset, "dash": [4, 3]})
        for change in large_changes(series):
            marks.append({"day": series.points[change.at].created, "text": change_words(change), "dash": [1, 0]})
    ordered = sorted(marks, key=lambda mark: str(mark["day"]))
    return [mark | {"foot": HEIGHT - 4 - 14 * (place % STEPS)} for place, mark in enumerate(ordered)]


def large_changes(series: Series) -> list[Change]:
    """Those that are worth a word; smaller ones are lines in the drawing."""
    return [change for change in series.changes if abs(change.after - change.before) >= SMALLEST]


def change_words(change: Change) -> str:
    way = "slower" if change.ratio > 1 else "faster"
    return f"{percent(abs(change.ratio - 1))} {way}{', a drift' if change.kind == 'drift' else ''}"


def _title(track: Track, face: Face) -> str:
    variant = f" {track.place.variant}" if track.place.variant != "default" else ""
    subject = f"{track.place.workload} × {face.title}{variant}"
    last = track.series[-1]
    found, records = large_changes(last), len(last.points)
    if not found and records < BELIEVED:
        return f"{subject}: {records} record{'s' if records != 1 else ''}, no level yet"
    if not found:
        return f"{subject}: one level over {records} records"
    when = last.points[found[-1].at]
    return f"{subject}: {change_words(found[-1])} since {when.created[:10]}{_with(last, found[-1], track.clock)}"


def _with(series: Series, change: Change, clock: str) -> str:
    """What came with a change: a version, or no other code; and whatever cannot be told apart from that."""
    cause = series.cause(change, clock)
    also = {one.what for one in beside(series, change, cause)}
    code = "no other code seen" if "reading" in also else "with the same code"
    came = f" ({series.points[change.at].version})" if cause is not None else f", {code}"
    return came + (", on another device" if "device" in also else "")


def _subtitle(track: Track) -> list[str]:
    last, points = track.series[-1], [point for series in track.series for point in series.points]
    turns = [turned for series in track.series for turned in series.turns]
    recoded, reread, resets = turns.count("other"), turns.count("reread"), len(track.series) - 1
    apart = ", not between devices" if len({point.hardware for point in points}) > 1 else ""
    return [
        f"{last.conditions.device}, {track.clock} clock, n = {len(points)} records {_allocations(points)}"
        + (f", begun anew {resets}×" if resets else "")
        + (f", other code {recoded}×" if recoded else "")
        + (f", plan read otherwise {reread}×" if reread else ""),
        f"dot: median of process medians; band: ±2 A/A standard deviations within a session{apart}"
        + ("; line: level" if any(len(series.points) >= BELIEVED for series in track.series) else ""),
    ]


def _allocations(points: list[Point]) -> str:
    """Under how many allocations the records were made; on how many devices, where every record tells its own."""
    count, devices = len({point.allocation for point in points}), {point.device_uuid for point in points}
    if count == 1:
        return "of one allocation"
    if "" in devices:
        return f"of {count} allocations"
    return f"of {count} allocations on {len(devices)} physical device{'s' if len(devices) != 1 else ''}"


def _words(track: Track) -> str:
    parts = []
    for series in track.series:
        began, ended = series.points[0].created[:10], series.points[-1].created[:10]
        said = ", ".join(change_words(change) for change in large_changes(series)) or (
            "one level" if len(series.points) >= BELIEVED else "no level yet"
        )
        reset = f"{series.reset}: " if series.reset else ""
        parts.append(f"{reset}{began} to {ended}, {said}")
    return "; ".join(parts)
