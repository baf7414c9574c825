"""What the device did in an invocation, from traced activities: which, how long, with which gaps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np
from tensor_worker.messages import Activity

from tensor_assets.records import KernelProfile
from tensor_assets.sessions.occupancy import occupancy_of

Invocation = tuple[Activity, ...]


def regular(invocations: Sequence[Invocation]) -> list[Invocation]:
    """The invocations that did the commonest sequence of activities: those can be averaged position by position."""
    if not invocations:
        return []
    commonest, _ = Counter(map(_sequence, invocations)).most_common(1)[0]
    return [invocation for invocation in invocations if _sequence(invocation) == commonest]


def kernel_profiles(invocations: Sequence[Invocation], device: str) -> tuple[KernelProfile, ...]:
    """One entry per activity of an invocation, in launch order, with medians over ``invocations`` (all regular)."""
    gaps = [gaps_ns(invocation) for invocation in invocations]
    return tuple(
        _profile(position, column, [of_one[position] for of_one in gaps], device)
        for position, column in enumerate(zip(*invocations, strict=True))
    )


def gaps_ns(invocation: Invocation) -> list[int]:
    """Idle device time before each activity; 0 for the first, and where an earlier one still runs."""
    ends = list(accumulate((activity.start_ns + activity.duration_ns for activity in invocation), max))
    starts = [activity.start_ns for activity in invocation]
    return [0, *(max(0, start - end) for start, end in zip(starts[1:], ends[:-1], strict=True))]


def span_ns(invocation: Invocation) -> int:
    """From the first activity's start to the last one's end."""
    ends = [activity.start_ns + activity.duration_ns for activity in invocation]
    return max(ends) - min(activity.start_ns for activity in invocation) if invocation else 0


def busy_ns(invocation: Invocation) -> int:
    """The time in which at least one activity ran."""
    return span_ns(invocation) - sum(gaps_ns(invocation)) if invocation else 0


def median(values: Iterable[float]) -> float | None:
    found = list(values)
    return float(np.median(found)) if found else None


def _sequence(invocation: Invocation) -> tuple[object, ...]:
    return tuple((activity.kind, activity.name, activity.grid, activity.block) for activity in invocation)


def _profile(position: int, column: Sequence[Activity], gaps: Sequence[int], device: str) -> KernelProfile:
    first = column[0]
    occupancy = occupancy_of(first, device)
    return KernelProfile(
        position=position,
        kind=first.kind,
        name=first.name,
        grid=first.grid,
        block=first.block,
        registers=first.registers,
        shared_bytes=first.shared_bytes,
        bytes=first.bytes,
        duration_ns=float(np.median([activity.duration_ns for activity in column])),
        gap_ns=float(np.median(gaps)),
        occupancy=occupancy.share if occupancy else None,
        occupancy_limit=occupancy.limit if occupancy else "",
        waves=occupancy.waves if occupancy else None,
    )
