"""A worker's own words are cleaned before they are compared with a record's, or go into a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.evidence.identity import Identity
from tensor_assets.evidence.redaction import redact
from tensor_assets.repro.trying import Failure, Trier, kind_of, same
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.failure import crashed

SAID = "LLVM cannot write /home/jane.doe/src/kernel.o on gpu-node-77"
IDENTITY = Identity(hosts=("gpu-node-77",))


def test_a_reason_is_told_and_compared_without_people_and_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Trier, *fixtures: BuiltFixture) -> None:
        raise crashed(SAID)

    monkeypatch.setattr(Trier, "_run", fails)
    space = Workspace()
    environment = Environment(
        python=tmp_path / "python",
        hash="0" * 64,
        lock_sha256="",
        python_version="",
        freeze={},
        version="",
        toolchain={},
    )
    with Trier(
        space.adapter("eager"),
        environment,
        "default",
        "cpu",
        fixture="exact-0",
        scratch=tmp_path,
        deadline=60.0,
        clean=lambda reason: redact(reason, IDENTITY)[0],
    ) as trier:
        tried = trier(space.workload("gemm").program("inspect", space.shapes))
    recorded, _ = redact(SAID, IDENTITY)
    assert tried.reason == recorded
    assert "jane" not in recorded
    assert "gpu-node" not in recorded
    assert same(Failure("crashed", kind_of(recorded)), tried.failure)
