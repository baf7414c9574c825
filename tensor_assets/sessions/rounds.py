"""The timing itself: openings, then interleaved rounds of blocks, every block guarded before it counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from tensor_worker.messages import Cache, Run, Time, Timed

from tensor_assets.progress import announce
from tensor_assets.records import Block, DeviceState
from tensor_assets.sessions.floors import Floor
from tensor_assets.sessions.method import Axis, Method, Pace, opening, pace, traced_pace
from tensor_assets.sessions.nvml import DISQUALIFYING
from tensor_assets.sessions.participants import Participant
from tensor_assets.sessions.schedule import interleave
from tensor_assets.workers.failure import WorkerFailed

T = TypeVar("T")

# A block that takes this much longer than its pilots said has hung, and the whole host waits for it.
PATIENCE_FACTOR = 20
PATIENCE_SECONDS = 60.0


class Stopwatch(NamedTuple):
    """What timing needs beside the participants."""

    method: Method
    seed: int
    data: Mapping[str, Path]  # inputs by axis data: "random", "zeros"
    floors: Mapping[Cache, Floor]  # by cache state; empty where no ceiling is declared
    state: Callable[[], DeviceState | None]


def time_axis(participants: Sequence[Participant], axis: Axis, watch: Stopwatch) -> list[Block]:
    """Blocks of everyone alive on one axis, in the order they were timed. Trouble ends or excuses its participant."""
    paces = {one.index: found for one in participants if one.alive and (found := _open(one, axis, watch))}
    by_index = {one.index: one for one in participants}
    place = watch.method.axes.index(axis)
    rounds = interleave({index: chosen.blocks for index, chosen in paces.items()}, (watch.seed, place))
    blocks: list[Block] = []
    for number, order in enumerate(rounds):
        announce(f"timing {axis.label}: round {number + 1} of {len(rounds)}")
        for position, index in enumerate(order):
            one = by_index[index]
            if (timed := _block(one, axis, paces[index])) is None:
                continue
            state = watch.state()
            blocks.append(
                Block(
                    process=index,
                    round=number,
                    position=position,
                    clock=axis.clock,
                    cache=axis.cache,
                    data=axis.data,
                    invocations=timed.invocations,
                    elapsed_ns=timed.elapsed_ns,
                    device=state,
                    invalid=objection(timed, paces[index], state, watch.floors.get(axis.cache)),
                )
            )
    return blocks


def objection(timed: Timed, asked: Pace, state: DeviceState | None, floor: Floor | None) -> str:
    """Why a block does not count; empty where it does."""
    if timed.compiled:
        return f"{timed.compiled} compilations meanwhile"
    if timed.invocations != asked.invocations:
        return f"{timed.invocations} invocations timed, {asked.invocations} asked for"
    if timed.elapsed_ns <= 0:
        return "no time passed"
    sample = timed.elapsed_ns / timed.invocations
    if floor and sample < floor.ns:
        return f"{sample:.0f} ns is beyond the device's limit of {floor.ns:.0f} ns ({floor.limit})"
    if state and (slowed := DISQUALIFYING.intersection(state.throttle)):
        return f"throttled: {', '.join(sorted(slowed))}"
    return ""


def _open(one: Participant, axis: Axis, watch: Stopwatch) -> Pace | None:
    """Upload the axis's data, warm up, and choose the pace from pilots; None if this participant cannot be timed so."""
    return _attempt(one, axis, lambda: _opened(one, axis, watch))


def _opened(one: Participant, axis: Axis, watch: Stopwatch) -> Pace:
    if one.holds != axis.data:
        one.asked.ask(Run(inputs=str(watch.data[axis.data]), outputs=str(one.folder / "data.npz")))
        one.holds = axis.data
    if axis.clock == "device":
        return traced_pace(watch.method)
    probe = _seconds(one, axis, 1)
    warmups, pilots = opening(watch.method, probe)
    if warmups:
        _seconds(one, axis, warmups)
    return pace(watch.method, [_seconds(one, axis, 1) for _ in range(pilots)] or [probe], one.spent_seconds)


def _seconds(one: Participant, axis: Axis, invocations: int) -> float:
    """Seconds of one invocation, out of ``invocations`` timed together."""
    deadline = PATIENCE_SECONDS + PATIENCE_FACTOR * invocations * one.first_seconds
    timed = one.asked.ask(Time(invocations=invocations, clock=axis.clock, cache=axis.cache), deadline)
    one.spent_seconds += timed.elapsed_ns / 1e9
    return timed.elapsed_ns / 1e9 / max(1, timed.invocations)


def _block(one: Participant, axis: Axis, chosen: Pace) -> Timed | None:
    if not one.alive or axis.label in one.refused:
        return None
    request = Time(invocations=chosen.invocations, warmup=chosen.switch_warmups, clock=axis.clock, cache=axis.cache)
    deadline = PATIENCE_SECONDS + PATIENCE_FACTOR * chosen.seconds
    return _attempt(one, axis, lambda: one.asked.ask(request, deadline))


def _attempt(one: Participant, axis: Axis, ask: Callable[[], T]) -> T | None:
    """What ``ask`` returns; None where it failed: refused on this axis alone, or the end of this participant."""
    try:
        return ask()
    except WorkerFailed as failure:
        if failure.alive and failure.outcome.status in ("unavailable", "unsupported"):
            one.refused[axis.label] = failure.outcome.reason
        else:
            one.outcome = failure.outcome
        return None
