"""The documents that claims are asked of: every configuration of a store, every version of it, read when asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from tensor_assets.claims.documents import document_of
from tensor_assets.claims.query import MACHINE, Query
from tensor_assets.errors import EvidenceDamaged, EvidenceMissing, EvidencePrivate
from tensor_assets.records import EffortRecord, Evidence, Key, StageFile
from tensor_assets.report.reading import Configuration, PublicStore, configurations_of, every_configuration


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration that a claim may be asked of, and where its evidence lies."""

    workload: str
    shape: str
    compiler: str
    variant: str
    device: str
    version: str
    status: str
    reason: str
    created: str
    records: tuple[str, ...]  # ids, the capture's first


class Library:
    """Every capture of a store with what was measured of it, as documents. A document is made once.

    ``captures`` are ids where it is to hold these alone, whatever became of the release that they are of.
    """

    def __init__(self, store: PublicStore, captures: Iterable[str] | None = None) -> None:
        self._store = store
        found = every_configuration(store) if captures is None else configurations_of(store, captures)
        self._configurations = {c.capture_id: c for c in found}
        self._efforts = list(store.records(EffortRecord))
        self.subjects = {name: _subject(c, self._efforts) for name, c in self._configurations.items()}  # by capture id
        self._cells: dict[tuple[str, str], list[Subject]] = defaultdict(list)
        for subject in self.subjects.values():
            self._cells[subject.workload, subject.compiler].append(subject)
        self._documents: dict[tuple[str, bool], Any] = {}

    def of_cell(self, workload: str, compiler: str) -> list[Subject]:
        return self._cells.get((workload, compiler), [])

    def configuration(self, subject: Subject) -> Configuration:
        return self._configurations[subject.records[0]]

    def document(self, subject: Subject, *, deep: bool = True) -> Any:
        """The view of ``subject`` as plain JSON data; without ``deep`` no native text is read."""
        place = (subject.records[0], deep)
        if place not in self._documents:
            configuration = self._configurations[subject.records[0]]
            efforts = [record for _, record in _same_cell(configuration, self._efforts)]
            read = self._text if deep else _unread
            self._documents[place] = plain(document_of(configuration, efforts, read))
        return self._documents[place]

    def record(self, subject: Subject, query: Query) -> str:
        """Id of the record that an answer to ``query`` comes from; the capture's where it asks of several."""
        configuration = self.configuration(subject)
        effort = next((record_id for record_id, _ in _same_cell(configuration, self._efforts)), "")
        parts = {"timings": configuration.benchmark_id, "timeline": configuration.profile_id}
        parts |= {"effort": effort, "levels": effort}
        asked = {parts.get(field) or subject.records[0] for field in query.roots}
        return asked.pop() if len(asked) == 1 else subject.records[0]

    def texts(self, subject: Subject, query: Query) -> list[StageFile]:
        """The native texts that an answer to ``query`` was read off."""
        wanted = ({"sass"} if query.fields & MACHINE else set()) | ({"ptx"} if "ptx" in query.fields else set())
        return [
            file
            for stage, file in self.configuration(subject).stage_files()
            if stage.language in wanted or (stage.name in query.fields and "text" in query.fields)
        ]

    def _text(self, evidence: Evidence) -> str | None:
        try:
            return self._store.read(evidence).decode("utf-8", "replace")
        except (EvidenceMissing, EvidencePrivate, EvidenceDamaged):
            return None


def plain(document: Any) -> Any:
    """As JSON would have it: lists for tuples, so that queries and expectations compare alike."""
    return msgspec.json.decode(msgspec.json.encode(document))


def _unread(evidence: Evidence) -> str | None:
    return None


def _subject(c: Configuration, efforts: list[tuple[str, EffortRecord]]) -> Subject:
    key = c.key
    others = (c.environment_id, c.benchmark_id, c.profile_id, *(i for i, _ in _same_cell(c, efforts)))
    return Subject(
        workload=key.workload,
        shape=key.shape,
        compiler=key.compiler,
        variant=_variant(key),
        device=key.target,
        version=c.capture.version or (c.environment.version if c.environment else ""),
        status=c.capture.outcome.status,
        reason=c.capture.outcome.reason,
        created=c.capture.provenance.created,
        records=(c.capture_id, *(record_id for record_id in others if record_id)),
    )


def _variant(key: Key) -> str:
    """A build with a source patch answers only for claims that name it, like ``default-patch-*``."""
    return f"{key.variant}-patch-{key.patch[:12]}" if key.patch and "patch" not in key.variant else key.variant


def _same_cell(c: Configuration, efforts: list[tuple[str, EffortRecord]]) -> list[tuple[str, EffortRecord]]:
    """The newest search-effort comparison of this configuration's cell in the same environment, if there is one.

    No more than that: two comparisons come from two allocations or methods, and their trials are no common sample.
    """
    own = (c.key.workload, c.key.shape, c.key.compiler, c.key.target, c.key.environment, c.key.patch)
    found = [pair for pair in efforts if _cell(pair[1].key) == own]
    return [max(found, key=lambda pair: pair[1].provenance.created)] if found else []


def _cell(key: Key) -> tuple[str, ...]:
    return key.workload, key.shape, key.compiler, key.target, key.environment, key.patch
