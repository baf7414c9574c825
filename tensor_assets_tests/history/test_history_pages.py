"""The pages of a store whose history is known: charts, moments, alerts, feeds, and links that lead somewhere."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import feedparser
import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.history.alerts import file_alerts
from tensor_assets.records import AlertRecord, ChangesRecord, Key, Outcome, Provenance
from tensor_assets.report.feeds import name_of
from tensor_assets.report.figures import Figures
from tensor_assets.report.history import HistoryPages
from tensor_assets.report.pages import SITE, write_pages
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.rendering import Renderer
from tensor_assets.report.site import build_site
from tensor_assets_tests.history.nights import empty_store, logs, night, put_capture, put_nights


class Site(NamedTuple):
    store: EvidenceStore
    folder: Path

    def text(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("history")
    store = empty_store(folder)
    values = logs(90)
    values[40:] += 0.1
    values[60:] += 0.3
    values[75:] -= 0.2
    put_nights(store, values[:60], versions=["1.0"] * 40 + ["1.1"] * 20)
    put_nights(store, values[60:], first=60, versions=["1.1"] * 30, driver="590.1")
    put_capture(store, 0, "ok")
    put_capture(store, 40, "rejected", version="1.1", reason="<product> rounded")
    file_alerts(store, PublicView(store))
    pages = write_pages(PublicView(store), folder / "pages", cache=folder / "cache")
    return Site(store, build_site(pages, folder / "site").parent)


def test_the_cell_leads_to_its_history_and_back(site: Site) -> None:
    assert "../../history/weight_view/tinygrad.html" in site.text("cells/weight_view/tinygrad.html")
    assert "../../cells/weight_view/tinygrad.html" in site.text("history/weight_view/tinygrad.html")


def test_times_of_a_cell_whose_captures_are_not_here_have_a_page_that_leads_nowhere_wrong(tmp_path: Path) -> None:
    """As of a bundle of some workloads, whose sessions brought the times of others along."""
    store = empty_store(tmp_path)
    put_nights(store, logs(4))
    pages = write_pages(PublicView(store), tmp_path / "pages")
    built = build_site(pages, tmp_path / "site").parent  # raises SiteBroken for a link to no file
    assert "weight_view × tinygrad" in (built / "history" / "weight_view" / "tinygrad.html").read_text(encoding="utf-8")
    assert not (built / "cells").exists()


def test_its_moments_are_the_steps_the_reset_and_both_ends(site: Site) -> None:
    page = site.text("history/weight_view/tinygrad.html")
    for words in ("first record", "last record", "another driver", "slower", "the code is the same"):
        assert words in page
    assert "&lt;product&gt; rounded" in page


def test_every_alert_is_listed_with_its_evidence_and_is_in_both_feeds(site: Site) -> None:
    alerts = dict(site.store.records(AlertRecord, history=True))
    assert {alert.kind for alert in alerts.values()} == {"step", "outcome"}
    listed = site.text("history.html")
    for alert_id, alert in alerts.items():
        assert f'id="alert-{alert_id[:12]}"' in listed
        for record in (alert_id, alert.before, alert.after):
            assert f"evidence/{record}.json" in listed
            assert (site.folder / "evidence" / f"{record}.json").is_file()
    parsed = feedparser.parse((site.folder / "feed.atom").read_bytes())
    assert not parsed.bozo
    for found in parsed.entries:
        path, _, place = found.link.partition("#")
        assert f'id="{place}"' in site.text(path)
    assert len(parsed.entries) == len(alerts)


def test_the_drawing_tells_what_it_shows_without_being_seen(site: Site) -> None:
    page = site.text("history/weight_view/tinygrad.html")
    assert "another driver: 2026-03-02 to 2026-03-31" in page


def test_a_release_that_was_decided_is_in_the_feed_where_the_site_tells_of_it(tmp_path: Path) -> None:
    store = empty_store(tmp_path)
    told = ChangesRecord(
        key=Key(compiler="tinygrad"),
        outcome=Outcome(status="ok"),
        provenance=Provenance(created=night(3)),
        previous={"tinygrad": "1.0"},
        release={"tinygrad": "1.1"},
        decision="held",
        headline="tinygrad 1.1 is held: 1 cell crashes & burns",
        counts={},
        alert=True,
        trial="",
        decided=night(3),
    )
    record_id = store.put(told)
    public, files = PublicView(store), PublicFiles(PublicView(store), tmp_path)
    pages = HistoryPages(public, {}, files, Figures(tmp_path, None), Renderer(SITE, files))
    pages.write_feeds(tmp_path, "", "changes.html")
    (found,) = feedparser.parse((tmp_path / "feed.atom").read_bytes()).entries
    assert (found.id, found.title, found.link) == (name_of(record_id), told.headline, "changes.html")
    pages.write_feeds(tmp_path, "", made="2026-11-30T02:29:12.083+00:00")
    without = feedparser.parse((tmp_path / "feed.atom").read_bytes())
    assert (without.entries, without.feed.updated) == ([], "2026-11-30T02:29:12.083+00:00")
