"""Steps and drifts in a series of nightly log times: exact segmentation into flat and sloped pieces.

Values are natural logs, so a level of 0.05 above another is five per cent slower. The noise that decides is the larger
of what the records say (A/A, between processes of one session) and what the nights themselves show: a session's A/A
noise covers neither a reboot nor another day.

The segmentation minimizes squared error in units of that noise plus a price for every piece (optimal partitioning,
Jackson and others 2005), over flat and straight pieces at once, so that a slow drift is not cut into many steps. Single
outliers are pulled to their neighbours first (a running median of five, which keeps edges); so the last value alone
never makes a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SHORTEST = 3  # nights a level must last to be one: two bad nights in a row are weather
SLOPED = 21  # nights over which a slope is a drift; a shorter one could be a step seen unsharply
# Price of a piece, in squared standard deviations. ``history.simulation`` chose it: 120 quiet series, looked at every
# night for a year, must not give more than one false alarm.
PRICE = 25.0
SLOPE_PRICE = 12.0  # on top, for a slope
# Standard deviations from the running median beyond which a single value is pulled back: three such are below PRICE.
OUTLIER = 2.5
_NORMAL = 1.4826  # from a median absolute deviation to a standard deviation
_LAGS = (1, 7)  # nights between the values whose differences tell the spread and how alike neighbours are
_ALIKE = 0.7  # correlation of neighbouring nights is believed up to here


class Piece(NamedTuple):
    """Nights ``start`` to ``end`` (exclusive) on one straight line from level ``first`` to ``last``."""

    start: int
    end: int
    first: float
    last: float

    @property
    def sloped(self) -> bool:
        return self.first != self.last

    @property
    def level(self) -> float:
        return (self.first + self.last) / 2


class Change(NamedTuple):
    """A step at night ``at``, the first of the new level; or a drift that began there. Levels are logs."""

    kind: Literal["step", "drift"]
    at: int
    until: int  # the night from which it is over: the same for a step
    before: float
    after: float
    error: float  # standard error of the difference

    @property
    def ratio(self) -> float:
        return math.exp(self.after - self.before)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of the ratio, under the series' own noise."""
        reach = 1.96 * self.error
        return math.exp(self.after - self.before - reach), math.exp(self.after - self.before + reach)


class Spread(NamedTuple):
    """Noise of one night's value, and the correlation of neighbouring nights."""

    deviation: float
    alike: float

    @property
    def inflation(self) -> float:
        """How much more the mean of many nights varies than if nights were independent (of its variance)."""
        return (1 + self.alike) / (1 - self.alike)


def changes(logs: Sequence[float], floor: float, smallest: float = 0.0) -> list[Change]:
    """Every step and drift of at least ``smallest`` (of the logs), in order.

    ``floor``: standard deviation of one value by A/A; what the nights show counts where it is more.
    """
    values = np.asarray(logs, dtype=np.float64)
    if len(values) < 2 * SHORTEST:
        return []
    spread = spread_of(values, floor)
    found = _changes(values, pieces(values, spread), spread)
    return [change for change in found if abs(change.after - change.before) >= smallest]


def levels(logs: Sequence[float], floor: float) -> list[Piece]:
    """The flat and sloped pieces that ``changes`` lie between; one flat piece where there are too few nights."""
    values = np.asarray(logs, dtype=np.float64)
    if len(values) < 2 * SHORTEST:
        middle = float(np.median(values))
        return [Piece(0, len(values), middle, middle)]
    return pieces(values, spread_of(values, floor))


def spread_of(values: Floats, floor: float) -> Spread:
    """From differences of values some nights apart, whose median no step, drift or outlier moves much."""
    near, far = (_deviation(values[lag:] - values[:-lag]) for lag in _LAGS)
    deviation = max(floor, near, far if len(values) > 3 * _LAGS[-1] else 0.0, 1e-9)
    alike = 1 - (near / deviation) ** 2 if len(values) > 3 * _LAGS[-1] and deviation > floor else 0.0
    return Spread(deviation, min(max(alike, 0.0), _ALIKE))


def pieces(values: Floats, spread: Spread) -> list[Piece]:
    """The cheapest flat and sloped pieces, in order."""
    calm = _calmed(values, spread.deviation)
    sums = _Sums(calm / spread.deviation)
    price = PRICE * spread.inflation
    count = len(calm)
    cost = np.full(count + 1, np.inf)
    cost[0], cut = -price, np.zeros(count + 1, np.int64)
    for end in range(SHORTEST, count + 1):
        starts = np.arange(0, end - SHORTEST + 1)
        flat, sloped = sums.errors(starts, end)
        total = cost[starts] + price + np.minimum(flat, sloped + SLOPE_PRICE * spread.inflation)
        best = int(np.argmin(total))
        cost[end], cut[end] = total[best], best
    return [_fitted(calm, sums, spread, start, end) for start, end in pairwise(_cuts(cut))]


def _changes(values: Floats, found: Sequence[Piece], spread: Spread) -> list[Change]:
    """Jumps between pieces, and what sloped pieces gained."""
    told: list[Change] = []
    for place, piece in enumerate(found):
        before = found[place - 1] if place else None
        if before is not None:
            step = _step(before, piece, spread)
            own = values[piece.start : piece.end]
            lasting = np.abs(own - step.after) < np.abs(own - step.before)
            if lasting.sum() >= SHORTEST and abs(step.after - step.before) > 1.96 * step.error:
                told.append(step)
        if piece.sloped:
            told.append(Change("drift", piece.start, piece.end, piece.first, piece.last, _line_error(piece, spread)))
    return told


def _step(before: Piece, after: Piece, spread: Spread) -> Change:
    error = math.hypot(_end_error(before, spread), _end_error(after, spread))
    return Change("step", after.start, after.start, before.last, after.first, error)


def _end_error(piece: Piece, spread: Spread) -> float:
    """Standard error of the level at an end: the mean's, or twice that at the end of a fitted line."""
    error = spread.deviation * math.sqrt(spread.inflation / (piece.end - piece.start))
    return 2 * error if piece.sloped else error


def _line_error(piece: Piece, spread: Spread) -> float:
    """Of the difference of a line's ends: sqrt(12 / n) for evenly spaced nights."""
    return spread.deviation * math.sqrt(12 * spread.inflation / (piece.end - piece.start))


class _Sums:
    """Squared errors of every stretch from running sums, for flat and for sloped fits."""

    def __init__(self, values: Floats) -> None:
        place = np.arange(len(values), dtype=np.float64)
        columns = np.stack([values, values**2, place * values])
        self._sums = np.concatenate([np.zeros((3, 1)), np.cumsum(columns, axis=1)], axis=1)

    def errors(self, starts: npt.NDArray[np.int64], end: int) -> tuple[Floats, Floats]:
        """For stretches from each of ``starts`` to ``end``; a slope over too few nights costs without end."""
        count = (end - starts).astype(np.float64)
        total, squares, moments = (row[end] - row[starts] for row in self._sums)
        flat = squares - total**2 / count
        middle = (starts + end - 1) / 2
        leverage = count * (count**2 - 1) / 12
        covered = (moments - middle * total) ** 2 / np.maximum(leverage, 1.0)
        return flat, np.where(count >= SLOPED, flat - covered, np.inf)


def _fitted(calm: Floats, sums: _Sums, spread: Spread, start: int, end: int) -> Piece:
    flat, sloped = (float(error[0]) for error in sums.errors(np.array([start]), end))
    level = float(calm[start:end].mean())
    if flat <= sloped + SLOPE_PRICE * spread.inflation:
        return Piece(start, end, level, level)
    slope = float(np.polyfit(np.arange(end - start), calm[start:end], 1)[0])
    reach = slope * (end - start - 1) / 2
    return Piece(start, end, level - reach, level + reach)


def _cuts(cut: npt.NDArray[np.int64]) -> list[int]:
    places = [len(cut) - 1]
    while places[-1] > 0:
        places.append(int(cut[places[-1]]))
    return places[::-1]


def _calmed(values: Floats, deviation: float) -> Floats:
    """Values with each lonely outlier brought to within ``OUTLIER`` deviations of its neighbourhood."""
    padded = np.pad(values, 2, mode="reflect")
    centre = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    centre[-2:] = np.median(values[-5:]) if len(values) > 4 else centre[-2:]
    reach = OUTLIER * deviation
    return np.asarray(np.clip(values, centre - reach, centre + reach))


def _deviation(differences: Floats) -> float:
    if len(differences) == 0:
        return 0.0
    return float(np.median(np.abs(differences)) * _NORMAL / math.sqrt(2))
