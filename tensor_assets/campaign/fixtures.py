"""Step 1: the fixtures of a workload at one shape."""

from __future__ import annotations

import hashlib

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

NPZ = "application/x-npz"


def fixture_record(space: Workspace, workload: str, shape: str = "", *, force: bool = False) -> Stored[FixtureRecord]:
    """The workload's fixtures, built unless the store has them. Raises ManifestError, SettingsError."""
    manifest = space.workload(workload)
    shape = space.shape(workload, shape)
    program = manifest.program(shape, space.shapes)
    key = Key(workload=workload, shape=shape, method=fixture_method(program))
    if not force and (found := reuse(space.store, FixtureRecord, key)):
        return found
    announce(f"{workload}: building fixtures at {shape}")
    built = build_fixtures(program)
    return file(
        space.store,
        FixtureRecord(
            key=key,
            outcome=Outcome(status="ok"),
            provenance=provenance(),
            program=program,
            question=manifest.question,
            fixtures=tuple(_stored(space.store, fixture) for fixture in built),
        ),
    )


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
