"""What of the store the site carries along: public text and records, each under its own hash."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.key import canonical
from tensor_assets.records import Evidence, Record
from tensor_assets.report.reading import PublicStore

TEXT = ("text/", "application/json", "application/x-ndjson")
LARGEST = 2_000_000  # bytes; a reader who needs more has the store


class Found(msgspec.Struct, frozen=True):
    """One file a page may link to; ``href`` is empty where it is not carried, and ``why`` says so."""

    name: str
    href: str
    why: str = ""
    bytes: int = 0
    media_type: str = ""


class PublicFiles:
    """Copies evidence into ``folder/evidence`` the first time a page refers to it."""

    def __init__(self, store: PublicStore, folder: Path) -> None:
        self.store = store
        self.folder = folder / "evidence"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.found: dict[str, Found] = {}
        self._records: dict[str, Any] = {}

    def add(self, evidence: Evidence) -> Found:
        """The place of ``evidence`` on the site. Raises EvidenceMissing or EvidenceDamaged as the store does."""
        if evidence.sha256 not in self.found:
            self.found[evidence.sha256] = self._place(evidence)
        return self.found[evidence.sha256]

    def add_record(self, record_id: str, record: Record, name: str) -> Found:
        """A record as the JSON that its id is the hash of; one that had to be cleaned is carried so, and says it."""
        if record_id not in self.found:
            data = canonical(record)
            if _hash(data) != record_id:  # it was cleaned, or its type has gained a field since
                data = self.store.record_bytes(record_id)
            why = "" if _hash(data) == record_id else "cleaned: its hash is that of the original"
            (self.folder / f"{record_id}.json").write_bytes(data)
            self._records[record_id] = data
            self.found[record_id] = Found(name, f"evidence/{record_id}.json", why, len(data), "application/json")
        return self.found[record_id]

    def read_record(self, record_id: str) -> Any:
        """A record that was added, as plain JSON values. Raises SiteBroken for one that no page has added."""
        found = self._records.get(record_id)
        if found is None:
            raise SiteBroken(f"record {record_id[:12]}… is quoted and not on the site")
        if isinstance(found, bytes):
            found = self._records[record_id] = msgspec.json.decode(found)
        return found

    def __getitem__(self, sha256: str) -> Found:
        return self.found[sha256]

    def _place(self, evidence: Evidence) -> Found:
        why = self._why_not(evidence)
        if why:
            return Found(evidence.name, "", f"stays in the store: {why}", evidence.bytes, evidence.media_type)
        (self.folder / f"{evidence.sha256}.txt").write_bytes(self.store.read(evidence))
        return Found(evidence.name, f"evidence/{evidence.sha256}.txt", "", evidence.bytes, evidence.media_type)

    def _why_not(self, evidence: Evidence) -> str:
        if reason := self.store.why_private(evidence):
            return reason
        if not evidence.media_type.startswith(TEXT):
            return evidence.media_type
        return "too large for a page" if evidence.bytes > LARGEST else ""


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
