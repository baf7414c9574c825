"""Hash everything again and see that it all holds together."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from tensor_assets.errors import BundleRefused, EvidenceDamaged, EvidenceMissing, RecordRefused, SettingsError
from tensor_assets.evidence import notes, objects
from tensor_assets.evidence.bundle import Member
from tensor_assets.evidence.facts import broken_facts
from tensor_assets.evidence.files import LOCK, STAGING, FileInfo
from tensor_assets.evidence.findings import Finding, Kind, Report
from tensor_assets.evidence.key import digest, kind_of, one_line, title
from tensor_assets.evidence.published import verify_site
from tensor_assets.evidence.references import evidence_of, parents_of
from tensor_assets.evidence.store import MARKER, MARKER_CONTENT, Entry, EvidenceStore, parse_entry
from tensor_assets.evidence.transfer import verify_bundle
from tensor_assets.records import Record

_OBJECT = re.compile(r"objects/([0-9a-f]{2})/(\1[0-9a-f]{62})([.]zst)?")


def verify(target: str | Path, progress: Callable[[int], None] | None = None) -> Report:
    """A store, a bundle or a built site, whichever ``target`` is. Raises SettingsError if it is none of them."""
    path = Path(target)
    if "://" in str(target) or (path / MARKER).is_file() or (path / "records").is_dir():
        return verify_store(EvidenceStore(target), progress)
    if path.is_file():
        return _bundle_report(path)
    if (path / "index.html").is_file():
        return verify_site(path)
    raise SettingsError(f"{path}: there is no store, no bundle and no built site")


def verify_store(store: EvidenceStore, progress: Callable[[int], None] | None = None) -> Report:
    """Everything in the store: bytes against names, records against what they refer to, facts against raw material.

    ``progress`` is told the number of bytes hashed so far. Memory does not grow with the size of the files.
    """
    started = time.monotonic()
    audit = _Audit(store)
    audit.hash_objects(progress or (lambda done: None))
    audit.read_records()
    audit.find_orphans()
    return Report(
        url=store.url,
        files=audit.files,
        bytes=audit.bytes,
        records=len({entry.id for entry in audit.entries}),
        root=root_of(audit.entries),
        seconds=time.monotonic() - started,
        findings=tuple(sorted(audit.findings, key=lambda finding: (not finding.failed, finding.kind, finding.path))),
    )


def _bundle_report(path: Path) -> Report:
    started = time.monotonic()
    findings: list[Finding] = []
    members: tuple[Member, ...] = ()
    omitted: dict[str, str] = {}
    try:
        declaration = verify_bundle(path)
    except BundleRefused as refusal:
        findings.append(Finding("refused", str(path), str(refusal)))
    else:
        members, omitted = declaration.members, declaration.omitted
    findings += [Finding("omitted", name, f"sha256:{name[:12]}…: {why}") for name, why in omitted.items()]
    entries = [Entry(m.kind, m.key_digest, m.sequence, m.sha256) for m in members if m.kind]
    return Report(
        url=str(path),
        files=len(members),
        bytes=path.stat().st_size,
        records=len(entries),
        root=root_of(entries),
        seconds=time.monotonic() - started,
        findings=tuple(findings),
    )


def root_of(entries: Iterable[Entry]) -> str:
    """One hash for a set of records: their ids, keys and order."""
    return hashlib.sha256("\n".join(sorted(entry.path for entry in entries)).encode()).hexdigest()


class _Audit:
    def __init__(self, store: EvidenceStore) -> None:
        self.store = store
        self.files = self.bytes = 0
        self.findings: list[Finding] = []
        self.sizes: dict[str, int | None] = {}  # SHA-256 of every object → bytes of its content, None where damaged
        self.entries: list[Entry] = []
        self.named: set[str] = set()  # evidence that some record names
        self.omitted: dict[str, str] = {}
        self.recent: dict[str, Record | None] = {}

    def report(self, kind: Kind, path: str, message: str) -> None:
        self.findings.append(Finding(kind, path, one_line(message)))

    # Bytes

    def hash_objects(self, progress: Callable[[int], None]) -> None:
        """Hash every object, several at a time (hashing frees the interpreter), and sort out what else is there."""
        for info, size, damage in _in_parallel(self._hash, self._objects()):
            progress(self.bytes)
            sha256 = info.path.rpartition("/")[2].removesuffix(objects.SUFFIX)
            if damage:
                self.report("changed", info.path, f"sha256:{sha256[:12]}…: {damage}; restore it or rerun its cell")
                self.sizes.setdefault(sha256, None)
            else:
                self.sizes[sha256] = size

    def _objects(self) -> Iterator[FileInfo]:
        for info in self.store.files.walk(""):
            if info.path == LOCK:
                continue
            self.files, self.bytes = self.files + 1, self.bytes + info.bytes
            entry = parse_entry(info.path)
            if entry:
                self.entries.append(entry)
            elif _OBJECT.fullmatch(info.path):
                yield info
            elif info.path.startswith(f"{STAGING}/"):
                self.report("leftover", info.path, "an interrupted writer left it; a collection removes it")
            elif info.path == MARKER:
                self._marker()
            elif notes.is_note(info.path):
                self._note(info.path)
            else:
                self.report("foreign", info.path, "no file of a store has this name")

    def _hash(self, info: FileInfo) -> tuple[int, str]:
        match = _OBJECT.fullmatch(info.path)
        assert match is not None
        try:
            with self.store.files.open(info.path) as stream:
                return objects.check(stream, match[2], bool(match[3])), ""
        except objects.Damaged as damage:
            return 0, str(damage)
        except OSError as error:
            return 0, f"it cannot be read ({error.strerror or error})"

    def _marker(self) -> None:
        with self.store.files.open(MARKER) as stream:
            if stream.read() != MARKER_CONTENT:
                self.report("changed", MARKER, "not what this version writes there")

    def _note(self, path: str) -> None:
        try:
            note = notes.read(self.store.files, path)
        except EvidenceDamaged as damage:
            self.report("changed", path, str(damage))
        else:
            self.omitted.update(note.omitted)
            if note.hide:
                self.report(
                    "leftover", path, "an interrupted import; import its bundle again, or let a collection clean up"
                )

    # Records

    def read_records(self) -> None:
        known = {entry.id for entry in self.entries}
        for entry in sorted(self.entries):
            record = self._record(entry)
            if record is None:
                continue
            self._check_place(entry, record)
            self._check_references(entry, record, known)
            for sentence in broken_facts(record, self.store.read, self._other):
                self.report("inconsistent", entry.path, sentence)

    def _record(self, entry: Entry) -> Record | None:
        try:
            return self.store.load(entry)
        except EvidenceDamaged as damage:
            self.report("changed", entry.path, str(damage))
        except RecordRefused as refusal:
            self.report("refused", entry.path, str(refusal))
        except EvidenceMissing:  # collected while we looked
            pass
        return None

    def _other(self, record_id: str) -> Record | None:
        """The benchmarks of one session follow each other, so the last few records are kept."""
        if record_id not in self.recent:
            while len(self.recent) >= 8:
                self.recent.pop(next(iter(self.recent)))
            try:
                self.recent[record_id] = self.store.get(record_id)
            except (EvidenceMissing, EvidenceDamaged, RecordRefused):
                self.recent[record_id] = None
        return self.recent[record_id]

    def _check_place(self, entry: Entry, record: Record) -> None:
        if (entry.kind, entry.key_digest) != (kind_of(type(record)), digest(record.key)):
            self.report("misfiled", entry.path, f"{title(record)} is filed under another key")

    def _check_references(self, entry: Entry, record: Record, known: set[str]) -> None:
        for evidence in evidence_of(record):
            self.named.add(evidence.sha256)
            called = f"{title(record)} names {evidence.name} (sha256:{evidence.sha256[:12]}…)"
            if evidence.sha256 not in self.sizes:
                self._absent(entry.path, called, evidence.sha256)
            elif self.sizes[evidence.sha256] not in (None, evidence.bytes):
                self.report("inconsistent", entry.path, f"{called} of {evidence.bytes:,} bytes; it has another size")
        for parent in parents_of(record):
            if parent not in known:
                self._absent(entry.path, f"{title(record)} names parent record {parent[:12]}…", parent)

    def _absent(self, path: str, called: str, name: str) -> None:
        if self.store.has(name) or self.store.has_record(name):  # written while we looked
            return
        if name in self.omitted:
            self.report("omitted", path, f"{called}: left out of the bundle it came in: {self.omitted[name]}")
        else:
            self.report("missing", path, f"{called}, which is not here")

    def find_orphans(self) -> None:
        for sha256 in self.sizes.keys() - self.named:
            self.report("orphaned", f"objects/{sha256[:2]}/{sha256}", "no record names it")


def _in_parallel(
    work: Callable[[FileInfo], tuple[int, str]], items: Iterable[FileInfo]
) -> Iterator[tuple[FileInfo, int, str]]:
    """``work`` on every item, on all cores, a few ahead: neither the items nor the results pile up."""
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        pending: dict[Future[tuple[int, str]], FileInfo] = {}
        for item in items:
            pending[pool.submit(work, item)] = item
            while len(pending) > 4 * workers:
                yield from _finished(pending)
        while pending:
            yield from _finished(pending)


def _finished(pending: dict[Future[tuple[int, str]], FileInfo]) -> Iterator[tuple[FileInfo, int, str]]:
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    for future in done:
        yield pending.pop(future), *future.result()
