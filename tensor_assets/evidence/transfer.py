"""Bundles out of a store and into one. ``bundle.py`` has their form."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from tensor_assets.errors import BundleRefused, EvidenceDamaged
from tensor_assets.evidence import bundle, media, notes, objects
from tensor_assets.evidence.admittance import Admitted, admit
from tensor_assets.evidence.bundle import Declaration, Member, Placed, read_declaration
from tensor_assets.evidence.files import unwritable
from tensor_assets.evidence.key import canonical, one_line
from tensor_assets.evidence.notes import Note
from tensor_assets.evidence.schema import decode
from tensor_assets.evidence.selection import Filters, Selection
from tensor_assets.evidence.store import EvidenceStore, object_path


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    bytes: int
    records: int
    evidence: int
    omitted: dict[str, str]  # SHA-256 or record id → why


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """``records`` and ``evidence`` count what was not here before."""

    records: int
    evidence: int
    known: int  # records and files that were here already
    omitted: dict[str, str]


def export_bundle(store: EvidenceStore, path: Path, filters: Filters | None = None) -> Exported:
    """Write what ``filters`` choose to ``path``, whole or not at all. The same choice gives the same bytes.

    Raises EvidenceDamaged for a file that is not what its name says: a bundle never carries damage further.
    """
    filters = filters or Filters()
    selection = Selection(store, filters)
    with _whole_file(path) as (target, body):
        members = [*_copy_evidence(store, selection, body), *_copy_records(store, selection, body)]
        declaration = Declaration(
            filters=filters.declared(),
            members=tuple(members),
            omitted=selection.omitted,
            devices=selection.devices,
        )
        _assemble(target, canonical(declaration), members, body)
    return Exported(
        path=str(path),
        bytes=path.stat().st_size,
        records=len(selection.records),
        evidence=len(selection.evidence),
        omitted=selection.omitted,
    )


def import_bundle(store: EvidenceStore, path: Path, devices: tuple[str, ...] = ()) -> Imported:
    """Take everything in the bundle, or nothing. Taking it twice changes nothing.

    ``devices``: where given, UUIDs or names of the only devices its records may have run on. Raises BundleRefused with
    the first thing that is wrong, before anything is written.
    """
    with _opened(path, "; nothing was imported") as file:
        admitted = admit(file, path.stat().st_size, store, devices)
        with store.files.locked(exclusive=True):
            return _file_all(store, file, admitted)


def is_imported(store: EvidenceStore, path: Path) -> bool:
    """Whether every record that the bundle declares is here: an import would change nothing. Raises BundleRefused."""
    with _opened(path) as file:
        declaration, _ = read_declaration(file, path.stat().st_size)
    return all(store.has_record(member.sha256) for member in declaration.members if member.kind)


def verify_bundle(path: Path) -> Declaration:
    """The checks of an import, without one. Raises BundleRefused."""
    with _opened(path) as file, tempfile.TemporaryDirectory() as nowhere:
        return admit(file, path.stat().st_size, EvidenceStore(nowhere)).declaration


# Out


def _copy_evidence(store: EvidenceStore, selection: Selection, body: BinaryIO) -> Iterator[Member]:
    for sha256, evidence in sorted(selection.evidence.items()):
        path = store.locate(sha256) or object_path(sha256, False)
        compressed = path.endswith(objects.SUFFIX)
        try:
            with store.files.open(path) as stream:
                size = objects.check(stream, sha256, compressed)
                stream.seek(0)
                stored = _append(body, stream)
        except objects.Damaged as damage:
            raise EvidenceDamaged(f"{path} ({evidence.name}): {damage}; restore it or rerun the cell") from damage
        yield Member(sha256=sha256, bytes=size, stored=stored, compressed=compressed)


def _copy_records(store: EvidenceStore, selection: Selection, body: BinaryIO) -> Iterator[Member]:
    for id, entry in sorted(selection.records.items()):
        data = store.load_bytes(entry)
        compressed = objects.worth_compressing(media.JSON, len(data))
        packed = io.BytesIO()
        objects.write(io.BytesIO(data), packed, compressed)
        packed.seek(0)
        yield Member(
            sha256=id,
            bytes=len(data),
            stored=_append(body, packed),
            compressed=compressed,
            kind=entry.kind,
            key_digest=entry.key_digest,
            sequence=entry.sequence,
        )


def _append(body: BinaryIO, stream: BinaryIO) -> int:
    before = body.tell()
    shutil.copyfileobj(stream, body, objects.CHUNK)
    return body.tell() - before


def _assemble(target: BinaryIO, declaration: bytes, members: list[Member], body: BinaryIO) -> None:
    body.seek(0)
    target.write(bundle.header(bundle.DECLARATION, len(declaration)) + declaration + bundle.padding(len(declaration)))
    for member in members:
        target.write(bundle.header(member.path, member.stored))
        left = member.stored
        while left:
            left -= target.write(body.read(min(left, objects.CHUNK)))
        target.write(bundle.padding(member.stored))
    target.write(bundle.TAIL)


@contextmanager
def _whole_file(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A file that gets its name when it is complete and on the disk, and one beside it to work with."""
    arriving = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unwritable(f"bundle {path}", "name another place"):
            with arriving.open("w+b") as target, tempfile.TemporaryFile(dir=path.parent) as body:
                yield target, body
                target.flush()
                os.fsync(target.fileno())
            arriving.replace(path)
    finally:
        arriving.unlink(missing_ok=True)


# In


@contextmanager
def _opened(path: Path, consequence: str = "") -> Iterator[BinaryIO]:
    try:
        if not path.is_file():
            raise BundleRefused("there is no such file")
        with path.open("rb") as file:
            yield file
    except BundleRefused as refusal:
        raise BundleRefused(f"bundle {one_line(str(path))}: {refusal}{consequence}") from refusal


def _file_all(store: EvidenceStore, file: BinaryIO, admitted: Admitted) -> Imported:
    """Keep evidence, then records, which become visible together when the note that hides them goes."""
    new = [place for place in admitted.records if not store.has_record(place.member.sha256)]
    written: list[str] = []
    try:
        evidence = _keep_evidence(store, file, admitted.evidence, written)
        _note_omissions(store, admitted.declaration, written)
        _file_records(store, file, new, written)
    except BaseException:
        for path in reversed(written):
            store.files.remove(path)
        raise
    return Imported(
        records=len(new),
        evidence=evidence,
        known=len(admitted.records) + len(admitted.evidence) - len(new) - evidence,
        omitted=admitted.declaration.omitted,
    )


def _keep_evidence(store: EvidenceStore, file: BinaryIO, places: list[Placed], written: list[str]) -> int:
    for place in places:
        member = place.member
        content = cast("BinaryIO", _Pieces(bundle.content(file, place)))
        if store.keep(content, member.sha256, member.compressed):
            written.append(object_path(member.sha256, member.compressed))
    return len(written)


def _note_omissions(store: EvidenceStore, declaration: Declaration, written: list[str]) -> None:
    if declaration.omitted:
        note = Note(name=hashlib.sha256(canonical(declaration)).hexdigest(), omitted=declaration.omitted)
        if not store.files.exists(notes.path_of("omitted", note)):
            written.append(notes.write(store.files, "omitted", note))


def _file_records(store: EvidenceStore, file: BinaryIO, places: list[Placed], written: list[str]) -> None:
    if not places:
        return
    ids = tuple(sorted(place.member.sha256 for place in places))
    written.append(notes.write(store.files, "importing", Note(name="", hide=ids)))
    for place in places:
        data = b"".join(bundle.content(file, place))
        written.append(store.file(data, decode(data), place.member.sequence).path)
    mine = Note(name="", keep=ids)
    if not store.files.exists(notes.path_of("imported", mine)):
        written.append(notes.write(store.files, "imported", mine))
    for path, note in list(notes.read_all(store.files, "importing")):
        if set(note.hide) <= set(ids):  # this import's, or that of one that was cut short
            store.files.remove(path)


class _Pieces:
    """Pieces of content as a file to read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, size: int = -1) -> bytes:
        """The next piece, whatever its size, and nothing after the last."""
        return next((piece for piece in self._pieces if piece), b"")
