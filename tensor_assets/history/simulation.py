"""A year of nights of known truth: what is found, how late, and how often somebody is woken for nothing.

``python -m tensor_assets.history.simulation`` prints the table that the history page quotes. Other detectors are run on
the same data where they are installed (asv, ruptures); nothing here depends on them.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from tensor_assets.history.steps import PRICE, SHORTEST, Change, Floats, changes
from tensor_assets.history.watching import MOVES, SMALLEST, Told, fresh
from tensor_assets.sessions.simulation import MEASURED

Detector = Callable[[Sequence[float], float], list[Change]]
Plant = Literal["step", "drift"]

NIGHTS, SERIES, PROCESSES = 365, 120, 3
MEDIAN_OF_THREE = 0.449  # variance of the median of three normal values, of one's variance
NIGHT_EFFECT, NIGHT_ALIKE = 0.005, 0.3  # what a night adds to all processes, and how it resembles the last one
SIZES = (0.03, 0.05, 0.10, 0.20)
LATE = 60  # nights after which nobody would call it found


class Planted(NamedTuple):
    """A change that is there: ``size`` of the logs, from night ``at`` until ``until`` (the same for a step)."""

    kind: Plant
    at: int
    until: int
    size: float


class Year(NamedTuple):
    """One series: nightly log times, the A/A deviation that each night's record states, and the truth."""

    world: str
    logs: Floats
    floors: Floats
    planted: tuple[Planted, ...]
    resets: tuple[int, ...]  # nights on which method, driver or device changed


class Alert(NamedTuple):
    night: int  # on which it was told
    change: Change  # places count from the year's first night


class Score(NamedTuple):
    """Of one series, or added up over many."""

    planted: int = 0
    found: int = 0
    false: int = 0
    again: int = 0  # told more than once
    delays: tuple[int, ...] = ()

    def plus(self, other: Score) -> Score:
        return Score(
            self.planted + other.planted,
            self.found + other.found,
            self.false + other.false,
            self.again + other.again,
            self.delays + other.delays,
        )


def years(series: int, nights: int, seed: int) -> list[Year]:
    """A third of the series quiet, the others with steps, drifts, many outliers, or resets. At least 150 nights."""
    generator = np.random.default_rng(seed)
    worlds: tuple[tuple[str, int], ...] = (
        ("quiet", 4), ("steps", 3), ("drift", 2), ("outliers", 1), ("resets", 2),
    )  # fmt: skip
    names = [name for name, share in worlds for _ in range(share)]
    return [_year(names[index * len(names) // series], nights, generator) for index in range(series)]


def _year(world: str, nights: int, generator: np.random.Generator) -> Year:
    process = float(generator.choice(MEASURED))
    deviation = process * np.sqrt(MEDIAN_OF_THREE)
    logs = generator.normal(0, deviation, nights) + _nightly(nights, generator)
    hit = generator.random(nights) < (0.06 if world == "outliers" else 0.01)
    logs += hit * generator.exponential(0.20, nights)
    resets = tuple(sorted(generator.choice(np.arange(40, nights - 40), 2, replace=False).tolist()))
    planted: tuple[Planted, ...] = ()
    if world in ("steps", "resets"):
        planted = _steps(nights, generator, resets if world == "resets" else ())
    if world == "drift":
        planted = (_drift(nights, generator),)
    for one in planted:
        logs += one.size * np.clip((np.arange(nights) - one.at + 1) / (one.until - one.at + 1), 0, 1)
    for reset in resets if world == "resets" else ():
        logs[reset:] += generator.normal(0, 0.2)
    # What a record says of its noise is itself an estimate, pooled over some twelve degrees of freedom.
    floors = deviation * np.sqrt(generator.chisquare(12, nights) / 12)
    return Year(world, logs, floors, planted, resets if world == "resets" else ())


def _nightly(nights: int, generator: np.random.Generator) -> Floats:
    effect = generator.normal(0, NIGHT_EFFECT, nights)
    for night in range(1, nights):
        effect[night] = NIGHT_ALIKE * effect[night - 1] + np.sqrt(1 - NIGHT_ALIKE**2) * effect[night]
    return effect


def _steps(nights: int, generator: np.random.Generator, resets: Sequence[int]) -> tuple[Planted, ...]:
    """One to three, at least 30 nights apart from each other, from resets and from both ends."""
    found: list[Planted] = []
    for _ in range(int(generator.integers(1, 4))):
        night = int(generator.integers(30, nights - 30))
        if all(abs(night - other) >= 30 for other in [*(one.at for one in found), *resets]):
            size = float(generator.choice(SIZES) * generator.choice([-1, 1]))
            found.append(Planted("step", night, night, size))
    return tuple(sorted(found, key=lambda one: one.at))


def _drift(nights: int, generator: np.random.Generator) -> Planted:
    length = int(generator.integers(60, min(200, nights - 60)))
    begin = int(generator.integers(30, nights - length - 20))
    return Planted("drift", begin, begin + length, float(generator.uniform(0.06, 0.2) * generator.choice([-1, 1])))


def watch(year: Year, detector: Detector, every: int = 1) -> list[Alert]:
    """A year of looking every night (or every so many) at what is there so far, since the last reset."""
    alerts: list[Alert] = []
    for night in range(0, len(year.logs), every):
        begin = max((reset for reset in year.resets if reset <= night), default=0)
        told = [
            Told(alert.change.at - begin, alert.change.until - begin, alert.change.after > alert.change.before)
            for alert in alerts
            if alert.change.at >= begin
        ]
        logs = year.logs[begin : night + 1]
        found = detector(logs.tolist(), float(np.median(year.floors[begin : night + 1])))
        for change in fresh(found, told):
            moved = change._replace(at=change.at + begin, until=change.until + begin)
            alerts.append(Alert(night, moved))
    return alerts


def score(year: Year, alerts: Sequence[Alert]) -> Score:
    """Each alert belongs to the planted change it speaks of, or to none: then it is false."""
    first: dict[Planted, int] = {}
    false = again = 0
    for alert in alerts:
        planted = next((one for one in year.planted if _speaks_of(alert, one)), None)
        if planted is None:
            false += 1
        elif planted in first:
            again += 1
        else:
            first[planted] = alert.night - planted.at
    return Score(len(year.planted), len(first), false, again, tuple(first.values()))


def _speaks_of(alert: Alert, planted: Planted) -> bool:
    up = alert.change.after > alert.change.before
    # Where a slope begins is not sharp: it is near if it goes on while the planted change does.
    near = planted.at - MOVES <= alert.change.until and alert.change.at <= planted.until + MOVES
    early = alert.night < planted.at
    late = alert.night > planted.until + LATE
    return up == (planted.size > 0) and near and not late and not early


def ours(logs: Sequence[float], floor: float) -> list[Change]:
    return changes(logs, floor, SMALLEST)


def detectors() -> Iterator[tuple[str, Detector]]:
    """This project's, and those that are installed."""
    yield "tensor_assets", ours
    for name, module, make in (("asv", "asv.step_detect", _asv), ("ruptures PELT", "ruptures", _pelt)):
        try:
            yield name, make(importlib.import_module(module))
        except ImportError:
            continue


def _asv(step_detect: Any) -> Detector:
    """Its own steps on the times themselves; as in its feed, a level of one night counts for nothing."""

    def detect(logs: Sequence[float], floor: float) -> list[Change]:
        if len(logs) < 2:
            return []
        steps = step_detect.detect_steps(np.exp(logs).tolist())
        return _jumps([(left, right, float(np.log(value))) for left, right, value, *_ in steps if right - left > 1])

    return detect


def _pelt(ruptures: Any) -> Detector:
    """Least squares in units of the same noise, at the same price, with the same shortest level."""

    def detect(logs: Sequence[float], floor: float) -> list[Change]:
        if len(logs) < 2 * SHORTEST:
            return []
        values = np.asarray(logs)
        scaled = (values / max(floor, float(np.std(np.diff(values)) / np.sqrt(2))))[:, None]
        ends = ruptures.Pelt(model="l2", min_size=SHORTEST, jump=1).fit(scaled).predict(pen=PRICE)
        starts = [0, *ends[:-1]]
        return _jumps([(a, b, float(np.median(values[a:b]))) for a, b in zip(starts, ends, strict=True)])

    return detect


def _jumps(levels: Sequence[tuple[int, int, float]]) -> list[Change]:
    found = [Change("step", after[0], after[0], before[2], after[2], 0.0) for before, after in pairwise(levels)]
    return [change for change in found if abs(change.after - change.before) >= SMALLEST]


class Cost(NamedTuple):
    seconds: float
    detections: int


def measure(
    chosen: Sequence[Year], detector: Detector, every: int
) -> tuple[dict[str, Score], dict[float, Score], Cost]:
    """Scores by world and by size of step."""
    worlds: dict[str, Score] = {}
    sizes: dict[float, Score] = {}
    began = time.process_time()
    for year in chosen:
        alerts = watch(year, detector, every)
        worlds[year.world] = worlds.get(year.world, Score()).plus(score(year, alerts))
        for one in (planted for planted in year.planted if planted.kind == "step"):
            size = round(abs(one.size), 3)
            alone = score(year._replace(planted=(one,)), [alert for alert in alerts if _speaks_of(alert, one)])
            sizes[size] = sizes.get(size, Score()).plus(alone)
    spent = time.process_time() - began
    return worlds, sizes, Cost(spent, sum(-(-len(year.logs) // every) for year in chosen))


def table(chosen: Sequence[Year], every: int, only: Sequence[str] = ()) -> Table:
    printed = Table(
        *("detector", "world", "planted", "found", "missed", "false alarms", "told again", "delay, nights"),
        title=f"{len(chosen)} series × {len(chosen[0].logs)} nights, looked at every {every} nights",
    )
    for name, detector in detectors():
        if only and name not in only:
            continue
        worlds, sizes, cost = measure(chosen, detector, every)
        for world, found in worlds.items():
            printed.add_row(name, world, *_cells(found))
        everything = reduce(Score.plus, worlds.values())
        printed.add_row(name, "all", *_cells(everything))
        for size, found in sorted(sizes.items()):
            printed.add_row(name, f"  steps of {size:.0%}", *_cells(found))
        per = 1e3 * cost.seconds / cost.detections
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        printed.add_row(name, f"{per:.2f} ms a series and night; peak {memory:.0f} MiB", end_section=True)
    return printed


def _cells(found: Score) -> tuple[str, ...]:
    delays = f"{np.median(found.delays):.0f} (90 %: {np.percentile(found.delays, 90):.0f})" if found.delays else "–"
    counts = (found.planted, found.found, found.planted - found.found, found.false, found.again)
    return *(str(count) for count in counts), delays


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--series", type=int, default=SERIES)
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--every", type=int, default=1, help="look only every so many nights")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--detector", action="append", default=[], help="only this one; repeat for more")
    options = parser.parse_args()
    chosen = years(options.series, options.nights, options.seed)
    Console(width=150).print(table(chosen, options.every, options.detector))


if __name__ == "__main__":
    main()
