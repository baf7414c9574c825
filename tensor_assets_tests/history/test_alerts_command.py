"""`tensor-assets alerts` without Dagster: tells once, then has nothing to tell."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tensor_assets.campaign import publish
from tensor_assets.campaign.alerting import pass_on
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.cli import cli
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.history import alerts
from tensor_assets.history.series import History
from tensor_assets.records import AlertRecord
from tensor_assets.settings import load_settings
from tensor_assets_tests.history.nights import put_capture


def test_pages_have_an_alert_before_anybody_is_told(tmp_path: Path) -> None:
    here = {"store": str(tmp_path / "store"), "cache": tmp_path / "cache", "site": tmp_path / "site"}
    space = Workspace(msgspec.structs.replace(load_settings({}), **here))
    put_capture(space.store, 0, "ok")
    put_capture(space.store, 1, "crashed", version="1.1")
    publish.pages(space)
    ((alert_id, _),) = space.store.records(AlertRecord)
    assert alert_id in (space.settings.generated / "pages" / "feed.atom").read_text()
    assert pass_on(space, print) == [alert_id]


def test_two_who_look_at_once_find_and_tell_each_alert_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"store": str(tmp_path / "store"), "cache": tmp_path / "cache", "alert_command": ""}
    settings = msgspec.structs.replace(load_settings({}), **here)
    store = EvidenceStore(tmp_path / "store")
    put_capture(store, 0, "ok")
    put_capture(store, 1, "crashed", version="1.1")
    together, find = threading.Barrier(2), alerts.find_alerts

    def find_slowly(history: History) -> list[AlertRecord]:
        found = find(history)
        with suppress(threading.BrokenBarrierError):  # the other one is kept out meanwhile
            together.wait(0.5)
        return found

    monkeypatch.setattr(alerts, "find_alerts", find_slowly)
    said: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda _: pass_on(Workspace(settings), said.append), range(2)))
    ((alert_id, _),) = store.records(AlertRecord, history=True)
    assert sorted(map(len, told)) == [0, 1]
    assert len(said) == 1, alert_id


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
