"""Small files beside the records, named by their hash: what a bundle left out, what a collection must keep, what an
import is about to file, what came in one."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Literal

import msgspec

from tensor_assets.errors import EvidenceDamaged
from tensor_assets.evidence import objects
from tensor_assets.evidence.files import Files, unwritable
from tensor_assets.evidence.key import canonical

Folder = Literal["omitted", "pins", "importing", "imported"]

_PATH = re.compile(r"(?:omitted|pins|importing|imported)/([0-9a-f]{64})[.]json")


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``omitted``: SHA-256 of evidence, or id of a record, → why a bundle came without it. ``keep``: ids of records
    and SHA-256 of evidence that something published refers to; in ``imported``, ids of records that a bundle brought.
    ``hide``: ids of records whose import has not ended."""

    name: str
    omitted: dict[str, str] = {}
    keep: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()


def write(files: Files, folder: Folder, note: Note) -> str:
    """Keep the note and return its path; the same note again changes nothing."""
    data, path = canonical(note), path_of(folder, note)
    if not files.exists(path):
        staged = files.stage()
        try:
            with unwritable(f"store {files.url}"):
                staged.file.write(data)
            files.commit(staged, path)
        finally:
            files.discard(staged)
    return path


def read(files: Files, path: str) -> Note:
    """Raises EvidenceDamaged."""
    with files.open(path) as stream:
        data = stream.read()
    match = _PATH.fullmatch(path)
    if match is None or objects.sha256(data) != match[1]:
        raise EvidenceDamaged(f"{path}: its {len(data):,} bytes do not hash to its name; restore it")
    try:
        return msgspec.json.decode(data, type=Note)
    except msgspec.MsgspecError as error:
        raise EvidenceDamaged(f"{path}: not a note of this project: {error}") from error


def read_all(files: Files, folder: Folder, known: Container[str] = ()) -> Iterator[tuple[str, Note]]:
    """Every note in ``folder`` but the ``known`` ones, with its path. Raises EvidenceDamaged."""
    paths = (f"{folder}/{name}" for name in sorted(files.names(folder)))
    return ((path, read(files, path)) for path in paths if is_note(path) and path not in known)


def path_of(folder: Folder, note: Note) -> str:
    return f"{folder}/{objects.sha256(canonical(note))}.json"


def is_note(path: str) -> bool:
    return _PATH.fullmatch(path) is not None
