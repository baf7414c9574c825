"""`tensor-assets alerts` without Dagster: tells once, then has nothing to tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tensor_assets.cli import cli
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets_tests.history.nights import put_capture


def test_an_alert_is_printed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSOR_ASSETS_STORE", str(tmp_path / "store"))
    monkeypatch.delenv("TENSOR_ASSETS_ALERT_COMMAND", raising=False)
    store = EvidenceStore(tmp_path / "store")
    put_capture(store, 0, "ok")
    put_capture(store, 1, "crashed", version="1.1", reason="SIGSEGV")
    first = CliRunner().invoke(cli, ["alerts"], catch_exceptions=False)
    assert "ok became crashed (SIGSEGV)" in first.output
    second = CliRunner().invoke(cli, ["alerts"], catch_exceptions=False)
    assert second.output == "no series changed its state since the last look\n"
