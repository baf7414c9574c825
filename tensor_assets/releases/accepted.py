"""Which release of a compiler is the accepted one: that of the repository's lock, until a decision says otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from tensor_assets.records import DecisionRecord, Evidence, Record, TrialRecord
from tensor_assets.workers.adapters import AdapterFolder, lock_hash

R = TypeVar("R", bound=Record)
Decided = tuple[str, DecisionRecord]  # record id and record


class Records(Protocol):
    """What is read of a store, or of its public view."""

    def records(self, record_type: type[R]) -> Iterator[tuple[str, R]]: ...


class Evidences(Records, Protocol):
    def read(self, evidence: Evidence) -> bytes: ...


def decisions(store: Records, compiler: str = "") -> list[Decided]:
    """The latest decision on every lock, oldest first."""
    found = [pair for pair in store.records(DecisionRecord) if compiler in ("", pair[1].key.compiler)]
    return sorted(found, key=lambda pair: pair[1].provenance.created)


def accepted_decision(store: Records, adapter: AdapterFolder) -> Decided | None:
    """The decision by which a lock other than the repository's own is in force; None where its own is.

    The newest acceptance counts. One that was made beside another lock of the repository does not: its authors have
    moved on since.
    """
    base = lock_hash(adapter.own_lock)
    valid = [pair for pair in decisions(store, adapter.name) if pair[1].base == base]
    accepted = [pair for pair in valid if pair[1].decision == "accepted"]
    if not accepted or accepted[-1][1].lock.sha256 == base:
        return None
    return accepted[-1]


def with_accepted_lock(store: Evidences, adapter: AdapterFolder, cache: Path) -> AdapterFolder:
    """``adapter`` as it is accepted; the lock of a decision is put into ``cache``. Raises EvidenceMissing, -Damaged."""
    decided = accepted_decision(store, adapter)
    if decided is None:
        return adapter
    return msgspec.structs.replace(adapter, other_lock=lock_file(store, decided[1].lock, cache))


def lock_file(store: Evidences, lock: Evidence, cache: Path) -> Path:
    """A kept lock as a file, which is what uv reads."""
    folder = cache / "locks"
    path = folder / f"{lock.sha256}.lock"
    if not path.is_file() or lock_hash(path) != lock.sha256:
        folder.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_bytes(store.read(lock))
        new.rename(path)
    return path


def environments_not_accepted(store: Records) -> set[tuple[str, str]]:
    """(compiler, environment) of every candidate that is not, or no longer, accepted: no report shows it as a cell."""
    latest = {(record.key.compiler, record.lock.sha256): record.decision for _, record in decisions(store)}
    found: Mapping[tuple[str, str], bool] = {
        (trial.key.compiler, trial.environments[1]): _is_accepted(trial, latest)
        for _, trial in store.records(TrialRecord)
        if trial.environments[1] and trial.environments[1] != trial.environments[0]
    }
    return {place for place, accepted in found.items() if not accepted}


def _is_accepted(trial: TrialRecord, latest: Mapping[tuple[str, str], str]) -> bool:
    return trial.lock is not None and latest.get((trial.key.compiler, trial.lock.sha256)) == "accepted"
