"""A cell's view of its session: its processes summarized, its verdict against the baseline, the session's noise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import NamedTuple

import msgspec
import numpy as np

from tensor_assets.records import (
    BenchmarkRecord,
    Block,
    CaptureRecord,
    Outcome,
    Process,
    Provenance,
    Series,
    SessionRecord,
    Timing,
)
from tensor_assets.sessions.allocation import require_fingerprint
from tensor_assets.sessions.method import Axis
from tensor_assets.sessions.participants import configuration
from tensor_assets.sessions.series import summarize_samples
from tensor_assets.sessions.statistics import Group, compare_all, false_alarms, pool

PREFERRED_BASELINE = configuration("eager", "default")  # calls the vendor's library op by op


def summarize(
    session_id: str, session: SessionRecord, capture: CaptureRecord, *, arm: str = "", baseline: str = ""
) -> BenchmarkRecord:
    """One captured configuration's benchmark. It always returns a record; what was not timed is its outcome.

    ``baseline`` is a configuration label; by default the ``old`` arm for a ``new`` one, else eager, else the session's
    first. Raises AllocationMismatch if the session timed another implementation under this configuration's name.
    """
    label = configuration(capture.key.compiler, capture.key.variant, arm)
    mine = [process for process in session.processes if label_of(process) == label]
    for process in mine:
        require_fingerprint(f"{label} of session {session_id[:12]}", capture.fingerprint, process.captured)
    baseline = baseline or baseline_of(session, label)
    timings = tuple(_timing(session, axis, label, baseline) for axis in axes_of(session)) if mine else ()
    return BenchmarkRecord(
        key=msgspec.structs.replace(capture.key, method=session.key.method),
        outcome=_outcome(capture, session, mine, timings),
        provenance=Provenance(
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            project=version("tensor-assets"),
            parents=(session_id,),
        ),
        session=session_id,
        allocation=session.allocation,
        fingerprint=capture.fingerprint,
        timings=timings,
    )


def label_of(process: Process) -> str:
    return configuration(process.compiler, process.variant, process.arm)


def baseline_of(session: SessionRecord, label: str) -> str:
    """What ``label`` is compared with when nobody says otherwise."""
    if label.endswith("@new"):
        return label.removesuffix("new") + "old"
    labels = [label_of(process) for process in session.processes]
    return PREFERRED_BASELINE if PREFERRED_BASELINE in labels else min(labels, key=labels.index, default="")


def axes_of(session: SessionRecord) -> tuple[Axis, ...]:
    """Every axis the session set out to time, in its order."""
    planned = [Axis(*label.split("/")) for label in str(session.method.get("axes", "")).split()]  # type: ignore[arg-type]
    timed = [Axis(block.clock, block.cache, block.data) for block in session.blocks]
    return tuple(dict.fromkeys([*planned, *timed]))


class _Measured(NamedTuple):
    process: Process
    series: Series


def measured(session: SessionRecord, axis: Axis) -> list[_Measured]:
    """Usable processes with usable blocks on ``axis``, summarized.

    A process counts if its outputs were right after timing and it lived; one that only its tracing ended still counts
    on the other clocks, which came before.
    """
    samples: dict[int, list[Block]] = defaultdict(list)
    for block in session.blocks:
        if not block.invalid and (block.clock, block.cache, block.data) == (axis.clock, axis.cache, axis.data):
            samples[block.process].append(block)
    found = []
    for process in session.processes:
        usable = process.recheck is True and (process.outcome.status == "ok" or not axis.traced)
        if usable and (blocks := samples[process.index]):
            per_invocation = [block.elapsed_ns / block.invocations for block in blocks]
            found.append(_Measured(process, summarize_samples(process.index, process.replicate, per_invocation)))
    return found


def groups_of(found: Sequence[_Measured]) -> tuple[list[Group], list[Group]]:
    """Groups of one implementation each: those of the captured ones, which are compared, and those that stay apart."""
    medians: dict[tuple[str, str, bool], list[float]] = defaultdict(list)
    for process, series in found:
        medians[label_of(process), process.fingerprint, _captured(process)].append(series.median_ns)
    captured = [Group(label, tuple(values)) for (label, _, same), values in medians.items() if same]
    apart = [Group(label, tuple(values)) for (label, _, same), values in medians.items() if not same]
    return captured, apart


def _timing(session: SessionRecord, axis: Axis, label: str, baseline: str) -> Timing:
    found = measured(session, axis)
    captured, apart = groups_of(found)
    noise, alarms = pool([*captured, *apart]), false_alarms([*captured, *apart])
    if not any(group.configuration == label for group in captured):
        captured.append(Group(label, ()))
    mine = [one for one in found if label_of(one.process) == label]
    series = tuple(one.series for one in mine if _captured(one.process))
    floor = session.method.get(f"floor_{axis.cache}_ns")
    return Timing(
        clock=axis.clock,
        cache=axis.cache,
        data=axis.data,
        series=series,
        median_ns=float(np.median([one.median_ns for one in series])) if series else None,
        noise=noise.deviation if noise else None,
        noise_degrees=noise.degrees if noise else 0,
        aa_pairs=alarms.pairs,
        aa_alarms=alarms.alarms,
        apart=tuple(one.series for one in mine if not _captured(one.process)),
        refused="" if series else _refusal(session, axis, label),
        floor_ns=float(floor) if floor is not None else None,
        comparison=compare_all(captured, baseline, apart)[label] if label != baseline else None,
    )


def _captured(process: Process) -> bool:
    return process.fingerprint == process.captured


def _refusal(session: SessionRecord, axis: Axis, label: str) -> str:
    """Why nothing usable was measured: the axis was refused, the blocks were invalid, or the processes ended."""
    mine = [process for process in session.processes if label_of(process) == label]
    indices = {process.index for process in mine}
    refused = [process.refused[axis.label] for process in mine if axis.label in process.refused]
    invalid = [
        block.invalid
        for block in session.blocks
        if block.process in indices and block.invalid and Axis(block.clock, block.cache, block.data) == axis
    ]
    ended = [process.outcome.reason for process in mine if process.outcome.status != "ok"]
    apart = [
        f"process {p.replicate + 1} ran another implementation than was captured" for p in mine if not _captured(p)
    ]
    return next(iter([*refused, *invalid, *ended, *apart]), "no block was timed")


def _outcome(
    capture: CaptureRecord, session: SessionRecord, mine: Sequence[Process], timings: Sequence[Timing]
) -> Outcome:
    if capture.outcome.status != "ok":
        return Outcome(status="blocked", reason=f"its capture was {capture.outcome.status}: {capture.outcome.reason}")
    if not mine:
        return Outcome(status="blocked", reason=session.outcome.reason or "the session timed other configurations")
    if any(timing.median_ns is not None for timing in timings):
        return Outcome(status="ok")
    troubled = next((process.outcome for process in mine if process.outcome.status != "ok"), None)
    return troubled or Outcome(status="rejected", reason=timings[0].refused if timings else "no block was timed")
