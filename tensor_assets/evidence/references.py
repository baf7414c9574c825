"""What a record refers to: its evidence, and the records it was made from."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tensor_assets.records import BenchmarkRecord, Evidence, ProfileRecord, Record


def evidence_of(value: object) -> Iterator[Evidence]:
    """Every Evidence anywhere inside a record (or any struct, tuple, list or dict), in field order."""
    if isinstance(value, Evidence):
        yield value
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from evidence_of(getattr(value, field))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from evidence_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from evidence_of(item)


def parents_of(record: Record) -> tuple[str, ...]:
    """Ids of the records this one was made from, each once."""
    session = record.session if isinstance(record, BenchmarkRecord | ProfileRecord) else ""
    return tuple(dict.fromkeys(id for id in (*record.provenance.parents, session) if id))
