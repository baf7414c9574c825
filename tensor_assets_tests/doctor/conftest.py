from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tensor_assets.settings import ROOT, Settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A deployment of its own: the checkout's workloads and shapes, no compiler yet."""
    monkeypatch.setenv("TENSOR_ASSETS_LEASE", str(tmp_path / "lease"))
    (tmp_path / "adapters").mkdir()
    (tmp_path / "dagster.yaml").write_bytes((ROOT / "dagster.yaml").read_bytes())
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    return Settings(
        root=tmp_path,
        store=str(tmp_path / "store"),
        cache=tmp_path / "cache",
        workloads=(ROOT / "fixtures" / "workloads",),
        adapters=tmp_path / "adapters",
        site=tmp_path / "site" / "build",
    )


@pytest.fixture
def compiler(settings: Settings) -> Callable[..., Path]:
    """Writes an adapter folder; returns it."""

    def make(name: str = "tiny", *, lock: str = "tiny==1.2\n", wanted: str = "tiny==1.2\n", **fields: object) -> Path:
        folder = settings.adapters / name
        folder.mkdir()
        manifest = {"name": name, "title": name, "colour": "#777777", "package": "tiny", "targets": ["cpu", "cuda"]}
        (folder / "adapter.json").write_text(json.dumps(manifest | fields))
        (folder / "requirements.lock").write_text(lock)
        (folder / "requirements.in").write_text(wanted)
        return folder

    return make
