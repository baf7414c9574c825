"""A record together with its id in the store, and how one is filed."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Generic, NamedTuple, TypeVar

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Key, Provenance, Record

R = TypeVar("R", bound=Record)

# A wrong number or a missing op stays what it is while nothing changes; the rest may have been this machine's trouble.
SETTLED = ("ok", "rejected", "unsupported")


class Stored(NamedTuple, Generic[R]):
    id: str
    record: R
    reused: bool = False


def reuse(store: EvidenceStore, kind: type[R], key: Key) -> Stored[R] | None:
    """The latest record of ``key`` if its outcome is settled, else None: then it is worth trying again."""
    found = store.latest(kind, key)
    if found is None or found[1].outcome.status not in SETTLED:
        return None
    return Stored(found[0], found[1], reused=True)


def file(store: EvidenceStore, record: R) -> Stored[R]:
    return Stored(store.put(record), record)


def provenance(parents: tuple[str, ...] = (), seconds: dict[str, float] | None = None) -> Provenance:
    """Made now, by this version of the project, from ``parents``; ``seconds`` is cost by phase."""
    return Provenance(
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        project=version("tensor-assets"),
        parents=parents,
        seconds=seconds or {},
    )
