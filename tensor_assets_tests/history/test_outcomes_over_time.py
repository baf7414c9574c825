"""What ended alike is one line, however often and by whomever it was judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.history.alerts import find_alerts
from tensor_assets.history.outcomes import stretches
from tensor_assets.report.history_rows import outcomes
from tensor_assets.report.pages import write_pages
from tensor_assets.report.site import build_site
from tensor_assets_tests.history.nights import empty_store, logs, night, put_capture, put_nights


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return empty_store(tmp_path)


def test_a_cell_that_was_rejected_twice_has_a_history(store: EvidenceStore, tmp_path: Path) -> None:
    ids = [put_capture(store, n, "rejected", method=f"m{n}", reason="product rounded") for n in range(2)]
    assert find_alerts(PublicView(store)) == []
    pages = write_pages(PublicView(store), tmp_path / "pages")
    built = build_site(pages, tmp_path / "site").parent
    page = (built / "history" / "weight_view" / "tinygrad.html").read_text(encoding="utf-8")
    assert "product rounded" in page
    assert "was timed twice" in page
    assert all(f"evidence/{record}.json" in page for record in ids)
    assert "history/weight_view/tinygrad.html" in (built / "history.html").read_text(encoding="utf-8")


def test_one_capture_is_no_history(store: EvidenceStore, tmp_path: Path) -> None:
    put_capture(store, 0, "rejected")
    put_nights(store, logs(1))
    write_pages(PublicView(store), tmp_path / "pages")
    assert not (tmp_path / "pages" / "history" / "weight_view").exists()


def test_what_ends_alike_is_one_line_and_each_change_another(store: EvidenceStore) -> None:
    told = ["ok", "ok", "rejected", "rejected", "rejected", "ok"]
    ids = [put_capture(store, n, status, version=f"1.{n}", reason=status[2:]) for n, status in enumerate(told)]
    rows = outcomes(stretches(PublicView(store)))
    assert [(row.outcome.status, row.count) for row in rows] == [("ok", 1), ("rejected", 3), ("ok", 2)]
    assert [row.records for row in rows] == [(ids[5],), (ids[2], ids[4]), (ids[0], ids[1])]
    assert (rows[1].began, rows[1].ended, rows[1].versions) == (night(2), night(4), ("1.2", "1.3", "1.4"))
    assert {row.remarks for row in rows} == {""}


def test_a_host_without_a_device_is_no_outcome_of_the_compilers(store: EvidenceStore) -> None:
    for number, status in enumerate(["ok", "unavailable", "blocked", "ok"]):
        put_capture(store, number, status)
    (stretch,) = stretches(PublicView(store))
    assert len(stretch.captures) == 2


def test_another_judge_is_named_and_its_verdict_is_told_to_nobody(store: EvidenceStore) -> None:
    put_capture(store, 0, "rejected", reason="4 elements wrong")
    put_capture(store, 1, "rejected", reason="5 elements wrong")
    put_capture(store, 2, "ok", method="m2")
    assert find_alerts(PublicView(store)) == []
    newest, oldest = outcomes(stretches(PublicView(store)))
    assert newest.remarks == "judged by another method than the record before: told to nobody"
    assert oldest.remarks == "the last of 2 reasons"
