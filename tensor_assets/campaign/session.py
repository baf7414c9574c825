"""Step 4: a workload's timing session, with every admitted configuration in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from tensor_assets.campaign.capture import captures_of
from tensor_assets.campaign.environment import environment_record, searches
from tensor_assets.campaign.fixtures import fixture_record, load_fixtures
from tensor_assets.campaign.options import SessionOptions
from tensor_assets.campaign.stored import Stored, file, is_whole, provenance, reuse
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import Allocation, CaptureRecord, Evidence, Key, Outcome, SessionRecord
from tensor_assets.sessions.method import Method, method_for
from tensor_assets.sessions.participants import Contender, TimingWorker
from tensor_assets.sessions.session import run_session
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.caches import restore
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for


def time_workload(space: Workspace, workload: str, options: SessionOptions) -> Stored[SessionRecord]:
    """Time every admitted configuration of the workload, unless these very captures were timed this way already."""
    fixtures = fixture_record(space, workload, options.shape)
    admitted = admitted_captures(space, workload, options.target, fixtures.record.key.shape)
    method = msgspec.structs.replace(method_for(options.target), processes=options.processes)
    key = session_key(fixtures.record.key, options.target, method, admitted, options.seed)
    if not options.force and (found := reuse(space.store, SessionRecord, key)):
        return found
    if not admitted:
        return file(space.store, _empty(key, method, options.seed, (fixtures.id,)))
    record = run_session(
        fixtures.record.program,
        load_fixtures(space, fixtures.record),
        [_contender(space, capture.record) for capture in admitted],
        target=options.target,
        method=method,
        seed=options.seed,
        key=key,
        parents=(fixtures.id, *(capture.id for capture in admitted)),
        keeper=space.store,
        granted=space.lease,
    )
    return file(space.store, record)


def admitted_captures(space: Workspace, workload: str, target: str, shape: str) -> list[Stored[CaptureRecord]]:
    """What takes part: every configuration captured here whose numbers were right.

    What came in a bundle is there to be read. It says nothing of what this host would do, and its caches hold code.
    """
    captures = captures_of(space, workload, target, shape)
    right = [
        c for c in captures if c.record.outcome.status == "ok" and c.record.admission and c.record.admission.admitted
    ]
    elsewhere = space.store.imported()
    return [capture for capture in right if capture.id not in elsewhere and is_whole(space.store, capture.record)]


def _empty(key: Key, method: Method, seed: int, parents: tuple[str, ...]) -> SessionRecord:
    """A session without anybody in it; it needs no device."""
    return SessionRecord(
        key=key,
        outcome=Outcome(status="blocked", reason="no configuration of this workload was admitted on this target"),
        provenance=provenance(parents),
        allocation=Allocation(id="", device=""),
        seed=seed,
        processes=(),
        blocks=(),
        method=method.described(),
    )


def session_key(
    fixtures: Key, target: str, method: Method, admitted: Sequence[Stored[CaptureRecord]], seed: int
) -> Key:
    """Names the session by how it was timed and by who took part: another fingerprint is another session."""
    lineup = [(seed, capture.record.key, capture.record.fingerprint) for capture in admitted]
    return Key(
        workload=fixtures.workload,
        shape=fixtures.shape,
        target=target,
        environment=hashlib.sha256(msgspec.json.encode(lineup)).hexdigest()[:16],
        method=method.hash,
    )


def _contender(space: Workspace, capture: CaptureRecord) -> Contender:
    ready = environment_record(space, capture.key.compiler, capture.key.target)
    assert ready.environment is not None, "an admitted capture had an environment"
    return Contender(
        compiler=capture.key.compiler,
        variant=capture.key.variant,
        fingerprint=capture.fingerprint,
        start=starter(space, space.adapter(capture.key.compiler), ready.environment, capture.cache),
        cache=capture.cache.sha256 if capture.cache else "",
        searches=searches(ready.stored.record, capture.key.variant),
    )


def restored_folder(space: Workspace, path: Path, cache: Evidence | None) -> WorkerFolder:
    """A worker's folder at ``path`` whose caches are those that the capture left."""
    folder = WorkerFolder(path)
    if cache is not None:
        archive = path / cache.name
        archive.write_bytes(space.store.read(cache))
        restore(archive, folder)
        archive.unlink()
    return folder


def starter(
    space: Workspace, adapter: AdapterFolder, environment: Environment, cache: Evidence | None
) -> Callable[[Path], AbstractContextManager[TimingWorker]]:
    def start(path: Path) -> AbstractContextManager[TimingWorker]:
        return worker_for(adapter, environment, restored_folder(space, path, cache))

    return start
