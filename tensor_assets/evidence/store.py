"""The store: evidence files by their hash, records by their key. Append-only.

    store.json                                              what this folder is
    objects/<2 hex>/<sha256>[.zst]                          evidence, see objects.py
    records/<type>/<2 hex>/<key digest>-<sequence>-<id>.json
                                                            a record: its canonical JSON, whose SHA-256 is its id
    omitted/<sha256>.json                                   what an imported bundle left out, and why
    pins/<sha256>.json                                      what a collection must keep, see retention.py
    importing/<sha256>.json                                 records of an import that has not ended: not yet visible
    imported/<sha256>.json                                  records that were made elsewhere and came in a bundle
    staging/                                                files on their way to their names

A record's file is written last, after every evidence file it names, so a crash leaves no record without its evidence;
there is no index to fall behind. The latest has the largest ``sequence``, see order.py; of two with one sequence the
later ``created`` wins, then the larger id, so stores that hold the same records agree, in whatever order they got them.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar, overload

import msgspec

from tensor_assets.errors import EvidenceDamaged, EvidenceMissing, RecordRefused
from tensor_assets.evidence import media, notes, objects
from tensor_assets.evidence.files import Staged, unwritable
from tensor_assets.evidence.identity import Identity, identity_of
from tensor_assets.evidence.key import canonical, digest, kind_of, one_line, title
from tensor_assets.evidence.opening import open_files
from tensor_assets.evidence.order import minute_of
from tensor_assets.evidence.redaction import redact_bytes, redact_record
from tensor_assets.evidence.references import evidence_of, parents_of
from tensor_assets.evidence.schema import decode
from tensor_assets.records import Evidence, Key, Record

MARKER = "store.json"
MARKER_CONTENT = canonical({"format": "tensor_assets evidence", "layout": 1})
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ENTRY = re.compile(r"records/([a-z_]+)/([0-9a-f]{2})/(\2[0-9a-f]{62})-([0-9]{8})-([0-9a-f]{64})[.]json")
R = TypeVar("R", bound=Record)


class Entry(NamedTuple):
    """One record's file, as its path tells."""

    kind: str
    key_digest: str
    sequence: int
    id: str

    @property
    def path(self) -> str:
        return f"{_shelf(self.kind, self.key_digest)}/{self.key_digest}-{self.sequence:08d}-{self.id}.json"


class EvidenceStore:
    """A store on a local path or an fsspec URL. Nothing is written, not even its folder, before the first put."""

    def __init__(self, url: str | Path, identity: Identity | None = None) -> None:
        """``identity``: words that nothing public may hold; by default those of this host and account."""
        self.files = open_files(url)
        self.identity = identity or identity_of()
        self._begun = False
        self._imported: dict[str, frozenset[str]] = {}  # by the note's path: notes never change
        self._entries: dict[str, Entry] = {}  # by id; grows as files are seen, checked again when one is not found

    @property
    def url(self) -> str:
        return self.files.url

    # Evidence

    def put_bytes(self, data: bytes, media_type: str, name: str, private: bool = False) -> Evidence:
        """Keep ``data``. The same bytes are kept once; putting them again mends a damaged file.

        What is private by type (``media.py``) stays private whatever ``private`` says. Text that is not private is
        cleaned of paths, names and secrets first: what ``Evidence.redacted`` counts.
        """
        counts: dict[str, int] = {}
        private = private or media.is_private(media_type, name) or (media_type in media.PUBLIC_TEXT and b"\0" in data)
        if not private and media_type in media.PUBLIC_TEXT:
            data, counts = redact_bytes(data, self.identity)
        evidence = self._put(io.BytesIO(data), len(data), media_type)
        return msgspec.structs.replace(evidence, name=name, private=private, redacted=counts)

    def put_file(self, path: Path, media_type: str, name: str = "", private: bool = False) -> Evidence:
        """``put_bytes`` for a file; constant memory, except for text that must be cleaned."""
        name, size = name or path.name, path.stat().st_size
        private = private or media.is_private(media_type, name)
        if not private and media_type in media.PUBLIC_TEXT:
            return self.put_bytes(path.read_bytes(), media_type, name)
        with path.open("rb") as source:
            evidence = self._put(source, size, media_type)
        return msgspec.structs.replace(evidence, name=name, private=private)

    def has(self, sha256: str) -> bool:
        return self.locate(sha256) is not None

    def read(self, evidence: Evidence | str) -> bytes:
        """The content, checked against its name. Raises EvidenceMissing, EvidenceDamaged."""
        sha256 = evidence.sha256 if isinstance(evidence, Evidence) else evidence
        limit = evidence.bytes if isinstance(evidence, Evidence) else None
        path = self.locate(sha256)
        if path is None:
            raise EvidenceMissing(self._missing(evidence))
        try:
            with self.files.open(path) as stream:
                return objects.content(stream, sha256, path.endswith(objects.SUFFIX), limit)
        except objects.Damaged as damage:
            raise EvidenceDamaged(f"{_called(evidence)}: {damage}; restore {path} or rerun the cell") from damage

    # Records

    def put(self, record: Record) -> str:
        """File the record under its key and return its id. The same record again changes nothing. Paths, names and
        secrets in its strings are replaced first, as in public text.

        Raises EvidenceMissing if it names evidence or parents that are not here, RecordRefused if it cannot be read
        back as it is (a NaN, a value outside its type).
        """
        record, _ = redact_record(record, self.identity)
        data = _encoded(record)
        with self.files.locked(exclusive=False):
            self._require(record)
            return self.file(data, record).id

    def get(self, record_id: str) -> Record:
        """Raises EvidenceMissing, EvidenceDamaged."""
        entry = self._entry(record_id)
        if entry is None:
            raise EvidenceMissing(f"record {record_id[:12]}… is not in {self.url}")
        return self.load(entry)

    def record_bytes(self, record_id: str) -> bytes:
        """The bytes that ``record_id`` is the hash of, whatever fields its type has gained since. Raises as ``get``."""
        entry = self._entry(record_id)
        if entry is None:
            raise EvidenceMissing(f"record {record_id[:12]}… is not in {self.url}")
        return self.load_bytes(entry)

    def has_record(self, record_id: str) -> bool:
        return self._entry(record_id) is not None

    @overload
    def latest(self, record_type: type[R], key: Key, but: Container[str] = ...) -> tuple[str, R] | None: ...
    @overload
    def latest(self, record_type: str, key: Key, but: Container[str] = ...) -> tuple[str, Record] | None: ...
    def latest(self, record_type: str | type[Any], key: Key, but: Container[str] = ()) -> tuple[str, Record] | None:
        """The newest record under exactly this key, with its id. A damaged one raises; an older never stands in.

        ``but``: ids of records that are passed over.
        """
        entries = [entry for entry in self._filed(kind_of(record_type), digest(key)) if entry.id not in but]
        return self._newest(entries) if entries else None

    @overload
    def records(self, record_type: type[R], *, history: bool = False) -> Iterator[tuple[str, R]]: ...
    @overload
    def records(self, record_type: str | None = None, *, history: bool = False) -> Iterator[tuple[str, Record]]: ...
    def records(
        self, record_type: str | type[Any] | None = None, *, history: bool = False
    ) -> Iterator[tuple[str, Record]]:
        """The latest record of every key, or with ``history`` every record, oldest first. Order is by type and key."""
        filed: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        for entry in self.entries(kind_of(record_type) if record_type else None):
            filed[entry.kind, entry.key_digest].append(entry)
        for place in sorted(filed):
            if history:
                for entry in sorted(filed[place], key=lambda entry: (entry.sequence, entry.id)):
                    yield entry.id, self.load(entry)
            else:
                yield self._newest(filed[place])

    # What verification, bundles and retention build on

    def entries(self, kind: str | None = None, *, hidden: bool = False) -> Iterator[Entry]:
        """Every record's file, each id once (its lowest sequence), in no particular order.

        ``hidden``: with those of imports that have not ended, which nobody but a collection sees.
        """
        seen: dict[str, Entry] = {}
        unseen = frozenset() if hidden else self._hidden()
        for info in self.files.walk(f"records/{kind}" if kind else "records"):
            entry = parse_entry(info.path)
            if entry and entry.id not in unseen and (entry.id not in seen or entry < seen[entry.id]):
                seen[entry.id] = entry
        if not hidden:
            self._entries.update(seen)
        return iter(seen.values())

    def load(self, entry: Entry) -> Record:
        """The record in this file. Raises EvidenceMissing, EvidenceDamaged, RecordRefused."""
        try:
            return decode(self.load_bytes(entry))
        except RecordRefused as error:
            raise RecordRefused(f"{entry.path}: {error}") from error

    def load_bytes(self, entry: Entry) -> bytes:
        """The record's canonical JSON, checked against its id."""
        try:
            with self.files.open(entry.path) as stream:
                data = stream.read()
        except FileNotFoundError as error:
            raise EvidenceMissing(f"record {entry.id[:12]}… is no longer in {self.url}") from error
        if objects.sha256(data) != entry.id:
            raise EvidenceDamaged(f"{entry.path}: its {len(data):,} bytes do not hash to its name; restore it")
        return data

    def locate(self, sha256: str) -> str | None:
        """Path of the object with this content, below the store. A name that is no hash is no object's."""
        if not _SHA256.fullmatch(sha256):
            return None
        paths = (object_path(sha256, compressed) for compressed in (False, True))
        return next((path for path in paths if self.files.exists(path)), None)

    def keep(self, stream: BinaryIO, sha256: str, compress: bool) -> bool:
        """Keep content that came from elsewhere; False where it was here. The caller holds the lock. Raises
        EvidenceDamaged, and keeps nothing, unless it hashes to ``sha256``."""
        there, intact = self._found(sha256)
        if intact:
            return False
        staged = self.files.stage()
        try:
            with unwritable(f"store {self.url}"):
                found, _ = objects.write(stream, staged.file, compress)
            if found != sha256:
                raise EvidenceDamaged(f"sha256:{sha256[:12]}… arrived as sha256:{found[:12]}…")
            self._commit(staged, object_path(sha256, compress), there)
        finally:
            self.files.discard(staged)
        return True

    def file(self, data: bytes, record: Record, sequence: int | None = None) -> Entry:
        """Write a record's bytes under its key, unless they are there. ``sequence`` is its place where it comes from
        another store, which may have counted without a clock. The caller has checked what it refers to."""
        id = objects.sha256(data)
        kind, key_digest = kind_of(type(record)), digest(record.key)
        filed = list(self._filed(kind, key_digest))
        known = next((entry for entry in filed if entry.id == id), None)
        if known is None or not self._intact(known.path, id):
            following = max((entry.sequence for entry in filed), default=0) + 1
            place = max(minute_of(record.provenance.created), following if sequence is None else sequence)
            known = known or Entry(kind, key_digest, place, id)
            if parse_entry(known.path) is None:  # nobody would ever find it again
                raise RecordRefused(f"{title(record)}: {self.url} has no place {known.sequence:,} for it under its key")
            self._write(data, known.path)
        self._entries[id] = known
        return known

    def omissions(self) -> dict[str, str]:
        """What imported bundles came without: SHA-256 of evidence, or id of a record → why."""
        return {name: why for _, note in notes.read_all(self.files, "omitted") for name, why in note.omitted.items()}

    def imported(self) -> frozenset[str]:
        """Ids of the records that came in a bundle: to be read, and to be believed no further than their sender."""
        for path, note in notes.read_all(self.files, "imported", self._imported):
            self._imported[path] = frozenset(note.keep)
        return frozenset().union(*self._imported.values())

    # Helpers

    def _put(self, source: BinaryIO, size: int, media_type: str) -> Evidence:
        compressed = objects.worth_compressing(media_type, size)
        staged = self.files.stage()
        try:
            with unwritable(f"store {self.url}"):
                sha256, length = objects.write(source, staged.file, compressed)
            with self.files.locked(exclusive=False):
                there, intact = self._found(sha256)
                if not intact:
                    self._commit(staged, object_path(sha256, compressed), there)
        finally:
            self.files.discard(staged)
        return Evidence(sha256=sha256, bytes=length, media_type=media_type, name="")

    def _found(self, sha256: str) -> tuple[str | None, bool]:
        """Where the object is, and whether it is intact and now too young to be collected."""
        path = self.locate(sha256)
        if path is None or not self.files.refresh(path):
            return path, False
        try:
            with self.files.open(path) as stream:
                objects.check(stream, sha256, path.endswith(objects.SUFFIX))
        except (objects.Damaged, FileNotFoundError):
            return path, False
        return path, True

    def _commit(self, staged: Staged, path: str, instead_of: str | None) -> None:
        """Name a new object. What it stands in for may have the other form, and would be found before it."""
        self._begin()
        self.files.commit(staged, path)
        if instead_of not in (None, path):
            self.files.remove(str(instead_of))

    def _require(self, record: Record) -> None:
        """Everything the record refers to is here, and stays at least until the record is."""
        for evidence in evidence_of(record):
            path = self.locate(evidence.sha256)
            if path is None:
                raise EvidenceMissing(f"{title(record)} names evidence that is missing: {self._missing(evidence)}")
            self.files.refresh(path)
        for id in parents_of(record):
            parent = self._entry(id)
            if parent is None:
                raise EvidenceMissing(f"{title(record)} names parent record {id[:12]}…, which is not in {self.url}")
            self.files.refresh(parent.path)

    def _missing(self, evidence: Evidence | str) -> str:
        sha256 = evidence.sha256 if isinstance(evidence, Evidence) else evidence
        why = self.omissions().get(sha256)
        return f"{_called(evidence)} is not in {self.url}" + (f": its bundle came without it, {why}" if why else "")

    def _entry(self, record_id: str) -> Entry | None:
        entry = self._entries.get(record_id)
        if entry is None or not self.files.exists(entry.path):
            self._entries.pop(record_id, None)
            for _ in self.entries():
                pass
            entry = self._entries.get(record_id)
        return entry

    def _filed(self, kind: str, key_digest: str) -> Iterator[Entry]:
        shelf, hidden = _shelf(kind, key_digest), self._hidden()
        for name in self.files.names(shelf):
            entry = parse_entry(f"{shelf}/{name}") if name.startswith(key_digest) else None
            if entry and entry.id not in hidden:
                self._entries[entry.id] = entry
                yield entry

    def _hidden(self) -> frozenset[str]:
        return frozenset(id for _, note in notes.read_all(self.files, "importing") for id in note.hide)

    def _newest(self, entries: list[Entry]) -> tuple[str, Record]:
        last = max(entry.sequence for entry in entries)
        level = [(entry.id, self.load(entry)) for entry in entries if entry.sequence == last]
        return max(level, key=lambda pair: (pair[1].provenance.created, pair[0]))

    def _intact(self, path: str, sha256: str) -> bool:
        with self.files.open(path) as stream:
            return objects.sha256(stream.read()) == sha256

    def _write(self, data: bytes, path: str) -> None:
        self._begin()
        staged = self.files.stage()
        try:
            with unwritable(f"store {self.url}"):
                staged.file.write(data)
            self.files.commit(staged, path)
        finally:
            self.files.discard(staged)

    def _begin(self) -> None:
        """Say what this folder is, once."""
        if self._begun or self.files.exists(MARKER):
            self._begun = True
            return
        self._begun = True
        self._write(MARKER_CONTENT, MARKER)


def parse_entry(path: str) -> Entry | None:
    """The record that a path below the store is the file of, or None."""
    match = _ENTRY.fullmatch(path)
    return Entry(match[1], match[3], int(match[4]), match[5]) if match else None


def _shelf(kind: str, key_digest: str) -> str:
    return f"records/{kind}/{key_digest[:2]}"


def object_path(sha256: str, compressed: bool) -> str:
    return f"objects/{sha256[:2]}/{sha256}{objects.SUFFIX if compressed else ''}"


def _encoded(record: Record) -> bytes:
    data = canonical(record)
    try:
        survives = decode(data) == record
    except RecordRefused as error:
        raise RecordRefused(f"{title(record)} cannot be read back (a NaN or an infinity?): {error}") from error
    if not survives:
        raise RecordRefused(f"{title(record)}: a value is not of its declared type, and would be read back as another")
    return data


def _called(evidence: Evidence | str) -> str:
    if isinstance(evidence, str):
        return f"sha256:{evidence[:12]}…"
    return one_line(f"sha256:{evidence.sha256[:12]}… ({evidence.name})")
