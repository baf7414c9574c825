"""What else became another with a change of times, so that nobody takes it for the compiler's alone."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from tensor_assets.history.series import Point, Series
from tensor_assets.history.steps import SHORTEST, Change
from tensor_assets.history.watching import MOVES
from tensor_assets.records import Beside


class Also(NamedTuple):
    """``what`` is None where the change is told apart from it after all, and a reader may wonder."""

    what: Beside | None
    words: str


def beside(series: Series, change: Change, cause: int | None = None) -> list[Also]:
    """The physical device and the adapter, where they are others; ``cause`` as ``Series.cause`` found it."""
    found = (_device(series, change), _adapter(series, change, cause))
    return [one for one in found if one is not None]


def _device(series: Series, change: Change) -> Also | None:
    """A device that ran often enough on both sides would show the change by itself."""
    sides = [Counter(point.hardware for point in side) for side in _sides(series, change)]
    if len(sides[0] | sides[1]) < 2:
        return None
    both = sorted(name for name in sides[0] if min(side[name] for side in sides) >= SHORTEST)
    kind = "physical device" if all(point.device_uuid for point in series.points) else "allocation"
    if not both and all(len(side) == 1 for side in sides):
        before, after = (next(iter(side))[:12] for side in sides)
        return Also("device", f"the {kind} is another one too ({before}, then {after})")
    if not both:
        return Also("device", f"no {kind} has {SHORTEST} records on both sides")
    if series.points[change.at - 1].hardware == series.points[change.at].hardware:
        return None
    which = both[0][:12] if len(both) == 1 else f"{len(both)} of them"
    return Also(None, f"on another {kind}, but {which} ran on both sides")


def _sides(series: Series, change: Change) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """The levels that a step lies between; of a drift, its two halves."""
    if change.kind == "drift":
        middle = (change.at + change.until) // 2
        return series.points[change.at : middle], series.points[middle : change.until]
    before = next(piece for piece in series.levels if piece.end == change.at)
    after = next(piece for piece in series.levels if piece.start == change.at)
    return series.points[before.start : before.end], series.points[after.start : after.end]


def _adapter(series: Series, change: Change, cause: int | None) -> Also | None:
    """An adapter also calls what it compiled, so another one may be why even where it read the code alike."""
    near = _near(series, change, cause)
    if len({point.reading.method for point in series.points[near.start - 1 : near.stop]}) < 2:
        return None
    turned = [series.turns[cause]] if cause is not None else [series.turns[place] for place in near]
    if "reread" in turned:
        return Also("reading", "read by another adapter: whether the code is the same cannot be told")
    return Also("adapter", "captured by another adapter too")


def _near(series: Series, change: Change, cause: int | None) -> range:
    """Records of which one, against the record before it, may show why."""
    if change.kind == "drift":
        return range(change.at + 1, change.until)
    if cause is None:
        return range(max(change.at - MOVES, 1), min(change.at + MOVES + 1, len(series.points)))
    return range(min(change.at, cause), max(change.at, cause) + 1)
