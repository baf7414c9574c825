"""A bundle: records and their evidence in one file, of which only one form is valid.

A bundle is a plain tar file (``tar tf`` lists it). Its first member, ``bundle.json``, declares every other member: what
it is, its hash, its size in the file and the size of its content. A reader needs nothing else from the file: it works
out from the declaration what every header and every byte of padding must be, and refuses the bundle at the first
byte that differs. So there is no link, device, odd name, second copy, hidden tail or undeclared size to look for: a
file that has one is not a bundle. Members are in the form the store keeps them in (``objects.py``), and no content is
read beyond its declared size.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
from collections.abc import Iterator
from typing import BinaryIO, Literal, NamedTuple

import msgspec

from tensor_assets.errors import BundleRefused
from tensor_assets.evidence import objects
from tensor_assets.evidence.key import canonical, one_line
from tensor_assets.evidence.order import MAX_SEQUENCE
from tensor_assets.records import SCHEMA

VERSION = 1
BLOCK = 512
DECLARATION = "bundle.json"

# What no honest bundle of this project comes near; a hostile one is refused before it costs more than this.
MAX_DECLARATION = 64 << 20
MAX_RECORD = 256 << 20
MAX_MEMBER = 7 << 30  # a tar header can state 8 GiB
MAX_CONTENT = 64 << 30
MAX_RATIO = 2000  # content bytes per stored byte; Zstandard reaches it on nothing but repetition

_HASH = re.compile(r"[0-9a-f]{64}")
_KIND = re.compile(r"[a-z_]{1,32}")


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file. ``key_digest`` and ``sequence`` say where a record is filed; ``kind`` is "" for evidence."""

    sha256: str  # of the content: evidence's name, or a record's id
    bytes: int  # of the content
    stored: int  # in the bundle
    compressed: bool = False
    kind: str = ""
    key_digest: str = ""
    sequence: int = 0

    @property
    def path(self) -> str:
        folder = f"records/{self.kind}" if self.kind else "objects"
        return f"{folder}/{self.sha256}{objects.SUFFIX if self.compressed else ''}"


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``omitted``: what its records refer to and the bundle comes without → why. ``devices``: every allocation its
    records ran under → device and UUID."""

    format: Literal["tensor_assets bundle"] = "tensor_assets bundle"
    version: int = VERSION
    schema: int = SCHEMA
    filters: dict[str, list[str]] = {}
    members: tuple[Member, ...]
    omitted: dict[str, str] = {}
    devices: dict[str, str] = {}


class Placed(NamedTuple):
    member: Member
    offset: int  # of its first byte in the file


def header(name: str, size: int) -> bytes:
    """The only tar header a member of this name and size can have."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.USTAR_FORMAT)


def padding(size: int) -> bytes:
    return bytes(-size % BLOCK)


TAIL = bytes(2 * BLOCK)


def read_declaration(file: BinaryIO, size: int) -> tuple[Declaration, list[Placed]]:
    """What a bundle of ``size`` bytes declares, and where its members lie. No member is read.

    Raises BundleRefused unless every header, padding and the end are exactly what the declaration calls for.
    """
    declaration, offset = _first_member(file, size)
    placed = []
    for member in declaration.members:
        _expect(file, header(member.path, member.stored), f"the header of {member.path}")
        offset += BLOCK
        placed.append(Placed(member, offset))
        if offset + member.stored > size:
            raise BundleRefused(f"cut short: {member.path} should have {member.stored:,} bytes")
        file.seek(member.stored, 1)
        _expect(file, padding(member.stored), f"the padding after {member.path}")
        offset += member.stored + len(padding(member.stored))
    _expect(file, TAIL, "the end")
    if offset + len(TAIL) != size:
        raise BundleRefused(f"{size - offset - len(TAIL):,} bytes follow its end")
    return declaration, placed


def content(file: BinaryIO, placed: Placed) -> Iterator[bytes]:
    """A member's content in pieces; raises BundleRefused, at the latest after the last piece, unless it is what the
    declaration says. Never yields more than it declares."""
    member = placed.member
    file.seek(placed.offset)
    found, size = hashlib.sha256(), 0
    try:
        for piece in objects.chunks(_Window(file, member.stored), member.compressed):  # type: ignore[arg-type]
            size += len(piece)
            if size > member.bytes:
                raise BundleRefused(f"{member.path} holds more than the {member.bytes:,} bytes it declares")
            found.update(piece)
            yield piece
    except objects.Damaged as damage:
        raise BundleRefused(f"{member.path}: {damage}") from damage
    if size != member.bytes or found.hexdigest() != member.sha256:
        raise BundleRefused(f"{member.path}: its {size:,} bytes are not what its name says")


def _first_member(file: BinaryIO, size: int) -> tuple[Declaration, int]:
    block = file.read(BLOCK)
    length = _declared_length(block)
    if block != header(DECLARATION, length):
        raise BundleRefused(f"it does not begin with {DECLARATION}")
    if length > min(MAX_DECLARATION, size):
        raise BundleRefused(f"{DECLARATION} claims {length:,} bytes")
    data = file.read(length)
    _expect(file, padding(length), f"the padding after {DECLARATION}")
    return _declaration(data), BLOCK + length + len(padding(length))


def _declared_length(block: bytes) -> int:
    field = block[124:135]  # a tar header's size: eleven octal digits
    if len(block) != BLOCK or not re.fullmatch(rb"[0-7]{11}", field):
        raise BundleRefused("it is not a tar file")
    return int(field, 8)


def _declaration(data: bytes) -> Declaration:
    try:
        declaration = msgspec.json.decode(data, type=Declaration)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BundleRefused(one_line(f"{DECLARATION}: {error}")) from error
    if canonical(declaration) != data:
        raise BundleRefused(f"{DECLARATION} is not in canonical form")
    if declaration.version != VERSION or not 1 <= declaration.schema <= SCHEMA:
        raise BundleRefused(
            f"version {declaration.version}, schema {declaration.schema}; this version of tensor_assets reads version "
            f"{VERSION}, schema 1 to {SCHEMA}"
        )
    _check_members(declaration.members)
    for name in declaration.omitted:
        if not _HASH.fullmatch(name):
            raise BundleRefused(one_line(f"it omits {name!r}, which is no SHA-256"))
    return declaration


def _check_members(members: tuple[Member, ...]) -> None:
    order = [(bool(member.kind), member.sha256, member.kind) for member in members]
    if order != sorted(set(order)):
        raise BundleRefused("its members are not in order, each once")
    if len({sha for _, sha, _ in order}) != len(order):
        raise BundleRefused("one name stands for two members")
    for member in members:
        _check_member(member)
    if sum(member.bytes for member in members) > MAX_CONTENT:
        raise BundleRefused(f"it declares more than {MAX_CONTENT:,} bytes of content")


def _check_member(member: Member) -> None:
    called = one_line(f"member {member.sha256[:64]!r}")
    if not _HASH.fullmatch(member.sha256):
        raise BundleRefused(f"{called} is no SHA-256")
    is_record = bool(member.kind)
    if is_record != bool(member.key_digest) or is_record != bool(member.sequence):
        raise BundleRefused(f"{called} is neither evidence nor a record")
    if is_record and not (_KIND.fullmatch(member.kind) and _HASH.fullmatch(member.key_digest)):
        raise BundleRefused(f"{called} is filed under no key")
    if (
        not 0 <= member.sequence <= MAX_SEQUENCE
        or not 0 <= member.stored <= MAX_MEMBER
        or not 0 <= member.bytes <= MAX_MEMBER
    ):
        raise BundleRefused(f"{called} has an impossible size or place")
    if not member.compressed and member.stored != member.bytes:
        raise BundleRefused(f"{called} is stored as it is, with another size than its own")
    if is_record and member.bytes > MAX_RECORD:
        raise BundleRefused(f"{called} is a record of {member.bytes:,} bytes")
    if member.bytes > MAX_RATIO * max(member.stored, 1):
        raise BundleRefused(f"{called} claims to be compressed more than {MAX_RATIO}-fold")


def _expect(file: BinaryIO, expected: bytes, what: str) -> None:
    if file.read(len(expected)) != expected:
        raise BundleRefused(f"{what} is not what it must be")


class _Window:
    """The next ``size`` bytes of a file, as a file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data
