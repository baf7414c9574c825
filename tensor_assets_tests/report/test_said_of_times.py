"""What pages say of a timing is what its record says: verdict, margin, drift, noise by clock."""

from __future__ import annotations

import re
from html import unescape

import msgspec
import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.records import BenchmarkRecord, Comparison
from tensor_assets.report.pages import write_pages
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.rendering import Renderer
from tensor_assets.settings import ROOT
from tensor_assets_tests.report import campaign


def plain(html):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", html)))


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
    assert "the same within the margin of 3" in said
    assert "noise" not in said


def test_what_was_not_compared_has_no_ratio(ratio):
    assert ratio(verdict="insufficient") == "not comparable: insufficient"


@pytest.fixture(scope="module")
def uneasy(tmp_path_factory):
    """Pages of a campaign in which two processes of every configuration drifted, and 88 of 1,000 A/A pairs differed."""
    folder = tmp_path_factory.mktemp("uneasy")
    store = campaign.fill(str(folder / "store"), ("weight_view",))
    for _, record in list(store.records(BenchmarkRecord)):
        if record.timings and record.key.target == campaign.H200:
            store.put(msgspec.structs.replace(record, timings=tuple(_drifted(t) for t in record.timings)))
    return write_pages(PublicView(store), folder / "pages", cache=folder / "cache", article="")


def _drifted(timing):
    series = [msgspec.structs.replace(s, drift=0.2, drifted=True) for s in timing.series[:2]]
    return msgspec.structs.replace(timing, series=(*series, *timing.series[2:]), aa_pairs=250, aa_alarms=22)


def test_a_row_of_times_says_how_many_of_its_processes_drifted(uneasy):
    cell = (uneasy / ".fragments/cells/weight_view/eager.html").read_text()
    table = cell[cell.index('aria-label="Timings"') :].split("</table>")[0]
    heads = [plain(head) for head in re.findall(r"<th[ >].*?</th>", table)]
    place = next(n for n, head in enumerate(heads) if "drifted" in head)
    rows = [re.findall(r"<td[ >].*?</td>", row) for row in re.findall(r"<tr.*?</tr>", table)[1:]]
    assert {plain(row[place]).split(">")[-1] for row in rows} == {"2"}
    assert "by more than 15" in cell


def test_noise_is_told_by_clock_and_the_share_of_false_alarms_beside_their_number(uneasy):
    said = (uneasy / "method.md").read_text().replace("\u202f", " ")
    assert "0.9 % by the host clock, 0.5 % by the graph clock, 0.4 % to 0.6 % by the device clock" in said
    assert "Of 1000 such pairs, 88 (8.8 %) were called different at the 5 % level." in said
