"""Which version is the first that differs: what to try next, and what the tries say. Pure.

A search by halves finds one change of state. If the state changed more than once, halves find one of the changes and
cannot know of the others, so what is concluded says how many versions were not tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Verdict = Literal["open", "found", "same", "several", "undecided"]
States = Mapping[str, str | None]  # version → its state; None where it says nothing (not installable, not testable)


class Conclusion(NamedTuple):
    """``first`` differs from ``last``, the newest version before it that was tried and says something."""

    verdict: Verdict
    last: str = ""
    first: str = ""
    between: tuple[str, ...] = ()  # versions between the two that say nothing: any of them may be the first
    turns: tuple[tuple[str, str], ...] = ()  # every (last, first) that is seen, where there are several
    untried: int = 0


def next_version(versions: Sequence[str], states: States, *, every: bool = False) -> str | None:
    """What to try next, None when nothing more can be learnt. ``versions`` are oldest first.

    The ends come first (where one says nothing, its neighbour stands in), then the middle of where the state changes
    from that of the oldest; with ``every``, all of them.
    """
    if every:
        return next((version for version in versions if version not in states), None)
    for order in (versions, versions[::-1]):
        for version in order:
            if version not in states:
                return version
            if states[version] is not None:
                break
    told = _telling(versions, states)
    if len(told) < 2 or states[told[0]] == states[told[-1]]:
        return None
    last, first = _turn(told, states)
    inside = versions[versions.index(last) + 1 : versions.index(first)]
    middle = (len(inside) - 1) / 2
    near = sorted(range(len(inside)), key=lambda place: (abs(place - middle), place))
    return next((inside[place] for place in near if inside[place] not in states), None)


def conclude(versions: Sequence[str], states: States, *, every: bool = False) -> Conclusion:
    """What the tries so far say."""
    untried = sum(version not in states for version in versions)
    if next_version(versions, states, every=every) is not None:
        return Conclusion("open", untried=untried)
    told = _telling(versions, states)
    if len(told) < 2:
        return Conclusion("undecided", untried=untried)
    turns = tuple((one, other) for one, other in pairwise(told) if states[one] != states[other])
    if not turns:
        return Conclusion("same", told[0], told[-1], untried=untried)
    last, first = turns[0] if every else _turn(told, states)
    inside = tuple(versions[versions.index(last) + 1 : versions.index(first)])
    silent = tuple(version for version in inside if states.get(version) is None and version in states)
    verdict: Verdict = "several" if len(turns) > 1 else "found"
    return Conclusion(verdict, last, first, silent, turns if len(turns) > 1 else (), untried)


def _telling(versions: Sequence[str], states: States) -> list[str]:
    return [version for version in versions if states.get(version) is not None]


def _turn(told: Sequence[str], states: States) -> tuple[str, str]:
    """The newest tried version in the oldest's state before the first one seen in another, and that one."""
    beginning = states[told[0]]
    first = next(place for place, version in enumerate(told) if states[version] != beginning)
    return told[first - 1], told[first]
