"""A series may span several physical devices; whatever that may explain says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.history.alerts import find_alerts
from tensor_assets.history.series import Track, tracks
from tensor_assets.report.faces import face_of
from tensor_assets.report.history_chart import history_chart
from tensor_assets.report.history_rows import moments
from tensor_assets_tests.history.nights import empty_store, logs, put_nights

RELEASES = ["1.0"] * 30 + ["1.1"] * 30


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return empty_store(tmp_path)


def stepped() -> np.ndarray:
    values = logs(60)
    values[30:] += 0.1
    return values


def the_track(store: EvidenceStore) -> Track:
    (track,) = tracks(PublicView(store))
    return track


def test_a_step_that_came_with_another_device_says_so(store: EvidenceStore) -> None:
    put_nights(store, stepped(), versions=RELEASES, uuids=["GPU-a"] * 30 + ["GPU-b"] * 30)
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ("device",)
    assert alert.sentence.endswith("; the physical device is another one too (GPU-a, then GPU-b)")
    assert history_chart(the_track(store), face_of("tinygrad", {})).title.endswith("(1.1), on another device")


def test_devices_that_never_come_back_tell_nothing_apart(store: EvidenceStore) -> None:
    put_nights(store, stepped(), versions=RELEASES, uuids=[f"GPU-{n}" for n in range(60)])
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ("device",)
    assert alert.sentence.endswith("; no physical device has 3 records on both sides")


def test_a_device_that_ran_on_both_sides_tells_the_step_by_itself(store: EvidenceStore) -> None:
    put_nights(store, stepped(), versions=RELEASES, uuids=["GPU-a", "GPU-b"] * 30)
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ()
    assert alert.sentence.endswith("; on another physical device, but 2 of them ran on both sides")


def test_the_one_device_that_tells_a_step_is_named(store: EvidenceStore) -> None:
    uuids = ["GPU-a"] * 20 + ["GPU-b"] * 10 + ["GPU-a"] * 30
    put_nights(store, stepped(), versions=RELEASES, uuids=uuids)
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ()
    assert alert.sentence.endswith("; on another physical device, but GPU-a ran on both sides")


def test_two_records_on_the_other_side_are_too_few_to_tell(store: EvidenceStore) -> None:
    uuids = ["GPU-a"] * 30 + ["GPU-a"] * 2 + ["GPU-b"] * 28
    put_nights(store, stepped(), versions=RELEASES, uuids=uuids)
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ("device",)


def test_one_device_needs_no_word(store: EvidenceStore) -> None:
    put_nights(store, stepped(), versions=RELEASES)
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ()
    assert alert.sentence.endswith("device clock)")


def test_the_same_code_on_another_device_is_no_alert_and_the_page_names_the_device(store: EvidenceStore) -> None:
    put_nights(store, stepped(), uuids=["GPU-a"] * 30 + ["GPU-b"] * 30)
    assert find_alerts(PublicView(store)) == []
    track = the_track(store)
    said = {moment.record: moment.what for moment in moments(track, ())}[track.series[0].points[30].record]
    assert "the code is the same: the host's doing; the physical device is another one too" in said
    assert history_chart(track, face_of("tinygrad", {})).title.endswith("with the same code, on another device")


def test_a_drift_across_devices_says_so(store: EvidenceStore) -> None:
    values = logs(120)
    values[30:90] += np.linspace(0, 0.2, 60)
    values[90:] += 0.2
    put_nights(store, values, versions=[f"1.{n // 10}" for n in range(120)], uuids=[f"GPU-{n}" for n in range(120)])
    (alert,) = (one for one in find_alerts(PublicView(store)) if one.kind == "drift")
    assert alert.beside == ("device",)


def test_devices_without_an_identity_are_told_apart_by_their_allocations(store: EvidenceStore) -> None:
    put_nights(store, stepped(), versions=RELEASES, uuids=[""] * 30 + ["GPU-b"] * 30)
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ("device",)
    assert "; the allocation is another one too (" in alert.sentence


@pytest.mark.parametrize(
    ("uuids", "said", "apart"),
    [
        (["GPU-a"] * 3, "n = 3 records of one allocation", False),
        (["GPU-a", "GPU-b", "GPU-a"], "n = 3 records of 2 allocations on 2 physical devices", True),
        (["GPU-a", "", "GPU-a"], "n = 3 records of 2 allocations", True),
    ],
)
def test_the_subtitle_says_how_many(store: EvidenceStore, uuids: list[str], said: str, apart: bool) -> None:
    put_nights(store, logs(3), uuids=uuids)
    chart = history_chart(the_track(store), face_of("tinygrad", {}))
    assert chart.subtitle.partition(";")[0].endswith(said)
    assert ("not between devices" in chart.subtitle) == apart
    rows = chart.spec["datasets"]["rows"]
    assert [row["device"] for row in rows] == [uuid or "not told" for uuid in uuids]
    assert all(row["allocation"].startswith("allocation") for row in rows)
