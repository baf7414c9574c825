"""Each change of state is told once, with its evidence; what is no change of the compiler's is not told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tensor_assets.errors import AlertNotTold, SettingsError
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.verification import verify
from tensor_assets.history.alerts import file_alerts, find_alerts
from tensor_assets.history.series import tracks
from tensor_assets.history.telling import tell, untold
from tensor_assets.records import AlertRecord, NoticeRecord
from tensor_assets_tests.history.nights import empty_store, logs, night, put_capture, put_nights


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return empty_store(tmp_path)


def stepped(nights: int, at: int, size: float) -> np.ndarray:
    values = logs(nights)
    values[at:] += size
    return values


def releases(nights: int, at: int) -> list[str]:
    return ["1.0"] * at + ["1.1"] * (nights - at)


def test_a_release_that_slows_a_cell_is_told_with_the_records_of_both_sides(store: EvidenceStore) -> None:
    ids = put_nights(store, stepped(60, 40, 0.1), versions=releases(60, 40))
    (alert,) = find_alerts(PublicView(store))
    assert (alert.before, alert.after) == (ids[39], ids[40])
    assert alert.provenance.parents == (ids[39], ids[40])
    assert alert.since == night(40)
    assert alert.slower
    assert alert.ratio == pytest.approx(np.exp(0.1), rel=0.01)
    assert "1.0 to 1.1" in alert.sentence


def test_the_same_change_is_found_once_however_often_one_looks(store: EvidenceStore) -> None:
    values, versions = stepped(70, 40, 0.1), releases(70, 40)
    put_nights(store, values[:44], versions=versions[:44])
    assert len(file_alerts(store, PublicView(store))) == 1
    for number in range(44, 70):
        put_nights(store, values[number : number + 1], first=number, versions=versions[number : number + 1])
        assert file_alerts(store, PublicView(store)) == []


def test_a_way_back_is_another_change(store: EvidenceStore) -> None:
    values = stepped(60, 30, 0.1)
    values[45:] -= 0.1
    versions = ["1.0"] * 30 + ["1.1"] * 15 + ["1.2"] * 15
    put_nights(store, values, versions=versions)
    found = file_alerts(store, PublicView(store))
    assert [alert.slower for _, alert in found] == [True, False]


def test_the_same_code_that_takes_longer_is_the_hosts_doing(store: EvidenceStore) -> None:
    put_nights(store, stepped(60, 40, 0.1))
    assert find_alerts(PublicView(store)) == []
    (track,) = tracks(PublicView(store))
    assert [change.at for change in track.series[0].changes] == [40]


@pytest.mark.parametrize("other", [{"method": "m2"}, {"driver": "590.1"}, {"device": "NVIDIA H100 80GB HBM3"}])
def test_another_method_driver_or_device_begins_another_series(store: EvidenceStore, other: dict[str, str]) -> None:
    values, versions = stepped(60, 30, 0.3), releases(60, 30)
    put_nights(store, values[:30], versions=versions[:30])
    put_nights(store, values[30:], first=30, versions=versions[30:], **other)
    assert find_alerts(PublicView(store)) == []
    (track,) = tracks(PublicView(store))
    assert [len(series.points) for series in track.series] == [30, 30]
    assert track.series[1].reset == f"another {next(iter(other))}"


def test_one_bad_night_and_a_small_change_tell_nobody(store: EvidenceStore) -> None:
    values = stepped(90, 60, 0.02)
    values[20] += 0.5
    put_nights(store, values, versions=releases(90, 60))
    assert find_alerts(PublicView(store)) == []


def test_an_outcome_that_changes_is_told_once(store: EvidenceStore) -> None:
    before = put_capture(store, 0, "ok")
    put_capture(store, 1, "unavailable", reason="no device")
    after = put_capture(store, 2, "rejected", version="1.1", reason="product rounded")
    put_capture(store, 3, "rejected", version="1.1", reason="product rounded")
    ((_, alert),) = file_alerts(store, PublicView(store))
    assert (alert.kind, alert.was, alert.now) == ("outcome", "ok", "rejected")
    assert (alert.before, alert.after) == (before, after)
    assert "product rounded" in alert.sentence
    assert file_alerts(store, PublicView(store)) == []


def test_a_first_outcome_and_another_judge_change_nothing(store: EvidenceStore) -> None:
    put_capture(store, 0, "rejected")
    put_capture(store, 1, "ok", method="m2")
    assert find_alerts(PublicView(store)) == []


def test_alerts_hold_together_with_what_they_name(store: EvidenceStore, tmp_path: Path) -> None:
    put_capture(store, 0, "ok")
    put_capture(store, 2, "crashed", version="1.1")
    for alert_id, alert in file_alerts(store, PublicView(store)):
        tell(store, alert_id, alert, "", print)
    assert verify(tmp_path / "store").exit_code == 0


def alerted(store: EvidenceStore) -> tuple[str, AlertRecord]:
    put_capture(store, 0, "ok")
    put_capture(store, 2, "crashed", version="1.1")
    (found,) = file_alerts(store, PublicView(store))
    return found


def test_a_command_gets_the_alert_and_is_not_asked_twice(store: EvidenceStore, tmp_path: Path) -> None:
    alert_id, alert = alerted(store)
    heard = tmp_path / "heard.json"
    script = tmp_path / "hear.py"
    script.write_text("import pathlib, sys\npathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())\n")
    assert untold(PublicView(store)) == [(alert_id, alert)]
    tell(store, alert_id, alert, f"{sys.executable} {script} {heard}", print)
    said = json.loads(heard.read_text())
    assert (said["id"], said["was"], said["now"]) == (alert_id, "ok", "crashed")
    assert said["key"]["workload"] == "weight_view"
    assert untold(PublicView(store)) == []
    ((_, notice),) = store.records(NoticeRecord)
    assert notice.channel == Path(sys.executable).name


@pytest.mark.parametrize("command", ["false", "/no/such/program"])
def test_a_command_that_fails_leaves_the_alert_to_be_told(store: EvidenceStore, command: str) -> None:
    alert_id, alert = alerted(store)
    with pytest.raises(AlertNotTold, match=alert_id[:12]):
        tell(store, alert_id, alert, command, print)
    assert untold(PublicView(store)) == [(alert_id, alert)]


def test_a_command_line_that_is_none_is_named(store: EvidenceStore) -> None:
    with pytest.raises(SettingsError, match="TENSOR_ASSETS_ALERT_COMMAND") as told:
        tell(store, *alerted(store), "notify https://chat.example/t0ken4nobody 'unclosed", print)
    assert "t0ken4nobody" not in str(told.value), "a webhook's address is a secret, and errors reach Dagster's log"
