"""Which release of a compiler is the accepted one: that of the repository's lock, until a decision says otherwise."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from tensor_assets.evidence.key import canonical
from tensor_assets.records import DecisionRecord, EnvironmentRecord, Evidence, Record, TrialRecord
from tensor_assets.releases.locks import release_in
from tensor_assets.workers.adapters import AdapterFolder, lock_hash

R = TypeVar("R", bound=Record)
Decided = tuple[str, DecisionRecord]  # record id and record


class Records(Protocol):
    """What is read of a store, or of its public view."""

    def records(self, record_type: type[R]) -> Iterator[tuple[str, R]]: ...


class Evidences(Records, Protocol):
    def read(self, evidence: Evidence) -> bytes: ...


def release_id(release: Mapping[str, str]) -> str:
    """Names a release by its versions: what trials and decisions are filed under. A file that is uploaded to the index
    later changes a lock's hashes, not the release."""
    return hashlib.sha256(canonical(dict(release))).hexdigest()[:16]


def release_title(release: Mapping[str, str]) -> str:
    """How people call it: ``0.14.0``, or ``apache-tvm 0.27.0.post1 with apache-tvm-ffi 0.1.15.post2``.

    Packages of one version are told once, by the first of them.
    """
    by_version: dict[str, str] = {}
    for name, version in sorted(release.items()):
        by_version.setdefault(version, name)
    if len(by_version) < 2:
        return next(iter(by_version), "nothing")
    return " with ".join(f"{name} {version}" for version, name in by_version.items())


def decisions(store: Records, compiler: str = "") -> list[Decided]:
    """The latest decision on every release, oldest first."""
    found = [pair for pair in store.records(DecisionRecord) if compiler in ("", pair[1].key.compiler)]
    return sorted(found, key=lambda pair: pair[1].provenance.created)


def decision_on(store: Records, compiler: str, release: Mapping[str, str]) -> Decided | None:
    """The latest decision on this very release."""
    return next((pair for pair in decisions(store, compiler) if pair[1].release == dict(release)), None)


def trials_of(store: Records, compiler: str, release: Mapping[str, str]) -> dict[str, tuple[str, TrialRecord]]:
    """Target → the newest trial of this release on it, with its record id."""
    found = [
        pair
        for pair in store.records(TrialRecord)
        if (pair[1].key.compiler, pair[1].candidate, pair[1].purpose) == (compiler, dict(release), "release")
    ]
    return {pair[1].key.target: pair for pair in sorted(found, key=lambda pair: pair[1].provenance.created)}


def accepted_decision(store: Records, adapter: AdapterFolder) -> Decided | None:
    """The decision by which a lock other than the repository's own is in force; None where its own is.

    The newest acceptance counts. One that was made beside another lock of the repository does not: its authors have
    moved on since.
    """
    base = lock_hash(adapter.own_lock)
    valid = [pair for pair in decisions(store, adapter.name) if pair[1].base == base]
    accepted = [pair for pair in valid if pair[1].decision == "accepted"]
    own = release_in(adapter, adapter.own_lock.read_text())
    return accepted[-1] if accepted and accepted[-1][1].release != own else None


def with_accepted_lock(store: Evidences, adapter: AdapterFolder, cache: Path) -> AdapterFolder:
    """``adapter`` as it is accepted; the lock of a decision is put into ``cache``. Raises EvidenceMissing, -Damaged."""
    decided = accepted_decision(store, adapter)
    if decided is None:
        return adapter
    return msgspec.structs.replace(adapter, other_lock=lock_file(store, decided[1].lock, cache))


def accepted_release(adapter: AdapterFolder) -> dict[str, str]:
    """The release in the adapter's lock, which is the accepted one unless a candidate's was put in its place."""
    return release_in(adapter, adapter.lock.read_text())


def lock_file(store: Evidences, lock: Evidence, cache: Path) -> Path:
    """A kept lock as a file, which is what uv reads."""
    folder = cache / "locks"
    path = folder / f"{lock.sha256}.lock"
    if not path.is_file() or lock_hash(path) != lock.sha256:
        content = store.read(lock)
        folder.mkdir(parents=True, exist_ok=True)
        # A name of its own: runs that start together, and the threads of one, all find it missing.
        with tempfile.NamedTemporaryFile(prefix=f"{lock.sha256}-", suffix=".new", dir=folder, delete=False) as new:
            new.write(content)
        Path(new.name).rename(path)
    return path


def environments_not_accepted(store: Records) -> set[tuple[str, str]]:
    """(compiler, environment) of every release that is tried or held: no report shows it as a cell."""
    word = {(record.key.compiler, record.lock.sha256): record.decision for _, record in decisions(store)}
    latest = [(record.key, record.candidate, record.lock_sha256) for _, record in store.records(EnvironmentRecord)]
    decided = [(key, candidate, word.get((key.compiler, lock))) for key, candidate, lock in latest]
    return {
        (key.compiler, key.environment)
        for key, candidate, decision in decided
        if decision == "held" or (candidate and decision != "accepted")
    }
