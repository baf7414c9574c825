"""Step 1: the fixtures of a workload at one shape."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess

import msgspec
from tensor_worker.program import Program

from tensor_assets.campaign.method import CONTRACT, source_hash
from tensor_assets.campaign.stored import Stored, file, provenance, reuse
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.arrays import Arrays, load_arrays, save_arrays
from tensor_assets.contract.fixtures import BuiltFixture, build_fixtures
from tensor_assets.errors import EvidenceDamaged
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.progress import announce
from tensor_assets.records import Evidence, Fixture, FixtureRecord, Key, Outcome
from tensor_assets.sessions.preparing import at_once
from tensor_assets.settings import Settings

NPZ = "application/x-npz"
BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def fixture_record(space: Workspace, workload: str, shape: str = "", *, force: bool = False) -> Stored[FixtureRecord]:
    """The workload's fixtures, built unless the store has them. Raises ManifestError, SettingsError."""
    key, program = _asked_for(space, workload, shape)
    if not force and (found := reuse(space.store, FixtureRecord, key)):
        return found
    announce(f"{workload}: building fixtures at {key.shape}")
    built = build_fixtures(program)
    return file(
        space.store,
        FixtureRecord(
            key=key,
            outcome=Outcome(status="ok"),
            provenance=provenance(),
            program=program,
            question=space.workload(workload).question,
            fixtures=tuple(_stored(space.store, fixture) for fixture in built),
        ),
    )


def fixture_records(space: Workspace, workloads: Sequence[str], shape: str = "") -> Iterator[Stored[FixtureRecord]]:
    """As ``fixture_record``, of many: what is missing is built in processes beside each other.

    In threads they wait for the interpreter's lock: ten workloads at ``matrix`` held a GPU host of 16 processors 68 s.
    """
    keys = {name: _asked_for(space, name, shape)[0] for name in workloads}
    missing = [name for name, key in keys.items() if reuse(space.store, FixtureRecord, key) is None]
    if len(missing) > 1:
        with _builders(min(at_once(), len(missing))) as pool:
            for name in pool.map(partial(_built_apart, space.settings, shape), missing):
                announce(f"{name}: fixtures are built")
    for name in workloads:
        yield fixture_record(space, name, shape)


def load_fixtures(space: Workspace, record: FixtureRecord) -> tuple[BuiltFixture, ...]:
    """The arrays of a stored record, as they were built.

    A compact bundle leaves them out: then they are made again, and must have the recorded hashes. Raises
    EvidenceDamaged where they do not, or where a stored file is not what its name says.
    """
    if all(space.store.has(fixture.arrays.sha256) for fixture in record.fixtures):
        return tuple(_loaded(space.store, fixture) for fixture in record.fixtures)
    announce(f"{record.key.workload}: making fixtures again at {record.key.shape}")
    built = build_fixtures(record.program)
    if [fixture.hashes for fixture in built] != [fixture.hashes for fixture in record.fixtures]:
        raise EvidenceDamaged(f"fixtures of {record.key.workload} at {record.key.shape} do not come out as recorded")
    for fixture in built:
        _stored(space.store, fixture)
    return built


def fixture_method(program: Program) -> str:
    """What decides a workload's fixtures: the program and the contract room's sources."""
    return hashlib.sha256(msgspec.json.encode(program) + source_hash(CONTRACT).encode()).hexdigest()[:16]


def _asked_for(space: Workspace, workload: str, shape: str) -> tuple[Key, Program]:
    shape = space.shape(workload, shape)
    program = space.workload(workload).program(shape, space.shapes)
    return Key(workload=workload, shape=shape, method=fixture_method(program)), program


def _built_apart(settings: Settings, shape: str, workload: str) -> str:
    """In a process of its own: the store is what it shares with the others."""
    fixture_record(Workspace(settings), workload, shape)
    return workload


@contextmanager
def _builders(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes to build in, which end with whoever asked for them, however that one ends."""
    spawn = get_context("spawn")
    with _one_thread_each(), ProcessPoolExecutor(count, mp_context=spawn, initializer=_belong_to_parent) as pool:
        try:
            yield pool
        except BaseException:
            for process in active_children():
                process.terminate()
            raise


def _belong_to_parent() -> None:
    """A terminal sends Ctrl-C to all of its processes: it is for the parent. One that is killed tells nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """For processes started meanwhile: NumPy's library reads it when it is loaded, and there are as many processes."""
    before = os.environ.get(BLAS_THREADS)
    os.environ[BLAS_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[BLAS_THREADS]
        else:
            os.environ[BLAS_THREADS] = before


def _stored(store: EvidenceStore, fixture: BuiltFixture) -> Fixture:
    def kept(arrays: Arrays | None, part: str) -> Evidence | None:
        if arrays is None:
            return None
        return store.put_bytes(save_arrays(None, arrays), media_type=NPZ, name=f"{fixture.name}.{part}.npz")

    inputs, reference = kept(fixture.inputs, "inputs"), kept(fixture.reference, "reference")
    assert inputs is not None
    assert reference is not None
    return Fixture(
        name=fixture.name,
        exact=fixture.exact,
        seed=fixture.seed,
        arrays=inputs,
        reference=reference,
        low=kept(fixture.low, "low"),
        high=kept(fixture.high, "high"),
        hashes=fixture.hashes,
        bounds=fixture.bounds,
        coverage=fixture.coverage,
        recipe=fixture.recipe,
    )


def _loaded(store: EvidenceStore, fixture: Fixture) -> BuiltFixture:
    return BuiltFixture(
        name=fixture.name,
        exact=fixture.exact,
        seed=fixture.seed,
        inputs=load_arrays(store.read(fixture.arrays)),
        reference=load_arrays(store.read(fixture.reference)),
        low=load_arrays(store.read(fixture.low)) if fixture.low else None,
        high=load_arrays(store.read(fixture.high)) if fixture.high else None,
        hashes=fixture.hashes,
        bounds=fixture.bounds,
        coverage=fixture.coverage,
        recipe=fixture.recipe,
    )
