"""Reading records of every schema version there has been.

A record's file is never rewritten, so its id stays the hash of the bytes it was written with; what changes with a
schema is only how those bytes are read. Fields added with a default need nothing here. A change that does needs one
entry in ``UPGRADES``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tensor_assets.errors import RecordRefused
from tensor_assets.records import SCHEMA, Record

# version → what turns a decoded record of that version into one of the next
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class _Version(msgspec.Struct):
    schema: int


_version = msgspec.json.Decoder(_Version)


def decode(data: bytes) -> Record:
    """The record in ``data``, brought up to the present schema. Raises RecordRefused with the field that is wrong."""
    try:
        version = _version.decode(data).schema
        if version == SCHEMA:
            return _decoder.decode(data)
        return _decoder.decode(msgspec.json.encode(_upgraded(msgspec.json.decode(data), version)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordRefused(f"not a record of this project: {error}") from error


def _upgraded(raw: dict[str, Any], version: int) -> dict[str, Any]:
    if version > SCHEMA:
        raise RecordRefused(f"record of schema {version}; this version reads up to {SCHEMA}: update tensor_assets")
    for step in range(version, SCHEMA):
        if step not in UPGRADES:
            raise RecordRefused(f"record of schema {version}, which never existed")
        raw = UPGRADES[step](raw)
    return {**raw, "schema": SCHEMA}
