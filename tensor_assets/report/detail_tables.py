"""Tables of what lies inside a configuration: memory, roundings, candidates, profiles, trials of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from tensor_worker.artifacts import Search

from tensor_assets.report.columns import IDENTITY
from tensor_assets.report.reading import Configuration, Snapshot
from tensor_assets.sessions.effort import quickest

Row = dict[str, Any]


def identity(configuration: Configuration) -> Row:
    return {name: getattr(configuration.key, name) for name in IDENTITY}


def _buffers(configuration: Configuration) -> Iterator[Row]:
    plan = configuration.capture.plan
    for position, buffer in enumerate(plan.buffers if plan else ()):
        yield {**_placed(configuration, position), **msgspec.structs.asdict(buffer)}


def _roundings(configuration: Configuration) -> Iterator[Row]:
    plan = configuration.capture.plan
    for position, rounding in enumerate(plan.roundings if plan else ()):
        yield {**_placed(configuration, position), **msgspec.structs.asdict(rounding)}


def _candidates(configuration: Configuration) -> Iterator[Row]:
    search = configuration.capture.capture.search if configuration.capture.capture else None
    for position, candidate in enumerate(search.candidates if search else ()):
        known = msgspec.structs.asdict(candidate)
        known.pop("parameters")
        yield {**_placed(configuration, position), **known}


def _profiles(configuration: Configuration) -> Iterator[Row]:
    profile = configuration.profile
    for kernel in profile.kernels if profile else ():
        assert profile is not None
        fields = msgspec.structs.asdict(kernel)
        del fields["roofs"]  # several numbers for each of several levels: they stay in the record
        yield {
            **identity(configuration),
            **fields,
            "grid": "x".join(map(str, kernel.grid)),
            "block": "x".join(map(str, kernel.block)),
            "allocation": profile.allocation.id if profile.allocation else None,
            "profile": configuration.profile_id,
        }


def trials(snapshot: Snapshot) -> list[Row]:
    return [
        {
            **{name: getattr(record.key, name) for name in IDENTITY},
            "variant": trial.variant,
            "position": trial.position,
            "block": trial.block,
            "status": trial.outcome.status,
            "reason": trial.outcome.reason,
            "tried": trial.search.tried if trial.search else None,
            "untimed": trial.search.untimed if trial.search else None,
            "quickest_ns": _quickest_ns(trial.search),
            "scope": trial.search.scope if trial.search else None,
            "compile_seconds": trial.compile_seconds,
            "first_execution_seconds": trial.first_execution_seconds,
            "median_ns": trial.series.median_ns if trial.series else None,
            "allocation": record.allocation.id,
            "effort": record_id,
        }
        for record_id, record in snapshot.efforts.items()
        for trial in record.trials
    ]


def _quickest_ns(search: Search | None) -> float | None:
    place = quickest(search)
    return None if search is None or place is None else search.candidates[place].measured_ns


def _placed(configuration: Configuration, position: int) -> Row:
    return {**identity(configuration), "position": position, "capture": configuration.capture_id}


MAKERS: dict[str, Callable[[Configuration], Iterator[Row]]] = {
    "buffers": _buffers,
    "roundings": _roundings,
    "candidates": _candidates,
    "profiles": _profiles,
}
