"""Step 5: each captured variant's view of its workload's session."""

from __future__ import annotations

from collections.abc import Sequence

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
    sessions = _sessions(space, workload, options.target, shape)
    elsewhere = space.store.imported()
    return [_benchmark(space, capture, _session_of(capture, sessions, elsewhere)) for capture in captures]


def _session_of(
    capture: Stored[CaptureRecord], sessions: Sequence[Stored[SessionRecord]], elsewhere: frozenset[str]
) -> Stored[SessionRecord] | None:
    """The last one timed here. What came in a bundle was timed where it came from, and keeps those times."""
    if capture.id in elsewhere:
        fitting = [session for session in sessions if capture.id in session.record.provenance.parents]
    else:
        fitting = [session for session in sessions if session.id not in elsewhere]
    return max(fitting, key=lambda session: session.record.provenance.created, default=None)


def _sessions(space: Workspace, workload: str, target: str, shape: str) -> list[Stored[SessionRecord]]:
    """One of a single compiler's two releases is none of them."""
    elsewhere, found = space.store.imported(), []
    for session_id, session in space.store.records(SessionRecord):
        key = session.key
        if (key.workload, key.target, key.shape) == (workload, target, shape) and not key.compiler:
            found.append(Stored(session_id, session))
            if session_id in elsewhere and (own := space.store.latest(SessionRecord, key, but=elsewhere)):
                found.append(Stored(*own))
    return found


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
