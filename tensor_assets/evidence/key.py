"""Canonical bytes, and the two names made from them: a record's id and its key's digest."""

from __future__ import annotations

import hashlib

import msgspec

from tensor_assets.records import Key, Record


def canonical(value: object) -> bytes:
    """JSON with every object's members sorted by name and no insignificant space: equal values give equal bytes."""
    return msgspec.json.encode(value, order="sorted")


def digest(key: Key) -> str:
    """SHA-256 of the key's canonical JSON: the folder its records are filed in, whatever characters its parts hold."""
    return hashlib.sha256(canonical(key)).hexdigest()


def record_id(record: Record) -> str:
    """SHA-256 of the record's canonical JSON, which is exactly what its file holds."""
    return hashlib.sha256(canonical(record)).hexdigest()


def kind_of(record_type: str | type[Record]) -> str:
    """The tag a record type is filed under: "capture" for CaptureRecord."""
    if isinstance(record_type, str):
        return record_type
    return str(record_type.__struct_config__.tag)


def title(record: Record) -> str:
    """What a message calls a record: "capture of weight_view|tvm (default)"."""
    cell = "|".join(part for part in (record.key.workload, record.key.compiler) if part) or "the store"
    variant = f" ({record.key.variant})" if record.key.variant else ""
    return one_line(f"{kind_of(type(record))} of {cell}{variant}")


def one_line(text: str) -> str:
    """``text`` as a message may show it: control characters, line breaks and direction marks as escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
