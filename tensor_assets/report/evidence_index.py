"""Everything the site shows, by hash: what it is, whose it is, where it lies."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tensor_assets.records import EffortRecord, Evidence, Record
from tensor_assets.report.matrix import configuration_page, workload_page
from tensor_assets.report.public import Found, PublicFiles
from tensor_assets.report.reading import Configuration, Snapshot


class EvidenceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One file or record; ``href`` is empty where only the store has it, and ``why`` says why."""

    sha256: str
    what: str
    workload: str
    where: str
    bytes: int
    href: str
    why: str
    page: str


def evidence_rows(snapshot: Snapshot, files: PublicFiles) -> list[EvidenceRow]:
    """A row for every record and evidence file that the report knows, workload by workload."""
    rows = [row for (workload, shape) in snapshot.fixtures for row in _fixtures(snapshot, files, workload, shape)]
    rows += [row for workload in snapshot.egraphs for row in _egraph(snapshot, files, workload)]
    rows += [_effort(record_id, record, files) for record_id, record in snapshot.efforts.items()]
    rows += [row for c in snapshot.configurations for row in _configuration(snapshot, files, c)]
    order = {workload: place for place, workload in enumerate(snapshot.workloads())}
    unique = {(row.sha256, row.where): row for row in rows}
    return sorted(unique.values(), key=lambda row: (order.get(row.workload, len(order)), row.where))


def _fixtures(snapshot: Snapshot, files: PublicFiles, workload: str, shape: str) -> Iterator[EvidenceRow]:
    record_id, record = snapshot.fixtures[workload, shape]
    where, page = f"{workload}, {shape}: fixtures", workload_page(workload)
    yield _row(record_id, files.add_record(record_id, record, "fixtures record"), workload, where, page)
    for fixture in record.fixtures:
        for evidence in (fixture.arrays, fixture.reference):
            yield _row(evidence.sha256, files.add(evidence), workload, where, page)


def _egraph(snapshot: Snapshot, files: PublicFiles, workload: str) -> Iterator[EvidenceRow]:
    record_id, record = snapshot.egraphs[workload]
    where, page = f"{workload}: our own e-graph", "part1.html"
    yield _row(record_id, files.add_record(record_id, record, "e-graph record"), workload, where, page)
    for evidence in (record.source, record.egraph):
        yield _row(evidence.sha256, files.add(evidence), workload, where, page)


def _effort(record_id: str, record: EffortRecord, files: PublicFiles) -> EvidenceRow:
    key = record.key
    where = f"{key.workload} × {key.compiler}: search effort · {key.target} · {key.shape}"
    found = files.add_record(record_id, record, "search effort record")
    return _row(record_id, found, key.workload, where, "measurements.html#effort")


def _configuration(snapshot: Snapshot, files: PublicFiles, c: Configuration) -> Iterator[EvidenceRow]:
    key, page = c.key, configuration_page(snapshot, c)
    where = f"{key.workload} × {key.compiler}, {key.variant} · {key.target} · {key.shape}"
    for record_id, record, name in _records(snapshot, c):
        yield _row(record_id, files.add_record(record_id, record, name), key.workload, where, page)
    for evidence in _named(c):
        yield _row(evidence.sha256, files.add(evidence), key.workload, where, page)


def _records(snapshot: Snapshot, c: Configuration) -> Iterator[tuple[str, Record, str]]:
    yield c.capture_id, c.capture, "capture record"
    if c.environment:
        yield c.environment_id, c.environment, "environment record"
    if c.benchmark:
        yield c.benchmark_id, c.benchmark, "benchmark record"
        if c.benchmark.session in snapshot.sessions:
            yield c.benchmark.session, snapshot.sessions[c.benchmark.session], "session record"
    if c.profile:
        yield c.profile_id, c.profile, "profile record"


def _named(c: Configuration) -> Iterator[Evidence]:
    for file in c.capture.stages:
        yield file.text
    for outcome in (c.capture.outcome, c.benchmark.outcome if c.benchmark else None):
        if outcome and outcome.log:
            yield outcome.log


def _row(sha256: str, found: Found, workload: str, where: str, page: str) -> EvidenceRow:
    return EvidenceRow(
        sha256=sha256,
        what=found.name,
        workload=workload,
        where=where,
        bytes=found.bytes,
        href=found.href,
        why=found.why,
        page=page,
    )
