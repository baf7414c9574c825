"""What of the store the site carries along: public text and records, each under its own hash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tensor_assets.records import Evidence, Record
from tensor_assets.report.reading import ReadableStore

TEXT = ("text/", "application/json", "application/x-ndjson")
LARGEST = 2_000_000  # bytes; a reader who needs more has the store
# Parts of an allocation that name one machine. Its ``id`` already tells allocations apart.
WITHHELD = ("device_uuid", "boot_id", "lease")


class Found(msgspec.Struct, frozen=True):
    """One file a page may link to; ``href`` is empty where it is not carried, and ``why`` says so."""

    name: str
    href: str
    why: str = ""
    bytes: int = 0
    media_type: str = ""


class PublicFiles:
    """Copies evidence into ``folder/evidence`` the first time a page refers to it."""

    def __init__(self, store: ReadableStore, folder: Path) -> None:
        self.store = store
        self.folder = folder / "evidence"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.found: dict[str, Found] = {}

    def add(self, evidence: Evidence) -> Found:
        """The place of ``evidence`` on the site. Raises EvidenceMissing or EvidenceDamaged as the store does."""
        if evidence.sha256 not in self.found:
            self.found[evidence.sha256] = self._place(evidence)
        return self.found[evidence.sha256]

    def add_record(self, record_id: str, record: Record, name: str) -> Found:
        """A record as indented JSON; what names the machine is left out and the file says so."""
        if record_id not in self.found:
            data = json.dumps(_public(record), indent=1, ensure_ascii=False).encode()
            path = f"evidence/{record_id}.json"
            (self.folder / f"{record_id}.json").write_bytes(data)
            self.found[record_id] = Found(name, path, "", len(data), "application/json")
        return self.found[record_id]

    def __getitem__(self, sha256: str) -> Found:
        return self.found[sha256]

    def _place(self, evidence: Evidence) -> Found:
        why = _held_back(evidence)
        if why:
            return Found(evidence.name, "", why, evidence.bytes, evidence.media_type)
        path = f"evidence/{evidence.sha256}.txt"
        (self.folder / f"{evidence.sha256}.txt").write_bytes(self.store.read(evidence))
        return Found(evidence.name, path, "", evidence.bytes, evidence.media_type)


def _held_back(evidence: Evidence) -> str:
    if evidence.private:
        return "private: it stays in the store"
    if not evidence.media_type.startswith(TEXT):
        return f"{evidence.media_type}: it stays in the store"
    if evidence.bytes > LARGEST:
        return "too large for a page: it stays in the store"
    return ""


def _public(record: Record) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(record)
    allocation = plain.get("allocation") or {}
    withheld = [f"allocation.{name}" for name in WITHHELD if allocation.pop(name, "")]
    return plain | ({"withheld": withheld} if withheld else {})
