"""The public view of a store: the only thing the site's builder, or a public bundle, may read.

What was put through ``EvidenceStore`` was cleaned on its way in. The view looks again, because a record or a file may
have come in a bundle, or before a rule existed: a record is shown cleaned, a file that is not clean is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, overload
from weakref import WeakKeyDictionary

from tensor_assets.errors import EvidencePrivate
from tensor_assets.evidence import media
from tensor_assets.evidence.already_public import ALREADY_PUBLIC
from tensor_assets.evidence.key import canonical, kind_of, one_line, title
from tensor_assets.evidence.redaction import redact, redact_record
from tensor_assets.evidence.references import evidence_of
from tensor_assets.evidence.seen_clean import SeenClean
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Evidence, Key, Record

R = TypeVar("R", bound=Record)

# Of each store of this process, the records that were looked through and hold nothing to replace: every step of a
# report reads them all again.
_CLEAN: WeakKeyDictionary[EvidenceStore, set[str]] = WeakKeyDictionary()


class PublicView:
    """Reads like a store, and has nothing to write with."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store
        self._seen_clean: SeenClean | None = None
        self._private: set[str] | None = None
        self._reasons: dict[str, str] = {}  # by SHA-256, of files already looked at

    def note_clean(self, folder: Path) -> None:
        """From now on, what is read through and found clean is noted in ``folder``, a cache, and read through once."""
        self._seen_clean = SeenClean(folder, self._store.identity)

    @property
    def url(self) -> str:
        return self._store.url

    @overload
    def records(self, record_type: type[R], *, history: bool = False) -> Iterator[tuple[str, R]]: ...
    @overload
    def records(self, record_type: str | None = None, *, history: bool = False) -> Iterator[tuple[str, Record]]: ...
    def records(
        self, record_type: str | type[Any] | None = None, *, history: bool = False
    ) -> Iterator[tuple[str, Record]]:
        kind = kind_of(record_type) if record_type else None
        for record_id, record in self._store.records(kind, history=history):
            if not self._unsafe_key(record.key):
                yield record_id, self._clean(record_id, record)

    @overload
    def latest(self, record_type: type[R], key: Key) -> tuple[str, R] | None: ...
    @overload
    def latest(self, record_type: str, key: Key) -> tuple[str, Record] | None: ...
    def latest(self, record_type: str | type[Any], key: Key) -> tuple[str, Record] | None:
        found = self._store.latest(kind_of(record_type), key)
        return (found[0], self._clean(*found)) if found and not self._unsafe_key(key) else None

    def get(self, record_id: str) -> Record:
        """Raises EvidenceMissing, EvidenceDamaged, EvidencePrivate."""
        record = self._store.get(record_id)
        if reason := self._unsafe_key(record.key):
            raise EvidencePrivate(f"record {record_id[:12]}…: its key holds {reason}")
        return self._clean(record_id, record)

    def record_bytes(self, record_id: str) -> bytes:
        """A record as its id is the hash of; cleaned, and so under another hash, where it had to be.

        Raises EvidenceMissing, EvidenceDamaged, EvidencePrivate.
        """
        record = self.get(record_id)
        withheld = self.why_withheld(self._store.get(record_id))
        return canonical(record) if withheld else self._store.record_bytes(record_id)

    def has(self, evidence: Evidence) -> bool:
        """Whether the file is here and may be shown."""
        return self._store.has(evidence.sha256) and not self.why_private(evidence)

    def read(self, evidence: Evidence) -> bytes:
        """The content. Raises EvidencePrivate with the reason, EvidenceMissing, EvidenceDamaged."""
        if reason := self.why_private(evidence):
            raise EvidencePrivate(one_line(f"{evidence.name} (sha256:{evidence.sha256[:12]}…) is {reason}"))
        return self._store.read(evidence)

    def why_private(self, evidence: Evidence) -> str:
        """Why this file is not shown, or "". Raises EvidenceMissing, EvidenceDamaged."""
        if evidence.private or evidence.sha256 in self._private_somewhere():
            return "private"
        if media.is_private(evidence.media_type, evidence.name):
            return f"private by type ({evidence.media_type})"
        if evidence.sha256 not in self._reasons:
            self._reasons[evidence.sha256] = self._unclean(evidence)
        return self._reasons[evidence.sha256]

    def why_withheld(self, record: Record) -> str:
        """Why this record cannot leave as it is, or "": its bytes are its identity, so it cannot leave cleaned."""
        _, counts = redact_record(record, self._store.identity)
        found = self._unsafe_key(record.key) or ", ".join(sorted(counts))
        return f"{title(record)} is withheld, since it holds {found}" if found else ""

    def _unclean(self, evidence: Evidence) -> str:
        here = self._store.has(evidence.sha256)
        if not here and (why := self._store.omissions().get(evidence.sha256)):
            return f"not here: {why}"
        if here and self._seen_clean is not None and evidence in self._seen_clean:
            return ""
        found = self._read_through(evidence)
        if self._seen_clean is not None and not found:
            self._seen_clean.note(evidence)
        return found

    def _read_through(self, evidence: Evidence) -> str:
        data = self._store.read(evidence)
        if evidence.media_type == media.ARRAYS:
            return "" if media.only_numbers(data) else "private, since it holds more than arrays of numbers"
        if b"\0" in data:
            return "private, since it is no text"
        if evidence.sha256 in ALREADY_PUBLIC:
            return ""
        _, counts = redact(data.decode("utf-8", "surrogateescape"), self._store.identity)
        return f"withheld, since it holds {', '.join(sorted(counts))}" if counts else ""

    def _unsafe_key(self, key: Key) -> str:
        """A key cannot be cleaned without becoming another one."""
        text = canonical(key).decode()
        _, counts = redact(text, self._store.identity, versions=True)
        return ", ".join(sorted(counts))

    def _clean(self, record_id: str, record: Record) -> Record:
        """An id is the hash of what the record says, so one that held nothing to replace never will."""
        known = _CLEAN.setdefault(self._store, set())
        if record_id in known:
            return record
        cleaned, counts = redact_record(record, self._store.identity)
        if not counts:
            known.add(record_id)
        return cleaned

    def _private_somewhere(self) -> set[str]:
        """The same bytes may be private in one record and not in another: private wins."""
        if self._private is None:
            everything = self._store.records(history=True)
            found = (evidence for _, record in everything for evidence in evidence_of(record))
            self._private = {evidence.sha256 for evidence in found if evidence.private}
        return self._private
