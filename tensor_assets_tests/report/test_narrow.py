"""A chart for a phone holds everything that the wide one does, and is no wider than a page there."""

from __future__ import annotations

import re

import pytest

from tensor_assets.records import EffortRecord
from tensor_assets.report import charts, measure_charts
from tensor_assets.report.cold_chart import cold_and_warm
from tensor_assets.report.effort_chart import search_effort
from tensor_assets.report.faces import load_faces
from tensor_assets.report.narrow import WIDTH, narrowed
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.tables import tables_of
from tensor_assets.settings import ROOT
from tensor_assets_tests.report import campaign

FACES = load_faces(ROOT / "adapters")
H200 = campaign.H200


@pytest.fixture(scope="module")
def drawn(built):
    tables = tables_of(read_snapshot(built.store))
    timings, order = tables["timings"], list(campaign.WORKLOADS)
    on_gpu = timings[timings.target == H200]
    ((_, effort),) = built.store.records(EffortRecord)
    return {
        "latency": charts.latency(timings, "weight_view", H200, "device", FACES),
        "overview": charts.latency_overview(tables["cells"], "cpu", "host", "cpu", FACES, order),
        "activities": charts.activities(tables["kernels"], "cpu", "cpu", FACES, order),
        "clocks": measure_charts.clocks(on_gpu, H200, H200, FACES, order),
        "cold": cold_and_warm(timings, tables["processes"], H200, H200, FACES),
        "effort": search_effort(effort, "weight_view × tinygrad", FACES["tinygrad"]),
    }


NAMES = ("latency", "overview", "activities", "clocks", "cold", "effort")


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_a_phone_with_every_word_of_the_wide_one(drawn, name):
    wide, narrow = charts.picture(drawn[name].spec), charts.picture(narrowed(drawn[name].spec))
    (width,) = re.findall(r'<svg[^>]*?\bwidth="([\d.]+)"', narrow)
    assert float(width) <= WIDTH + 2
    cut = [text for text in re.findall(r"<text[^>]*>([^<]*)</text>", narrow) if text.endswith("…")]
    assert cut == []
    for row in drawn[name].spec["datasets"]["rows"]:
        for label in {row.get("label"), row.get("workload"), row.get("said")} - {None}:
            assert f">{label}</text>" in narrow
    assert narrow.count("mark-symbol") == wide.count("mark-symbol")


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_its_title_and_the_wide_one_keeps_its_own(drawn, name):
    spec = drawn[name].spec
    assert "title" not in narrowed(spec)
    assert spec["title"]["text"] == drawn[name].title


def test_panels_beside_each_other_come_below_each_other(drawn):
    narrow = narrowed(drawn["clocks"].spec)
    assert len(narrow["vconcat"]) == len(drawn["clocks"].spec["hconcat"]) == 3
    assert narrowed(drawn["activities"].spec)["columns"] == 2


def test_long_labels_stand_above_what_they_name(drawn):
    longest = max(len(row["label"]) for row in drawn["cold"].spec["datasets"]["rows"])
    assert longest > 18
    axis = narrowed(drawn["cold"].spec)["layer"][0]["encoding"]["y"]["axis"]
    assert axis["labelAlign"] == "left"
    assert "labelAlign" not in narrowed(drawn["latency"].spec)["layer"][0]["encoding"]["y"]["axis"]


def test_an_axis_at_the_top_keeps_clear_of_the_first_label(drawn):
    axes = [layer["encoding"]["x"].get("axis", {}) for layer in drawn["cold"].spec["layer"]]
    assert "top" in {axis.get("orient") for axis in axes}
    for layer, axis in zip(narrowed(drawn["cold"].spec)["layer"], axes, strict=True):
        assert ("offset" in layer["encoding"]["x"].get("axis", {})) == (axis.get("orient") == "top")
