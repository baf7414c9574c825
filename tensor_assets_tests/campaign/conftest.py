"""A checkout of its own: a store, a cache, and a folder with one toy compiler in it (NumPy, in its own environment)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.settings import ROOT, load_settings

REFERENCE = ROOT / "tensor_assets_tests" / "workers" / "adapters" / "numpy_reference"
# The lock of the smallest adapter: NumPy and the worker kit's message library, nothing else.
LOCK = ROOT / "adapters" / "luminal" / "requirements.lock"


def add_compiler(adapters: Path, name: str, source: Path = REFERENCE) -> Path:
    """Drop a compiler's folder into ``adapters``, as somebody who adds one does."""
    folder = adapters / name
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(LOCK, folder / "requirements.lock")
    about = {"name": name, "title": "NumPy", "colour": "#444444", "package": "numpy", "targets": ["cpu"]}
    (folder / "adapter.json").write_text(json.dumps(about))
    return folder


@pytest.fixture
def adapters(tmp_path: Path) -> Path:
    folder = tmp_path / "adapters"
    add_compiler(folder, "toy")
    return folder


@pytest.fixture
def space(tmp_path: Path, adapters: Path) -> Workspace:
    settings = msgspec.structs.replace(
        load_settings(), store=str(tmp_path / "store"), adapters=adapters, site=tmp_path / "site" / "build"
    )
    return Workspace(settings)
