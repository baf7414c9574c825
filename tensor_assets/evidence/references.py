"""What a record refers to: its evidence, and the records it was made from."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tensor_assets.records import BenchmarkRecord, Evidence, ProfileRecord, Record


def evidence_of(value: object) -> Iterator[Evidence]:
    """Every Evidence anywhere inside a record (or any struct, tuple, list or dict), in field order."""
    return (struct for struct in structs_in(value) if isinstance(struct, Evidence))


def structs_in(value: object) -> Iterator[msgspec.Struct]:
    """Every struct anywhere inside a value, itself first, in field order."""
    if isinstance(value, msgspec.Struct):
        yield value
        for field in value.__struct_fields__:
            yield from structs_in(getattr(value, field))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from structs_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from structs_in(item)


def parents_of(record: Record) -> tuple[str, ...]:
    """Ids of the records this one was made from, each once."""
    session = record.session if isinstance(record, BenchmarkRecord | ProfileRecord) else ""
    return tuple(dict.fromkeys(id for id in (*record.provenance.parents, session) if id))
