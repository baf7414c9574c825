"""Every record of a configuration in the order they were made, as series that can be compared with themselves.

A series ends where its method, driver or device ends: what follows is another measurement, and is drawn apart.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from tensor_assets.history.code import Reading, Turn, reading_of, readings, turn
from tensor_assets.history.steps import Change, Piece, changes, levels
from tensor_assets.history.watching import MOVES
from tensor_assets.records import BenchmarkRecord, CaptureRecord, EnvironmentRecord, Key, Record, Timing
from tensor_assets.releases.accepted import environments_not_accepted

R = TypeVar("R", bound=Record)

# Standard deviation of the median of a few normal values, of one value's; beyond, sqrt(pi / 2n).
_MEDIAN_SPREAD = {1: 1.0, 2: 0.707, 3: 0.670, 4: 0.546, 5: 0.536}
# Where no record states its A/A noise: the largest that was measured on one core.
UNKNOWN_NOISE = 0.017
# A drift is the compiler's only if its code changed again and again meanwhile.
CAUSES_OF_DRIFT = 3


class History(Protocol):
    """Where series come from: ``evidence.public.PublicView``, with every record it ever held."""

    def records(self, record_type: type[R], *, history: bool = False) -> Iterator[tuple[str, R]]: ...


class Place(NamedTuple):
    """What a series is of, whichever environment made it."""

    workload: str
    shape: str
    compiler: str
    variant: str
    target: str
    patch: str = ""

    @classmethod
    def of(cls, key: Key) -> Place:
        return cls(key.workload, key.shape, key.compiler, key.variant, key.target, key.patch)

    @property
    def title(self) -> str:
        return f"{self.workload} × {self.compiler} ({self.variant}, {self.target}, {self.shape})"


class Conditions(NamedTuple):
    """What must not change within a series."""

    method: str
    driver: str
    device: str

    def differences(self, earlier: Conditions) -> str:
        """Which of them did, in words."""
        names = [name for name, mine, its in zip(self._fields, self, earlier, strict=True) if mine != its]
        return " and ".join(f"another {name}" for name in names)


class Point(NamedTuple):
    """One record's time."""

    record: str  # id
    created: str
    median_ns: float
    deviation: float  # of the log of the median, by A/A: within its session, not between devices
    reading: Reading  # of its code
    environment: str
    version: str
    allocation: str
    device_uuid: str

    @property
    def hardware(self) -> str:
        """Which physical device, where that is known; else what its session ran under."""
        return self.device_uuid or self.allocation


class Series(msgspec.Struct, frozen=True, dict=True):
    """Points under one set of conditions, oldest first. ``reset``: what sets it apart from the series before it."""

    conditions: Conditions
    points: tuple[Point, ...]
    reset: str = ""

    @cached_property
    def changes(self) -> list[Change]:
        """Every step and drift, however small."""
        return changes(self.logs, self.noise)

    @cached_property
    def levels(self) -> list[Piece]:
        return levels(self.logs, self.noise)

    @property
    def logs(self) -> list[float]:
        return [math.log(point.median_ns) for point in self.points]

    @property
    def noise(self) -> float:
        """A/A deviation of one point, as most records state it."""
        return median(point.deviation for point in self.points)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """Of every point, what its code is to that of the point before it."""
        readings = [point.reading for point in self.points]
        return ("", *(turn(earlier, later) for earlier, later in pairwise(readings)))

    def cause(self, change: Change, clock: str) -> int | None:
        """The point that may be why: another code than that of the one before it, and ``change`` came with it.

        On the host clock, whose time the compiler's runtime shares, anything of the environment is one. The same code
        that takes another time is the host's doing, and no alert; so is code that only our adapter read otherwise.
        """
        new = [place for place in range(1, len(self.points)) if self._new(place, clock)]
        if change.kind == "drift":
            within = [place for place in new if change.at <= place < change.until]
            return within[0] if len(within) >= CAUSES_OF_DRIFT else None
        near = [place for place in new if abs(place - change.at) <= MOVES]
        return min(near, key=lambda place: abs(place - change.at), default=None)

    def _new(self, place: int, clock: str) -> bool:
        """A release whose code another adapter read counts too: it is not known to be the same."""
        released = self.points[place].environment != self.points[place - 1].environment
        turned = self.turns[place]
        return turned == "other" or (released and (clock == "host" or turned == "reread"))


class Track(msgspec.Struct, frozen=True):
    """All series of one place and axis, in the order they began."""

    place: Place
    axis: str  # clock/cache/data
    series: tuple[Series, ...]

    @property
    def clock(self) -> str:
        return self.axis.partition("/")[0]


def tracks(store: History) -> list[Track]:
    """Every timed configuration, by every clock, cache state and data."""
    versions, left_out = _versions(store), environments_not_accepted(store)
    known = readings(store.records(CaptureRecord, history=True))
    points: dict[tuple[Place, str], dict[Conditions, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for record_id, record in store.records(BenchmarkRecord, history=True):
        if (record.key.compiler, record.key.environment) in left_out:
            continue  # a release on trial, or held
        if record.allocation is None:
            continue
        conditions = Conditions(record.key.method, record.allocation.driver, record.allocation.device)
        reading = reading_of(record, known)
        version = versions.get((record.key.compiler, record.key.environment), "")
        for timing in record.timings:
            if timing.median_ns is not None and timing.series:
                where = Place.of(record.key), f"{timing.clock}/{timing.cache}/{timing.data}"
                points[where][conditions].append(_point(record_id, record, timing, reading, version))
    return [Track(place, axis, _series(found)) for (place, axis), found in sorted(points.items())]


def _series(found: dict[Conditions, list[Point]]) -> tuple[Series, ...]:
    began = sorted(found.items(), key=lambda pair: min(point.created for point in pair[1]))
    made: list[Series] = []
    for conditions, points in began:
        reset = conditions.differences(made[-1].conditions) if made else ""
        made.append(Series(conditions, tuple(sorted(points, key=lambda point: point.created)), reset))
    return tuple(made)


def _point(record_id: str, record: BenchmarkRecord, timing: Timing, reading: Reading, version: str) -> Point:
    assert timing.median_ns is not None
    assert record.allocation is not None
    count = len(timing.series)
    spread = _MEDIAN_SPREAD.get(count, math.sqrt(math.pi / (2 * count)))
    return Point(
        record=record_id,
        created=record.provenance.created,
        median_ns=timing.median_ns,
        deviation=(UNKNOWN_NOISE if timing.noise is None else timing.noise) * spread,
        reading=reading,
        environment=record.key.environment,
        version=version,
        allocation=record.allocation.id,
        device_uuid=record.allocation.device_uuid,
    )


def _versions(store: History) -> dict[tuple[str, str], str]:
    """(compiler, environment hash) → the compiler's version."""
    environments: Iterable[tuple[str, EnvironmentRecord]] = store.records(EnvironmentRecord, history=True)
    return {(r.key.compiler, r.key.environment): r.version for _, r in environments if r.version}
