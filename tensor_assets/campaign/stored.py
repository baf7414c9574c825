"""A record together with its id in the store, and how one is filed."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec

from tensor_assets.evidence.references import evidence_of
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import BenchmarkRecord, FixtureRecord, Key, Provenance, Record

R = TypeVar("R", bound=Record)

# A wrong number or a missing op stays what it is while nothing changes; the rest may have been this machine's trouble.
SETTLED = ("ok", "rejected", "unsupported")


ARGUMENT = 200  # characters kept of one argument of a command


class Stored(NamedTuple, Generic[R]):
    id: str
    record: R
    reused: bool = False


def reuse(store: EvidenceStore, kind: type[R], key: Key) -> Stored[R] | None:
    """The latest record of ``key`` that was made here, if its outcome is settled, else None: then it is made again.

    A summary of other records is what it is wherever it was made.
    """
    found = store.latest(kind, key, but=() if kind is BenchmarkRecord else store.imported())
    if found is None or found[1].outcome.status not in SETTLED:
        return None
    if kind is not FixtureRecord and not is_whole(store, found[1]):  # fixtures' arrays come out alike on every host
        return None
    return Stored(found[0], found[1], reused=True)


def is_whole(store: EvidenceStore, record: Record) -> bool:
    """Whether all the record names is in the store: what was cleaned away since is made again."""
    return all(store.has(evidence.sha256) for evidence in evidence_of(record))


def file(store: EvidenceStore, record: R) -> Stored[R]:
    """Put into the store, with the command and the variables it came to be under.

    What comes back is what the store kept: it cleans a record of people, places and secrets, and whoever shows a record
    further on, Dagster's metadata among them, must show the clean one.
    """
    made = msgspec.structs.replace(record.provenance, command=_command(), environment=dict(os.environ))
    id = store.put(msgspec.structs.replace(record, provenance=made))
    kept = store.get(id)
    assert isinstance(kept, type(record))
    return Stored(id, kept)


def _command() -> tuple[str, ...]:
    """As typed; Dagster hands a run over in one argument of many thousand characters, of which the start will do."""
    program, *arguments = sys.argv
    return (Path(program).name, *(argument[:ARGUMENT] for argument in arguments))


def provenance(parents: tuple[str, ...] = (), seconds: dict[str, float] | None = None) -> Provenance:
    """Made now, by this version of the project, from ``parents``; ``seconds`` is cost by phase."""
    return Provenance(
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        project=version("tensor-assets"),
        parents=parents,
        seconds=seconds or {},
    )
