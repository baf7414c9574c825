"""What must be true of records whoever wrote them, worked out again from the raw material.

Hashes say that nothing changed since it was written. These checks say that what was written adds up: a forger who
hashes his forgery anew still has to make all of it agree.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from tensor_assets.contract.arrays import hash_arrays, load_arrays
from tensor_assets.errors import ArraysRefused, EvidenceDamaged, EvidenceMissing
from tensor_assets.evidence.key import one_line, title
from tensor_assets.records import (
    BenchmarkRecord,
    CaptureRecord,
    ClaimRecord,
    FixtureRecord,
    ProfileRecord,
    Record,
    SessionRecord,
    Timing,
)

ReadEvidence = Callable[[str], bytes]
GetRecord = Callable[[str], Record | None]

_NAMELESS = ("cpu", "sm_90", "cuda", "")  # targets that are not a device's own name


def broken_facts(record: Record, read: ReadEvidence, get: GetRecord) -> Iterator[str]:
    """One sentence for each fact that does not hold.

    ``read`` gives evidence by its hash (EvidenceMissing and EvidenceDamaged are reported elsewhere, and passed over
    here); ``get`` gives another record, or None where it is not at hand.
    """
    if isinstance(record, FixtureRecord):
        found = _fixtures(record, read)
    elif isinstance(record, CaptureRecord):
        found = _capture(record)
    elif isinstance(record, SessionRecord):
        found = _session(record)
    elif isinstance(record, ClaimRecord):
        found = _claim(record)
    elif isinstance(record, BenchmarkRecord | ProfileRecord):
        found = _derived(record, get(record.session) if record.session else None)
    else:
        found = iter(())
    return (one_line(f"{title(record)}: {sentence}") for sentence in found)


def _fixtures(record: FixtureRecord, read: ReadEvidence) -> Iterator[str]:
    for fixture in record.fixtures:
        try:
            hashes = hash_arrays(load_arrays(read(fixture.arrays.sha256)))
            hashes |= hash_arrays(load_arrays(read(fixture.reference.sha256)))
        except (EvidenceMissing, EvidenceDamaged):
            continue
        except ArraysRefused as error:
            yield f"fixture {fixture.name}: {error}"
            continue
        for name, expected in fixture.hashes.items():
            if hashes.get(name) != expected:
                yield f"fixture {fixture.name}: array {name} does not hash to what the record says"


def _capture(record: CaptureRecord) -> Iterator[str]:
    stages = {stage.name for stage in record.capture.stages} if record.capture else set()
    for file in record.stages:
        if file.stage not in stages:
            yield f"text of stage {file.stage}, which the capture does not have"
    if record.admission is None:
        return
    for verdict in record.admission.verdicts:
        if verdict.kind == "exact" and verdict.passed and verdict.mismatches:
            yield f"{verdict.output} on {verdict.fixture} passed with {verdict.mismatches:,} mismatches"
        if verdict.mismatches > verdict.elements:
            yield f"{verdict.output} on {verdict.fixture} has {verdict.mismatches:,} mismatches of {verdict.elements:,}"
    if record.admission.admitted and record.outcome.status != "ok":
        yield f"admitted, but {record.outcome.status}"
    if record.admission.admitted is False and record.outcome.status == "ok":
        yield "not admitted, but ok"
    decisive = [v for v in record.admission.verdicts if v.kind in ("exact", "form")]
    if record.admission.admitted and not all(verdict.passed for verdict in decisive):
        yield "admitted with an exact or form verdict that failed"


def _claim(record: ClaimRecord) -> Iterator[str]:
    wrong = [observed for observed in record.seen if not observed.passed]
    if record.verdict == "holds" and (wrong or not record.seen):
        yield f"{record.claim} holds, but " + (f"{wrong[0].value} was seen" if wrong else "nothing was seen")
    if record.verdict == "differs" and not wrong:
        yield f"{record.claim} differs, but everything seen is as expected"
    for observed in (*record.seen, *record.nearest):
        if observed.record not in record.provenance.parents:
            yield f"{record.claim} rests on record {observed.record[:12]}…, which is not among its parents"


def _session(record: SessionRecord) -> Iterator[str]:
    yield from _device(record.key.target, record.allocation.device, record.allocation.simulated)
    indices = [process.index for process in record.processes]
    if len(set(indices)) != len(indices):
        yield "two processes have one index"
    unknown = {block.process for block in record.blocks} - set(indices)
    if unknown:
        yield f"blocks of process {min(unknown)}, which the session does not have"
    impossible = sum(block.invocations <= 0 or block.elapsed_ns <= 0 for block in record.blocks)
    if impossible:
        yield f"{impossible:,} blocks have no invocation or took no time"
    slots = Counter((b.clock, b.cache, b.data, b.round, b.position) for b in record.blocks)
    twice = next((slot for slot, count in slots.items() if count > 1), None)
    if twice:
        yield f"two blocks at one place of the schedule ({'/'.join(map(str, twice))})"


def _derived(record: BenchmarkRecord | ProfileRecord, session: Record | None) -> Iterator[str]:
    if session is None:
        return
    if not isinstance(session, SessionRecord):
        yield "its session is not a session"
        return
    allocation = record.allocation
    if allocation is not None and allocation != session.allocation:
        yield f"allocation {allocation.id} ({allocation.device_uuid or allocation.device}), its session ran on " + (
            f"{session.allocation.id} ({session.allocation.device_uuid or session.allocation.device})"
        )
    if record.key.workload != session.key.workload:
        yield f"its session timed {session.key.workload}"
    if isinstance(record, BenchmarkRecord):
        for timing in record.timings:
            yield from _timing(record, timing, session)


def _timing(record: BenchmarkRecord, timing: Timing, session: SessionRecord) -> Iterator[str]:
    samples: dict[int, list[float]] = defaultdict(list)
    for block in session.blocks:
        if block.invocations <= 0:
            continue  # said of the session itself
        if not block.invalid and (block.clock, block.cache, block.data) == (timing.clock, timing.cache, timing.data):
            samples[block.process].append(block.elapsed_ns / block.invocations)
    owners = {process.index: (process.compiler, process.variant) for process in session.processes}
    for series in (*timing.series, *timing.apart):
        of = f"{timing.clock} {timing.cache} {timing.data}, process {series.process}"
        found = samples.get(series.process, [])
        if owners.get(series.process) != (record.key.compiler, record.key.variant):
            yield f"{of}: that process ran another configuration"
        if len(found) != series.samples:
            yield f"{of}: {series.samples} samples, the session has {len(found)}"
        elif not _close(statistics.median(found), series.median_ns):
            yield f"{of}: median {series.median_ns:g} ns, the session's blocks give {statistics.median(found):g} ns"
    if timing.series and timing.median_ns is not None:
        expected = statistics.median(series.median_ns for series in timing.series)
        if not _close(expected, timing.median_ns):
            yield f"{timing.clock} {timing.cache} {timing.data}: median {timing.median_ns:g} ns of {expected:g} ns"


def _device(target: str, device: str, simulated: bool) -> Iterator[str]:
    if target not in _NAMELESS and not simulated and device != target:
        yield f"filed under {target}, but ran on {device}"


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
