"""What a collection keeps: accepted records, what is pinned, and everything these refer to.

Accepted is the latest record of every key. A pin names records and evidence that something published links to.

A collection never takes what is younger than its grace, by the clock of the file system. Writers make what they are
about to refer to young, under a lock that the collection needs to remove anything, so on a local store they may work
meanwhile. A remote store has no such lock: there the grace must be longer than any writer takes from its first file to
its record.
"""

from __future__ import annotations

import re
import time

import msgspec

from tensor_assets.errors import SettingsError
from tensor_assets.evidence import notes, objects
from tensor_assets.evidence.files import STAGING, FileInfo
from tensor_assets.evidence.notes import Note
from tensor_assets.evidence.references import evidence_of, parents_of
from tensor_assets.evidence.store import EvidenceStore, parse_entry

GRACE_SECONDS = 24 * 3600.0  # longer than a campaign's longest cell, by far
LEAST_GRACE_SECONDS = 60.0

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """``removed``: paths that were removed, or would be; ``bytes`` is their size. ``young``: paths that nothing refers
    to, spared for their age."""

    dry_run: bool
    kept_records: int
    kept_evidence: int
    removed: tuple[str, ...]
    bytes: int
    young: tuple[str, ...]

    def summary(self) -> str:
        verb = "would remove" if self.dry_run else "removed"
        return (
            f"{verb} {len(self.removed):,} files, {self.bytes / 1e6:,.1f} MB; kept {self.kept_records:,} records and "
            f"{self.kept_evidence:,} evidence files; {len(self.young):,} unreferenced files are too young"
        )


def collect_garbage(store: EvidenceStore, dry_run: bool = True, grace_seconds: float = GRACE_SECONDS) -> Collection:
    """Remove what no kept record and no pin refers to. Raises EvidenceDamaged before removing anything if a record
    cannot be read: what it refers to is then unknown."""
    if grace_seconds < LEAST_GRACE_SECONDS:
        raise SettingsError(f"a grace of {grace_seconds:g} s is no protection; allowed from {LEAST_GRACE_SECONDS:g} s")
    kept = _Kept(store)
    now = time.time() if dry_run else _now(store)
    candidates = [info for info in store.files.walk("") if _is_garbage(info.path, kept)]
    old = [info for info in candidates if now - info.modified > grace_seconds]
    removed = old if dry_run else _remove(store, sorted(old, key=_records_first), now - grace_seconds)
    taken = {info.path for info in removed}
    return Collection(
        dry_run=dry_run,
        kept_records=len(kept.records),
        kept_evidence=len(kept.evidence),
        removed=tuple(sorted(taken)),
        bytes=sum(info.bytes for info in removed),
        young=tuple(sorted(info.path for info in candidates if info.path not in taken)),
    )


def pin(store: EvidenceStore, name: str, keep: tuple[str, ...]) -> None:
    """Keep these records (by id) and evidence files (by hash), and all they refer to, until ``unpin(name)``."""
    if not _NAME.fullmatch(name):
        raise SettingsError(f"a pin is named by letters, digits, '.', '_' and '-', not {name[:100]!r}")
    notes.write(store.files, "pins", Note(name=name, keep=tuple(sorted(set(keep)))))


def unpin(store: EvidenceStore, name: str) -> None:
    for path, note in list(notes.read_all(store.files, "pins")):
        if note.name == name:
            store.files.remove(path)


def pins(store: EvidenceStore) -> dict[str, int]:
    """Every pin and how much it names."""
    return {note.name: len(note.keep) for _, note in notes.read_all(store.files, "pins")}


class _Kept:
    def __init__(self, store: EvidenceStore) -> None:
        self.records: set[str] = set()
        self.evidence: set[str] = set()
        pinned = {name for _, note in notes.read_all(store.files, "pins") for name in note.keep}
        accepted = [id for id, _ in store.records()]
        entries = {entry.id: entry for entry in store.entries()}
        pending = [*accepted, *(name for name in pinned if name in entries)]
        self.evidence |= pinned - entries.keys()
        while pending:
            id = pending.pop()
            if id in self.records or id not in entries:
                continue
            self.records.add(id)
            record = store.load(entries[id])
            self.evidence |= {evidence.sha256 for evidence in evidence_of(record)}
            pending.extend(parents_of(record))


def _is_garbage(path: str, kept: _Kept) -> bool:
    """Only files that a store makes are ever removed."""
    if entry := parse_entry(path):
        return entry.id not in kept.records
    folder, _, name = path.partition("/")
    if folder == "objects":
        return name.rpartition("/")[2].removesuffix(objects.SUFFIX) not in kept.evidence
    return folder in (STAGING, "importing")


def _records_first(info: FileInfo) -> tuple[bool, str]:
    """So that a collection cut short never leaves a record without its evidence."""
    return not info.path.startswith("records/"), info.path


def _remove(store: EvidenceStore, old: list[FileInfo], before: float) -> list[FileInfo]:
    """Remove each file that is still old. A writer that came upon it meanwhile has made it young."""
    removed = []
    for info in old:
        with store.files.locked(exclusive=True):
            modified = store.files.modified(info.path)
            if modified is not None and modified < before:
                store.files.remove(info.path)
                removed.append(info)
    return removed


def _now(store: EvidenceStore) -> float:
    """The time by the clock that dates the store's files."""
    staged = store.files.stage()
    try:
        return staged.path.stat().st_mtime
    finally:
        store.files.discard(staged)
