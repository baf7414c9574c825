"""Hostile bundles: an honest one taken apart, changed in one place, and put together again so that the rest fits."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import zstandard

from tensor_assets.evidence import bundle, objects
from tensor_assets.evidence.key import canonical


class Part(NamedTuple):
    header: bytes
    data: bytes

    def whole(self) -> bytes:
        return self.header + self.data + bundle.padding(len(self.data))


class Parts:
    """An honest bundle in pieces."""

    def __init__(self, data: bytes) -> None:
        self.members: list[Part] = []
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for info in archive:
                content = data[info.offset_data : info.offset_data + info.size]
                self.members.append(Part(data[info.offset : info.offset + 512], content))
        self.declared: dict[str, Any] = msgspec.json.decode(self.members.pop(0).data)
        self.tail = bundle.TAIL

    def build(self, declaration: bytes | None = None) -> bytes:
        declaration = canonical(self.declared) if declaration is None else declaration
        first = Part(bundle.header(bundle.DECLARATION, len(declaration)), declaration)
        return b"".join(part.whole() for part in [first, *self.members]) + self.tail

    def replace(self, index: int, data: bytes, **declared: Any) -> None:
        """Another content for a member, with a header that fits; ``declared`` changes what is said of it."""
        self.declared["members"][index].update({"stored": len(data), **declared})
        member = msgspec.convert(self.declared["members"][index], bundle.Member)
        self.members[index] = Part(bundle.header(member.path, len(data)), data)

    def index(self, kind: str = "", compressed: bool = False) -> int:
        """Of the first record of this kind, or the first evidence file."""
        return next(
            index
            for index, member in enumerate(self.declared["members"])
            if member["kind"] == kind and member["compressed"] == compressed
        )


def _header(**changes: Any) -> Callable[[Parts], bytes]:
    """The first member's header with other fields, its checksum right."""

    def attack(parts: Parts) -> bytes:
        info = tarfile.TarInfo.frombuf(parts.members[0].header, "utf-8", "strict")
        for name, value in changes.items():
            setattr(info, name, value)
        blocks = info.tobuf(tarfile.GNU_FORMAT if "name" in changes or info.type in _GNU else tarfile.USTAR_FORMAT)
        parts.members[0] = Part(blocks, parts.members[0].data)
        return parts.build()

    return attack


_GNU = (tarfile.GNUTYPE_SPARSE, tarfile.GNUTYPE_LONGNAME)


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[Parts], bytes]:
    return lambda parts: change(parts.build())


def _declaration(change: Callable[[bytes], bytes]) -> Callable[[Parts], bytes]:
    return lambda parts: parts.build(change(canonical(parts.declared)))


def _declared(**changes: Any) -> Callable[[Parts], bytes]:
    def attack(parts: Parts) -> bytes:
        parts.declared.update(changes)
        return parts.build()

    return attack


def _member(index: int = 0, **changes: Any) -> Callable[[Parts], bytes]:
    """What is declared of one member, its header made to fit where it can."""

    def attack(parts: Parts) -> bytes:
        parts.declared["members"][index].update(changes)
        member = msgspec.convert(parts.declared["members"][index], bundle.Member)
        size = member.stored if 0 <= member.stored < 8 << 30 else len(parts.members[index].data)
        parts.members[index] = Part(bundle.header(member.path, size), parts.members[index].data)
        return parts.build()

    return attack


def _duplicate(parts: Parts) -> bytes:
    parts.members.insert(1, parts.members[0])
    parts.declared["members"].insert(1, parts.declared["members"][0])
    return parts.build()


def _duplicate_undeclared(parts: Parts) -> bytes:
    parts.members.append(parts.members[0])
    return parts.build()


def _missing(parts: Parts) -> bytes:
    parts.members.pop(0)
    return parts.build()


def _out_of_order(parts: Parts) -> bytes:
    for items in (parts.members, parts.declared["members"]):
        items.insert(0, items.pop(1))
    return parts.build()


def _declaration_second(parts: Parts) -> bytes:
    whole = parts.build()
    first, rest = parts.members[0].whole(), len(parts.members[0].whole())
    length = len(whole) - sum(len(part.whole()) for part in parts.members) - len(parts.tail)
    return first + whole[:length] + whole[length + rest :]


def _flipped(kind: str, compressed: bool = False) -> Callable[[Parts], bytes]:
    def attack(parts: Parts) -> bytes:
        index = parts.index(kind, compressed)
        data = bytearray(parts.members[index].data)
        data[len(data) // 2] ^= 1
        parts.members[index] = Part(parts.members[index].header, bytes(data))
        return parts.build()

    return attack


def _packed(content: bytes) -> bytes:
    target = io.BytesIO()
    objects.write(io.BytesIO(content), target, True)
    return target.getvalue()


def _bomb(parts: Parts) -> bytes:
    """A hundred megabytes of zeros behind a declaration of what the honest member held."""
    parts.replace(parts.index(compressed=True), _packed(bytes(100 << 20)))
    return parts.build()


def _declared_bomb(parts: Parts) -> bytes:
    parts.replace(parts.index(compressed=True), _packed(bytes(100 << 20)), bytes=100 << 20)
    return parts.build()


def _unsealed(parts: Parts) -> bytes:
    index = parts.index(compressed=True)
    parts.replace(index, zstandard.compress(b"x" * parts.declared["members"][index]["bytes"]))
    return parts.build()


def _hidden_tail_in_frame(parts: Parts) -> bytes:
    index = parts.index(compressed=True)
    parts.replace(index, parts.members[index].data + b"hidden")
    return parts.build()


def _replaced_record(kind: str, change: Callable[[bytes], bytes]) -> Callable[[Parts], bytes]:
    """Another record under its own right hash, everything else as it was."""

    def attack(parts: Parts) -> bytes:
        index = parts.index(kind, compressed=False)
        data = change(parts.members[index].data)
        parts.replace(index, data, bytes=len(data), sha256=objects.sha256(data))
        order = sorted(range(len(parts.members)), key=lambda i: _place(parts.declared["members"][i]))
        parts.members = [parts.members[i] for i in order]
        parts.declared["members"] = [parts.declared["members"][i] for i in order]
        return parts.build()

    return attack


def _place(member: dict[str, Any]) -> tuple[bool, str]:
    return bool(member["kind"]), member["sha256"]


FORMS: dict[str, Callable[[Parts], bytes]] = {
    "absolute path": _header(name="/etc/cron.d/x"),
    "path that climbs out": _header(name="../../../../etc/passwd"),
    "path that climbs out from inside": _header(name="objects/../../x"),
    "backslashes": _header(name="objects\\..\\..\\x"),
    "upper-case name": _header(name="OBJECTS/" + "A" * 64),
    "look-alike letters in a name": _header(name="оbjects/" + "a" * 64),
    "direction mark in a name": _header(name="objects/\u202e" + "a" * 64),
    "newline in a name": _header(name="objects/a\nb"),
    "very long name": _header(name="objects/" + "a" * 4000),
    "symbolic link": _header(type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "hard link": _header(type=tarfile.LNKTYPE, linkname="bundle.json"),
    "character device": _header(type=tarfile.CHRTYPE, devmajor=1, devminor=3),
    "block device": _header(type=tarfile.BLKTYPE, devmajor=8),
    "named pipe": _header(type=tarfile.FIFOTYPE),
    "folder": _header(type=tarfile.DIRTYPE),
    "sparse file": _header(type=tarfile.GNUTYPE_SPARSE),
    "extended header": _header(type=tarfile.XHDTYPE),
    "set-user-id": _header(mode=0o4755),
    "owner": _header(uid=1000, uname="root"),
    "time": _header(mtime=1_800_000_000),
    "size in the header larger than declared": _header(size=1 << 30),
    "wrong checksum": _bytes(lambda data: data[:148] + b"000000\0 " + data[156:]),
    "member twice": _duplicate,
    "member twice, once declared": _duplicate_undeclared,
    "member missing": _missing,
    "members out of order": _out_of_order,
    "declaration not first": _declaration_second,
    "padding that is not empty": lambda parts: _poke_padding(parts.build()),
    "bytes after the end": _bytes(lambda data: data + b"#!/bin/sh\n"),
    "second archive after the end": _bytes(lambda data: data + data),
    "no end": _bytes(lambda data: data[:-1024]),
    "cut short": _bytes(lambda data: data[: len(data) // 2]),
    "cut in the declaration": _bytes(lambda data: data[:700]),
    "empty file": lambda parts: b"",
    "not a tar file": lambda parts: b"PK\x03\x04" + bytes(4096),
    "compressed as a whole": _bytes(zstandard.compress),
    "declaration of a gigabyte": _bytes(lambda data: bundle.header(bundle.DECLARATION, 1 << 30) + data[512:]),
    "declaration not JSON": _declaration(lambda data: data[:-1]),
    "declaration nested deeply": _declaration(lambda data: b"[" * 200_000 + b"]" * 200_000),
    "declaration with a field twice": _declaration(lambda data: data.replace(b'"version"', b'"schema":1,"version"')),
    "declaration with unknown field": _declared(exec="rm -rf"),
    "declaration in another form": _declaration(lambda data: data + b" "),
    "version of the future": _declared(version=99),
    "schema of the future": _declared(schema=99),
    "bytes that are not what their name says": _flipped(""),
    "compressed bytes that are not": _flipped("", compressed=True),
    "record that is not what its name says": _flipped("environment"),
    "bomb behind an honest declaration": _bomb,
    "bomb declared": _declared_bomb,
    "terabytes declared": _member(bytes=1 << 40),
    "negative size": _member(bytes=-1),
    "stored size that is not the content's": _member(bytes=1),
    "name that is no hash": _member(sha256="../../x"),
    "name in upper case": _member(sha256="A" * 64),
    "evidence that says it is a record": _member(kind="capture"),
    "record filed nowhere": _member(-1, key_digest=""),
    "record filed under another key": _member(-1, key_digest="ab" * 32),
    "record filed under another type": _member(-1, kind="zzz"),
    "sequence beyond all": _member(-1, sequence=10**9),
    "sequence that leaves no place for what is written after it": _member(-1, sequence=99_999_999),
    "frame without a seal": _unsealed,
    "bytes hidden behind a frame": _hidden_tail_in_frame,
    "record of an unknown type": _replaced_record(
        "environment", lambda data: data.replace(b'"environment","sch', b'"evil","sch')
    ),
    "record of a schema to come": _replaced_record(
        "environment", lambda data: data.replace(b'"schema":1', b'"schema":7')
    ),
    "record that is no record": _replaced_record("environment", lambda data: b"{}"),
    "omission of what nobody names": _declared(omitted={"0" * 64: "private"}),
    "omission that is no hash": _declared(omitted={"../x": "private"}),
    "device that no record ran on": _declared(devices={"a1": "NVIDIA H100 80GB HBM3 GPU-0"}),
    "no device declared": _declared(devices={}),
}


def _poke_padding(data: bytes) -> bytes:
    """The last byte before the second header: padding of the declaration."""
    length = int(data[124:135], 8)
    end = 512 + length + len(bundle.padding(length))
    return data[: end - 1] + b"x" + data[end:]
