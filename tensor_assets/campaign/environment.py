"""Step 2: a compiler's environment, and what its worker says of itself."""

from __future__ import annotations

from typing import NamedTuple

from tensor_worker.messages import Greeting, Hello

from tensor_assets.campaign.method import KIT, source_hash
from tensor_assets.campaign.stored import Stored, file, provenance, reuse
from tensor_assets.campaign.workspace import Workspace, worker_target
from tensor_assets.progress import announce
from tensor_assets.records import EnvironmentRecord, Key, Outcome
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.environments import Environment, build_environment
from tensor_assets.workers.failure import WorkerFailed, with_log
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets.workers.scratch import scratch_folder

# Importing a compiler for the first time, from a cold disk.
GREETING_SECONDS = 180.0


class Ready(NamedTuple):
    """A compiler's environment with its record; ``environment`` is None where it could not be had."""

    stored: Stored[EnvironmentRecord]
    environment: Environment | None


def environment_record(space: Workspace, compiler: str, target: str = "", *, force: bool = False) -> Ready:
    """The compiler's environment for ``target``, built unless it exists, and its worker's greeting.

    A build or a greeting that fails is the record's outcome. Looked into once per workspace, however many cells ask
    at a time, unless forced. Raises SettingsError for an unknown compiler.
    """
    adapter, target = space.adapter(compiler), target or space.settings.target
    with space.looking[compiler, target]:
        space.require_wanted()
        known = space.environments.get((compiler, target))
        if known is None or force:
            known = space.environments[compiler, target] = _ready(space, adapter, target, force)
        return known


def searches(record: EnvironmentRecord, variant: str) -> bool:
    """Whether compiling ``variant`` times candidates, as its compiler says: then nothing else may run on this host."""
    return any(one.name == variant and not one.deterministic for one in record.variants)


def recorded_environment(space: Workspace, compiler: str, target: str) -> EnvironmentRecord | None:
    """The newest record of this host's environment of the accepted lock for ``target``; builds nothing."""
    lock, elsewhere = space.adapter(compiler).lock_sha256, space.store.imported()
    records = [
        record
        for record_id, record in space.store.records(EnvironmentRecord)
        if (record.key.compiler, record.key.target, record.lock_sha256) == (compiler, target, lock)
        and record_id not in elsewhere
    ]
    return max(records, key=lambda record: record.provenance.created, default=None)


def imported_environments(space: Workspace, compiler: str, target: str) -> list[EnvironmentRecord]:
    """Where captures of the compiler on ``target`` were made that were taken in from elsewhere, oldest first."""
    lock, elsewhere = space.adapter(compiler).lock_sha256, space.store.imported()
    records = [
        record
        for record_id, record in space.store.records(EnvironmentRecord)
        if (record.key.compiler, record.key.target) == (compiler, target)
        # What an adapter read from a folder has no lock: it is known by its versions alone.
        and (record.lock_sha256 == "" or (record.lock_sha256 == lock and record_id in elsewhere))
    ]
    return sorted(records, key=lambda record: record.provenance.created)


def _ready(space: Workspace, adapter: AdapterFolder, target: str, force: bool) -> Ready:
    environment = build_environment(adapter, space.settings, target=worker_target(target), keeper=space.store)
    space.require_wanted()  # a build that was ended from outside says nothing of whether it can be had
    if isinstance(environment, Outcome):
        return Ready(_unavailable(space, adapter, target, environment), None)
    key = Key(compiler=adapter.name, target=target, environment=environment.hash, method=source_hash(KIT, adapter.path))
    found = reuse(space.store, EnvironmentRecord, key)
    if found and not force and (adapter.candidate or not found.record.candidate):
        return Ready(found, environment)
    greeted = _greeted(space, adapter, environment, key)
    space.require_wanted()
    return Ready(file(space.store, greeted), environment)


def _greeted(space: Workspace, adapter: AdapterFolder, environment: Environment, key: Key) -> EnvironmentRecord:
    announce(f"{adapter.name}: asking its worker for versions and variants")
    outcome, greeting = Outcome(status="ok"), None
    with scratch_folder(space.settings.cache, "greeting-") as scratch:
        folder = WorkerFolder(scratch)
        try:
            with worker_for(adapter, environment, folder, deadline=GREETING_SECONDS) as worker:
                greeting = worker.ask(Hello())
        except WorkerFailed as failure:
            outcome = with_log(failure.outcome, space.store, folder.log)
    return _record(key, outcome, environment, greeting, adapter.candidate)


def _record(
    key: Key, outcome: Outcome, environment: Environment, greeting: Greeting | None, candidate: bool
) -> EnvironmentRecord:
    return EnvironmentRecord(
        key=key,
        outcome=outcome,
        provenance=provenance(seconds={"install": environment.built_seconds} if environment.built_seconds else {}),
        python=environment.python_version,
        lock_sha256=environment.lock_sha256,
        freeze=environment.freeze,
        version=greeting.version if greeting else environment.version,
        toolchain=environment.toolchain | (greeting.toolchain if greeting else {}),
        candidate=candidate,
        variants=greeting.variants if greeting else (),
    )


def _unavailable(space: Workspace, adapter: AdapterFolder, target: str, outcome: Outcome) -> Stored[EnvironmentRecord]:
    return file(
        space.store,
        EnvironmentRecord(
            key=Key(compiler=adapter.name, target=target),
            outcome=outcome,
            provenance=provenance(),
            python="",
            lock_sha256=adapter.lock_sha256,
            freeze={},
            candidate=adapter.candidate,
        ),
    )
