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
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from graphlib import TopologicalSorter
from typing import NamedTuple

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
    now = time.time() if dry_run else _now(store)
    sweep = _Sweep(store, dry_run, now - grace_seconds)
    kept = _closure(store, _accepted(store))
    sweep.over_records(kept.records)
    # Whatever record is still here keeps its evidence, the superseded and spared ones too.
    evidence = kept.evidence | _closure(store, sweep.spared_records()).evidence
    sweep.over("objects", lambda path: _content_name(path) not in evidence)
    # An interrupted import stays hidden until its last record is gone: what came into sight would lack its evidence.
    left = sweep.spared_records()
    sweep.over("importing", lambda path: notes.is_note(path) and left.isdisjoint(notes.read(store.files, path).hide))
    sweep.over(STAGING, lambda path: True)
    return Collection(
        dry_run=dry_run,
        kept_records=len(kept.records),
        kept_evidence=len(kept.evidence),
        removed=tuple(sorted(info.path for info in sweep.removed)),
        bytes=sum(info.bytes for info in sweep.removed),
        young=tuple(sorted(sweep.spared)),
    )


def pin(store: EvidenceStore, name: str, keep: tuple[str, ...]) -> None:
    """Keep these records (by id) and evidence files (by hash), and all they refer to, until ``unpin(name)``."""
    if not _NAME.fullmatch(name):
        raise SettingsError(f"a pin is named by letters, digits, '.', '_' and '-', not {name[:100]!r}")
    with store.files.locked(exclusive=False):
        notes.write(store.files, "pins", Note(name=name, keep=tuple(sorted(set(keep)))))
        # A collection that has looked for pins already leaves alone what is young when it comes to it.
        kept = _closure(store, set(keep))
        entries = (entry.path for entry in store.entries() if entry.id in kept.records)
        located = (store.locate(sha256) for sha256 in kept.evidence)
        for path in (*entries, *located):
            if path is not None:
                store.files.refresh(path)


def unpin(store: EvidenceStore, name: str) -> None:
    for path, note in list(notes.read_all(store.files, "pins")):
        if note.name == name:
            store.files.remove(path)


def pins(store: EvidenceStore) -> dict[str, int]:
    """Every pin and how much it names."""
    return {note.name: len(note.keep) for _, note in notes.read_all(store.files, "pins")}


class _Closure(NamedTuple):
    records: set[str]
    evidence: set[str]


def _accepted(store: EvidenceStore) -> set[str]:
    pinned = {name for _, note in notes.read_all(store.files, "pins") for name in note.keep}
    return pinned | {id for id, _ in store.records()}


def _closure(store: EvidenceStore, roots: set[str]) -> _Closure:
    """The records among ``roots``, what these were made from, and all evidence these name; what is no record's id is
    taken for evidence itself."""
    entries = {entry.id: entry for entry in store.entries(hidden=True)}
    found = _Closure(set(), roots - entries.keys())
    pending = [root for root in roots if root in entries]
    while pending:
        id = pending.pop()
        if id in found.records or id not in entries:
            continue
        found.records.add(id)
        record = store.load(entries[id])
        found.evidence.update(evidence.sha256 for evidence in evidence_of(record))
        pending.extend(parents_of(record))
    return found


def _content_name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(objects.SUFFIX)


class _Sweep:
    """Removes garbage that is older than ``before``, or in a dry run only says what it would remove."""

    def __init__(self, store: EvidenceStore, dry_run: bool, before: float) -> None:
        self.removed: list[FileInfo] = []
        self.spared: list[str] = []
        self._store, self._dry_run, self._before = store, dry_run, before

    def over(self, folder: str, is_garbage: Callable[[str], bool]) -> None:
        for info in list(self._store.files.walk(folder)):
            if is_garbage(info.path):
                self._take(info)

    def over_records(self, kept: set[str]) -> None:
        """Whoever was made from a record goes before it: one that is spared, however late, still has its parents."""
        files: dict[str, list[FileInfo]] = defaultdict(list)
        for info in self._store.files.walk("records"):
            if (entry := parse_entry(info.path)) and entry.id not in kept:
                files[entry.id].append(info)
        made_from = {e.id: parents_of(self._store.load(e)) for e in self._store.entries(hidden=True) if e.id in files}
        needed: set[str] = set()
        for id in _children_first(made_from):
            taken = [self._take(info, spare=id in needed) for info in files[id]]
            if not all(taken):
                needed.update(made_from[id])

    def _take(self, info: FileInfo, spare: bool = False) -> bool:
        taken = not spare and info.modified < self._before and (self._dry_run or self._remove(info.path))
        if taken:
            self.removed.append(info)
        else:
            self.spared.append(info.path)
        return taken

    def spared_records(self) -> set[str]:
        return {entry.id for entry in map(parse_entry, self.spared) if entry}

    def _remove(self, path: str) -> bool:
        """Unless a writer has come upon the file meanwhile, and made it young."""
        files = self._store.files
        with files.locked(exclusive=True):
            modified = files.modified(path)
            if modified is None or modified >= self._before:
                return False
            files.remove(path)
        return True


def _children_first(made_from: Mapping[str, Iterable[str]]) -> list[str]:
    """The records of ``made_from``, each after all of them that name it as a parent."""
    order: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(made_from, ()))
    for id, parents in made_from.items():
        for parent in parents:
            order.add(parent, id)
    return [id for id in order.static_order() if id in made_from]


def _now(store: EvidenceStore) -> float:
    """The time by the clock that dates the store's files."""
    staged = store.files.stage()
    try:
        return staged.path.stat().st_mtime
    finally:
        store.files.discard(staged)
