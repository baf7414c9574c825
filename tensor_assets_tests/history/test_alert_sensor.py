"""The sensor on a real instance: a tick tells, the next one has nothing to tell, a failing command fails its tick."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets_tests.history.nights import logs, put_nights

pytestmark = pytest.mark.instance


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvidenceStore:
    monkeypatch.setenv("TENSOR_ASSETS_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TENSOR_ASSETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TENSOR_ASSETS_SITE", str(tmp_path / "site"))
    store = EvidenceStore(tmp_path / "store")
    values = logs(60)
    values[40:] += 0.2
    put_nights(store, values, versions=["1.0"] * 40 + ["1.1"] * 20)
    return store


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        yield instance


def tick(instance: dg.DagsterInstance, cursor: str | None = None):
    from tensor_assets.definitions import defs
    from tensor_assets.defs.resources import WorkspaceResource

    sensor = defs.resolve_sensor_def("history_alerts")
    with dg.build_sensor_context(
        instance=instance, cursor=cursor, definitions=defs, resources={"workspace": WorkspaceResource()}
    ) as context:
        return sensor.evaluate_tick(context)


def test_a_change_is_told_at_one_tick_and_its_site_asked_for(
    store: EvidenceStore, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = tmp_path / "heard"
    script = tmp_path / "hear.py"
    script.write_text("import sys\nopen(sys.argv[1], 'ab').write(sys.stdin.buffer.read() + b'\\n')\n")
    monkeypatch.setenv("TENSOR_ASSETS_ALERT_COMMAND", f"{sys.executable} {script} {heard}")
    first = tick(instance)
    assert len(first.run_requests) == 1
    assert "slower" in heard.read_text()
    for cursor in (None, first.cursor):  # whether or not it remembers that there is nothing new to read
        again = tick(instance, cursor)
        assert not again.run_requests
        assert "no series changed" in again.skip_message
        assert again.cursor == first.cursor
    assert len(heard.read_text().splitlines()) == 1


def test_a_command_that_fails_is_tried_again(
    store: EvidenceStore, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSOR_ASSETS_ALERT_COMMAND", "false")
    with pytest.raises(Exception, match="exited with 1"):
        tick(instance)
    monkeypatch.delenv("TENSOR_ASSETS_ALERT_COMMAND")
    assert len(tick(instance).run_requests) == 1
