"""What the package index offers of a compiler beside the accepted release, and the lock of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from packaging.version import InvalidVersion, Version

from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import SettingsError
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Evidence, Key, Outcome, ReleaseRecord
from tensor_assets.releases.accepted import accepted_release, release_title
from tensor_assets.releases.candidates import candidate_of
from tensor_assets.releases.index import newest
from tensor_assets.releases.locks import lock_difference
from tensor_assets.workers.adapters import lock_hash


def release_news(space: Workspace, compiler: str, *, pre: bool = False) -> Stored[ReleaseRecord]:
    """Ask the index for the newest version of the compiler and of each companion; file what it says if that is news.

    An outage or a rubbish answer is the record's outcome. Raises SettingsError for an unknown compiler.
    """
    record = _asked(space, compiler, pre)
    known = latest_news(space.store, compiler)
    if known is not None and _told(known.record) == _told(record):
        return known._replace(reused=True)
    return file(space.store, record)


def latest_news(store: EvidenceStore, compiler: str) -> Stored[ReleaseRecord] | None:
    """What the index said last."""
    found = store.latest(ReleaseRecord, Key(compiler=compiler))
    return Stored(*found) if found else None


def keep_lock(store: EvidenceStore, lock: Path, name: str) -> Evidence:
    """A lock as evidence, byte for byte. Raises SettingsError if it holds what may not be kept: then it is not ours."""
    kept = store.put_bytes(lock.read_bytes(), "text/plain", name)
    if kept.sha256 != lock_hash(lock):
        raise SettingsError(f"{lock}: it holds {', '.join(kept.redacted)}; name the index in uv's settings")
    return kept


def _asked(space: Workspace, compiler: str, pre: bool) -> ReleaseRecord:
    adapter = space.adapter(compiler)
    accepted = accepted_release(adapter)
    record = ReleaseRecord(
        key=Key(compiler=compiler), outcome=Outcome(status="ok"), provenance=provenance(), accepted=accepted
    )
    if not accepted:
        reason = f"{compiler} is in no package of an index: its version is chosen by hand"
        return msgspec.structs.replace(record, outcome=Outcome(status="unavailable", reason=reason))
    answers = {package: newest(package, pre=pre) for package in accepted}
    if silent := [answer for answer in answers.values() if isinstance(answer, Outcome)]:
        return msgspec.structs.replace(record, outcome=silent[0])
    versions = {package: str(answer) for package, answer in answers.items()}
    record = msgspec.structs.replace(record, newest=versions)
    newer = [package for package, version in versions.items() if _is_newer(version, accepted[package])]
    return _with_candidate(space, record, newer, pre) if newer else record


def _with_candidate(space: Workspace, record: ReleaseRecord, newer: list[str], pre: bool) -> ReleaseRecord:
    """The record with the release that those newer versions make together, if they make one."""
    package, *_ = record.accepted
    pins = {package: record.newest[package] if package in newer else record.accepted[package]}
    found = candidate_of(space, record.key.compiler, pins, tuple(newer[1:] if package in newer else newer), pre=pre)
    if isinstance(found, Outcome):
        return msgspec.structs.replace(record, remark=found.reason)
    if found.release == record.accepted:
        what = ", ".join(f"{name} {record.newest[name]}" for name in newer)
        return msgspec.structs.replace(
            record, remark=f"{what} does not go with {package} {release_title(record.accepted)}"
        )
    old, new = space.adapter(record.key.compiler).lock, found.lock
    difference = lock_difference(old.read_text(), new.read_text())
    return msgspec.structs.replace(
        record,
        candidate=found.release,
        lock=keep_lock(space.store, new, f"{record.key.compiler}.lock.txt"),
        difference=space.store.put_bytes(difference.encode(), "text/plain", f"{record.key.compiler}-lock.diff"),
    )


def _is_newer(one: str, other: str) -> bool:
    try:
        return Version(one) > Version(other)
    except InvalidVersion:
        return one != other


def _told(record: ReleaseRecord) -> Mapping[str, object]:
    """Everything but when it was asked."""
    return {name: getattr(record, name) for name in record.__struct_fields__ if name != "provenance"}
