from pathlib import Path

import pytest

from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.contract.manifest import load_workloads
from tensor_assets.contract.shapes import load_shapes
from tensor_assets.settings import ROOT


@pytest.fixture(scope="session")
def program():
    """``weight_view`` at its inspection size."""
    workloads = load_workloads([ROOT / "fixtures" / "workloads"])
    return workloads["weight_view"].program("matrix_inspect", load_shapes(Path(ROOT / "fixtures" / "shapes.json")))


@pytest.fixture(scope="session")
def fixtures(program):
    return build_fixtures(program, names=("search", "exact-0", "random"))


@pytest.fixture
def in_order(monkeypatch):
    """Processes are prepared one after the other, so that which of them misbehaves does not depend on threads."""
    monkeypatch.setattr("tensor_assets.sessions.preparing.at_once", lambda: 1)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """Sessions work in the cache's scratch folder, and clear what dead ones left there."""
    monkeypatch.setenv("TENSOR_ASSETS_CACHE", str(tmp_path / "cache"))
