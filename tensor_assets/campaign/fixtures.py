"""Step 1: the fixtures of a workload at one shape."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import msgspec
import numpy as np
from tensor_worker.program import Program

from tensor_assets.campaign.method import CONTRACT, source_hash
from tensor_assets.campaign.stored import Stored, file, provenance, reuse
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.arrays import save_arrays
from tensor_assets.contract.fixtures import BuiltFixture, build_fixtures
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


def fixture_method(program: Program) -> str:
    """What decides a workload's fixtures: the program and the contract room's sources."""
    return hashlib.sha256(msgspec.json.encode(program) + source_hash(CONTRACT).encode()).hexdigest()[:16]


def _stored(store: EvidenceStore, fixture: BuiltFixture) -> Fixture:
    return Fixture(
        name=fixture.name,
        exact=fixture.exact,
        seed=fixture.seed,
        arrays=_arrays(store, f"{fixture.name}.npz", dict(fixture.inputs)),
        reference=_arrays(store, f"{fixture.name}.reference.npz", dict(fixture.reference)),
        hashes=dict(fixture.hashes),
        bounds=fixture.bounds,
        coverage=dict(fixture.coverage),
        recipe=fixture.recipe,
    )


def _arrays(store: EvidenceStore, name: str, arrays: dict[str, np.ndarray]) -> Evidence:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        save_arrays(path, arrays)
        return store.put_file(path, media_type=NPZ, name=name)
