"""Step 5: each captured variant's view of its workload's session."""

from __future__ import annotations

import msgspec

from tensor_assets.campaign.capture import captures_of
from tensor_assets.campaign.options import CellOptions
from tensor_assets.campaign.stored import Stored, file, provenance, reuse
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import AllocationMismatch, EvidenceMissing
from tensor_assets.records import BenchmarkRecord, CaptureRecord, Outcome, SessionRecord
from tensor_assets.sessions.benchmark import summarize


def benchmark_cell(
    space: Workspace, workload: str, compiler: str, options: CellOptions
) -> list[Stored[BenchmarkRecord]]:
    """One record for every captured variant, the default one first; raises EvidenceMissing if none was captured."""
    shape = space.shape(workload, options.shape)
    captures = captures_of(space, workload, options.target, shape, compiler)
    if not captures:
        raise EvidenceMissing(
            f"{compiler}|{workload} was not captured on {options.target} at {shape}: materialize selected_plan first"
        )
    session = newest_session(space, workload, options.target, shape)
    return [_benchmark(space, capture, session) for capture in captures]


def newest_session(space: Workspace, workload: str, target: str, shape: str) -> Stored[SessionRecord] | None:
    """The session of the accepted compilers that was timed last for this workload, target and shape.

    One of a single compiler's two releases is none of them.
    """
    sessions = [
        Stored(session_id, session)
        for session_id, session in space.store.records(SessionRecord)
        if (session.key.workload, session.key.target, session.key.shape) == (workload, target, shape)
        and not session.key.compiler
    ]
    return max(sessions, key=lambda stored: stored.record.provenance.created, default=None)


def _benchmark(
    space: Workspace, capture: Stored[CaptureRecord], session: Stored[SessionRecord] | None
) -> Stored[BenchmarkRecord]:
    record = _summarized(capture, session)
    found = reuse(space.store, BenchmarkRecord, record.key)
    if found and (found.record.session, found.record.fingerprint) == (record.session, record.fingerprint):
        return found
    return file(space.store, record)


def _summarized(capture: Stored[CaptureRecord], session: Stored[SessionRecord] | None) -> BenchmarkRecord:
    if session is None:
        return _blocked(capture, "no timing session of this workload, target and shape has run")
    try:
        record = summarize(session.id, session.record, capture.record)
    except AllocationMismatch as mismatch:
        return _blocked(capture, f"{mismatch}; materialize timing_session again", session)
    parents = (session.id, capture.id)
    return msgspec.structs.replace(record, provenance=provenance(parents))


def _blocked(
    capture: Stored[CaptureRecord], reason: str, session: Stored[SessionRecord] | None = None
) -> BenchmarkRecord:
    if capture.record.outcome.status != "ok":
        reason = f"its capture was {capture.record.outcome.status}: {capture.record.outcome.reason}"
    return BenchmarkRecord(
        key=msgspec.structs.replace(capture.record.key, method=session.record.key.method if session else ""),
        outcome=Outcome(status="blocked", reason=reason),
        provenance=provenance((capture.id,)),
        session="",
        fingerprint=capture.record.fingerprint,
    )
