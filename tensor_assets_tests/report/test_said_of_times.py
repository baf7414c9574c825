"""What pages say of a timing is what its record says: verdict, margin, drift, noise by clock."""

from __future__ import annotations

import re
from html import unescape

import msgspec
import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.records import BenchmarkRecord, Comparison
from tensor_assets.report.matrix import matrix_views
from tensor_assets.report.measurements import shared_numbers
from tensor_assets.report.pages import write_pages
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.rendering import Renderer
from tensor_assets.settings import ROOT
from tensor_assets_tests.report import campaign


def plain(html):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", html)))


def column(html, table, head):
    """The words of a table's column."""
    body = html[html.index(f'aria-label="{table}"') :].split("</table>")[0]
    heads = [plain(found) for found in re.findall(r"<th[ >].*?</th>", body)]
    place = next(n for n, found in enumerate(heads) if found.startswith(head))
    rows = [re.findall(r"<td[ >].*?</td>", row) for row in re.findall(r"<tr.*?</tr>", body)[1:]]
    return [plain(row[place]) for row in rows]


def measurements(pages):
    """Where the page's tables lie: beside it, around Markdown."""
    return re.search(r"fragment: (\S+) -->", (pages / "measurements.md").read_text())[1].join((".fragments/", ""))


@pytest.fixture
def ratio(built, tmp_path):
    files = PublicFiles(PublicView(built.store), tmp_path)
    environment = Renderer(ROOT / "site", files).environment
    module = environment.get_template("macros.html").make_module({"evidence": None})
    return lambda **how: plain(str(module.ratio(Comparison(baseline="eager/default", **how))))


def test_the_same_means_inside_the_margin_and_shows_its_interval(ratio):
    """An interval that leaves 1 out is a difference beyond noise, though one too small to act on."""
    said = ratio(verdict="same", ratio=0.989, interval=(0.987, 0.992))
    assert "0.989× eager/default (0.987–0.992, 95" in said
    assert said.endswith("the same within 3 %")
    assert "noise" not in said


def test_what_was_not_compared_has_no_ratio(ratio):
    assert ratio(verdict="insufficient") == "not comparable: insufficient"


@pytest.fixture(scope="module")
def uneasy(tmp_path_factory):
    """Pages of a campaign in which two processes of each configuration drifted, and 110 of 1,250 A/A pairs differed."""
    folder = tmp_path_factory.mktemp("uneasy")
    store = campaign.fill(str(folder / "store"), ("weight_view",))
    for _, record in list(store.records(BenchmarkRecord)):
        if record.timings and record.key.target == campaign.H200:
            graph = next(t for t in record.timings if t.clock == "graph")
            timings = (*record.timings, msgspec.structs.replace(graph, cache="cold", median_ns=77_700.0))
            store.put(msgspec.structs.replace(record, timings=tuple(_drifted(t) for t in timings)))
    return write_pages(PublicView(store), folder / "pages", cache=folder / "cache", article="")


def _drifted(timing):
    series = [msgspec.structs.replace(s, drift=0.2, drifted=True) for s in timing.series[:2]]
    return msgspec.structs.replace(timing, series=(*series, *timing.series[2:]), aa_pairs=250, aa_alarms=22)


def test_a_row_of_times_says_how_many_of_its_processes_drifted(uneasy):
    cell = (uneasy / ".fragments/cells/weight_view/eager.html").read_text()
    assert set(column(cell, "Timings", "drifted")) == {"2 of 3"}
    assert "by more than 15" in cell


def test_times_beside_each_other_name_their_cold_clock_and_count_what_drifted(uneasy):
    page = (uneasy / measurements(uneasy)).read_text()
    assert set(column(page, f"Times on {campaign.H200}", "cold")) == {"77.7"}
    assert "coldµs, graph" in plain(page)
    assert set(column(page, f"Times on {campaign.H200}", "drifted")) == {"2"}
    assert "host warm 12 of 18" in plain(page)


def test_an_ended_search_shows_what_it_tried_and_how_many_more_it_had_not_timed(uneasy):
    page = (uneasy / measurements(uneasy)).read_text()
    variants, tried, waited = (column(page, "Search effort", name) for name in ("variant", "tried", "not timed"))
    assert dict(zip(variants, zip(tried, waited, strict=True), strict=True)) == {
        "default": ("1", "0"),
        "tuned": ("226", "0"),
        "expanded": ("1,804", "412"),
    }


def test_a_method_is_printed_once_with_the_sessions_that_used_it(uneasy):
    page = (uneasy / measurements(uneasy)).read_text()
    assert page.count("<code>budget_seconds=15.0</code>") == 1
    assert "2 sessions by this method" in page
    assert len(column(page, "Sessions by method 1", "workload")) == 2


def test_what_sessions_do_not_share_stays_with_each():
    assert shared_numbers([{"blocks": 5, "floor": 1.0}, {"blocks": 5, "floor": 2.0}, {"blocks": 5}]) == {"blocks": 5}


def test_noise_is_told_by_clock_and_the_share_of_false_alarms_beside_their_number(uneasy):
    said = (uneasy / "method.md").read_text().replace("\u202f", " ")
    assert "0.9 % by the host clock, 0.5 % by the graph clock, 0.4 % to 0.6 % by the device clock" in said
    assert "Of 1,250 such pairs, 110 (8.8 %) were called different at the 5 % level." in said


def test_the_matrix_says_within_what_its_times_compare(built):
    view = next(v for v in matrix_views(read_snapshot(built.store), {}) if v.title == campaign.H200)
    assert "times compare within a row only" in view.drawn
    assert "the tick, the least time possible" in view.drawn
    unrun = next(v for v in matrix_views(read_snapshot(built.store), {}) if "sm_90" in v.title)
    assert "bar" not in unrun.drawn
    assert "nothing ran" in unrun.caption
