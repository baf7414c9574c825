"""What a bundle takes along, and what it leaves out and why."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.references import evidence_of, parents_of
from tensor_assets.evidence.store import Entry, EvidenceStore
from tensor_assets.records import Allocation, Evidence, Record


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Empty means all. What the chosen records were made from comes along, as far as the filters let it: a session of
    a chosen workload does, the captures of another compiler in it do not."""

    workloads: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()
    allocations: tuple[str, ...] = ()  # ids, device UUIDs or device names
    public_only: bool = False
    history: bool = False  # also records that are no longer the latest of their key
    without: tuple[str, ...] = ()  # media types to leave out, e.g. arrays that are made again from their seeds

    def declared(self) -> dict[str, list[str]]:
        """The filters that are set, as a bundle declares them."""
        lists = {
            "workloads": self.workloads,
            "compilers": self.compilers,
            "allocations": self.allocations,
            "without": self.without,
        }
        flags = {"public only": self.public_only, "history": self.history}
        return {name: sorted(values) for name, values in lists.items() if values} | {
            name: [] for name, value in flags.items() if value
        }


class Selection:
    """Records by id, evidence by hash, and the omissions: everything a chosen record refers to is in one of them."""

    def __init__(self, store: EvidenceStore, filters: Filters) -> None:
        self.records: dict[str, Entry] = {}
        self.evidence: dict[str, Evidence] = {}
        self.omitted: dict[str, str] = {}
        self.devices: dict[str, str] = {}
        self._store, self._filters = store, filters
        self._view = PublicView(store)
        self._already = store.omissions()
        entries = {entry.id: entry for entry in store.entries()}
        chosen = [id for id, record in store.records(history=filters.history) if self._matches(record)]
        self._take(chosen, entries)

    def _matches(self, record: Record) -> bool:
        wanted = self._filters.allocations
        if wanted:
            return bool(names_of(getattr(record, "allocation", None)) & set(wanted)) and self._may_come(record)
        return self._may_come(record)

    def _may_come(self, record: Record) -> bool:
        """Whether the filters on keys let the record in; one without a compiler belongs to all of them."""
        filters, key = self._filters, record.key
        workload = not filters.workloads or key.workload in filters.workloads or not key.workload
        compiler = not filters.compilers or key.compiler in filters.compilers or not key.compiler
        return workload and compiler

    def _take(self, chosen: Iterable[str], entries: dict[str, Entry]) -> None:
        """The chosen records and, from each to its parents, what may come along."""
        pending = list(chosen)
        while pending:
            id = pending.pop()
            if id in self.records or id in self.omitted:
                continue
            if id not in entries:
                self.omitted[id] = self._already.get(id, "not in the store it was exported from")
                continue
            record = self._store.load(entries[id])
            if reason := self._withheld(record):
                self.omitted[id] = reason
                continue
            self.records[id] = entries[id]
            self._take_evidence(record)
            pending.extend(parents_of(record))

    def _withheld(self, record: Record) -> str:
        if not self._may_come(record):
            return "outside the filters"
        return self._view.why_withheld(record) if self._filters.public_only else ""

    def _take_evidence(self, record: Record) -> None:
        allocation = getattr(record, "allocation", None)
        if allocation is not None:
            self.devices[allocation.id] = device_of(allocation)
        for evidence in evidence_of(record):
            if not self._store.has(evidence.sha256):
                self.omitted[evidence.sha256] = self._already.get(
                    evidence.sha256, "not in the store it was exported from"
                )
            elif self._filters.public_only and (reason := self._view.why_private(evidence)):
                self.omitted[evidence.sha256] = f"{evidence.name} is {reason}"
            elif evidence.media_type in self._filters.without:
                self.omitted[evidence.sha256] = f"{evidence.media_type} was asked to be left out"
            else:
                self.evidence[evidence.sha256] = evidence


def device_of(allocation: Allocation) -> str:
    """What a bundle calls the device of an allocation: "NVIDIA H200 GPU-898a…"."""
    return f"{allocation.device} {allocation.device_uuid}".strip()


def names_of(allocation: Allocation | None) -> set[str]:
    """What a user may call an allocation: its id, its device, its device's UUID."""
    return {allocation.id, allocation.device, allocation.device_uuid} - {""} if allocation else set()
