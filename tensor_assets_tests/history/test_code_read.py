"""Other code is the compiler's; a plan that our adapter reads otherwise is not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.history.alerts import find_alerts
from tensor_assets.history.code import Kernel, Reading, turn
from tensor_assets.history.series import tracks
from tensor_assets.history.telling import message
from tensor_assets.report.faces import face_of
from tensor_assets.report.history_chart import history_chart
from tensor_assets.report.history_rows import moments
from tensor_assets_tests.history.nights import empty_store, logs, put_code, put_nights

KERNELS = st.lists(st.sampled_from("abcdef"), unique=True).map(lambda names: tuple(Kernel(n, n * 2) for n in names))


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return empty_store(tmp_path)


def reading(fingerprint: str, method: str, *kernels: str) -> Reading:
    return Reading(fingerprint, method, tuple(Kernel(f"hash of {name}", f"text of {name}") for name in kernels))


def stepped(nights: int, at: int, size: float = 0.1) -> np.ndarray:
    values = logs(nights)
    values[at:] += size
    return values


def test_one_adapters_two_readings_are_other_code() -> None:
    assert turn(reading("1", "m", "a"), reading("2", "m", "a")) == "other"
    assert turn(reading("1", ""), reading("2", "")) == "other"


def test_a_call_that_a_mended_adapter_sees_is_no_other_code() -> None:
    assert turn(reading("memset", "m1"), reading("memset, gemm", "m2")) == "reread"
    assert turn(reading("k", "m1", "scale"), reading("k, gemm", "m2", "scale")) == "reread"
    assert turn(reading("k", "m1", "scale"), reading("k, l", "m2", "scale", "missed before")) == "reread"


def test_kernels_that_took_each_others_place_are_other_code_whoever_read_them() -> None:
    assert turn(reading("1", "m1", "product", "bias"), reading("2", "m2", "fused")) == "other"


def test_a_kit_that_normalizes_otherwise_changes_no_code() -> None:
    earlier, later = (Reading(hashed, hashed, (Kernel(hashed, "the same text"),)) for hashed in ("1", "2"))
    assert turn(earlier, later) == "reread"


def test_nothing_is_said_of_code_whose_capture_is_not_here() -> None:
    assert turn(reading("1", ""), reading("2", "m", "a")) == "reread"


@given(KERNELS, KERNELS)
def test_only_an_exchange_is_other_code_between_adapters(one: tuple[Kernel, ...], two: tuple[Kernel, ...]) -> None:
    exchanged = bool(set(one) - set(two)) and bool(set(two) - set(one))
    there, back = (turn(Reading("1", "m1", a), Reading("2", "m2", b)) for a, b in ((one, two), (two, one)))
    assert there == back == ("other" if exchanged else "reread")


@pytest.mark.parametrize("clock", ["device", "host"])
def test_a_step_on_the_night_an_adapter_was_mended_is_not_the_compilers(store: EvidenceStore, clock: str) -> None:
    before = put_code(store, 0, adapter="blind", kernels=["k"])
    after = put_code(store, 30, adapter="mended", kernels=["k"], calls=1)
    put_nights(store, stepped(60, 30), captures=[before] * 30 + [after] * 30, clock=clock)
    assert find_alerts(PublicView(store)) == []
    (track,) = tracks(PublicView(store))
    (series,) = track.series  # reading a plan otherwise makes no other measurement
    assert [change.at for change in series.changes] == [30]
    said = {moment.record: moment.what for moment in moments(track, ())}[series.points[30].record]
    assert "whether the code is the same cannot be told" in said
    assert "the code is the same:" not in said
    assert history_chart(track, face_of("tinygrad", {})).title.endswith(", no other code seen")


def test_the_same_code_under_a_mended_adapter_stays_the_same_code(store: EvidenceStore) -> None:
    adapters = (put_code(store, n, adapter=name, kernels=["k"]) for n, name in ((0, "old"), (30, "new")))
    one, two = adapters
    put_nights(store, stepped(60, 30), captures=[one] * 30 + [two] * 30)
    assert find_alerts(PublicView(store)) == []
    (track,) = tracks(PublicView(store))
    assert set(track.series[0].turns) == {""}
    said = {moment.record: moment.what for moment in moments(track, ())}[track.series[0].points[30].record]
    assert said.endswith("the code is the same; captured by another adapter too")


def test_a_search_that_chose_otherwise_is_told_with_the_adapter_beside_it(store: EvidenceStore) -> None:
    before = put_code(store, 0, adapter="old", kernels=["product", "bias"])
    after = put_code(store, 30, adapter="new", kernels=["fused"])
    ids = put_nights(store, stepped(60, 30), captures=[before] * 30 + [after] * 30)
    (alert,) = find_alerts(PublicView(store))
    assert (alert.before, alert.after, alert.beside) == (ids[29], ids[30], ("adapter",))
    assert alert.sentence.endswith("; captured by another adapter too")
    assert msgspec.json.decode(message("0" * 64, alert))["beside"] == ["adapter"]


def test_one_adapters_other_code_is_told_with_nothing_beside_it(store: EvidenceStore) -> None:
    before, after = (put_code(store, n, adapter="one", kernels=["k"], calls=n) for n in (0, 1))
    put_nights(store, stepped(60, 30), captures=[before] * 30 + [after] * 30)
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ()
    assert alert.sentence.endswith("device clock)")


def test_a_release_that_another_adapter_read_is_told_as_not_known(store: EvidenceStore) -> None:
    before = put_code(store, 0, adapter="old", kernels=[], calls=1)
    after = put_code(store, 30, adapter="new", kernels=[], calls=2, version="1.1")
    versions = ["1.0"] * 30 + ["1.1"] * 30
    put_nights(store, stepped(60, 30), captures=[before] * 30 + [after] * 30, versions=versions)
    (alert,) = find_alerts(PublicView(store))
    assert alert.beside == ("reading",)
    assert "1.0 to 1.1" in alert.sentence
    assert alert.sentence.endswith("whether the code is the same cannot be told")


def test_an_adapter_that_is_mended_again_and_again_makes_no_drift_the_compilers(store: EvidenceStore) -> None:
    values = logs(120)
    values[30:90] += np.linspace(0, 0.2, 60)
    values[90:] += 0.2
    mended = [put_code(store, n, adapter=f"adapter {n}", kernels=["k"], calls=n) for n in range(6)]
    put_nights(store, values, captures=[mended[n // 20] for n in range(120)])
    (track,) = tracks(PublicView(store))
    assert "drift" in {change.kind for change in track.series[0].changes}
    assert track.series[0].turns.count("reread") == 5
    assert find_alerts(PublicView(store)) == []


def test_the_subtitle_counts_what_was_read_otherwise_apart_from_other_code(store: EvidenceStore) -> None:
    plans = [("blind", ["k"], 0), ("mended", ["k"], 1), ("mended", ["l"], 1)]
    captures = [put_code(store, n, adapter=a, kernels=k, calls=c) for n, (a, k, c) in enumerate(plans)]
    put_nights(store, logs(3), captures=captures)
    (track,) = tracks(PublicView(store))
    assert "other code 1×, plan read otherwise 1×" in history_chart(track, face_of("tinygrad", {})).subtitle
