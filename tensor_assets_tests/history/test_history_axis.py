"""The time axis of a history: a few labels, each another one, whether its records span minutes or years."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.history.series import tracks
from tensor_assets.records import BenchmarkRecord
from tensor_assets.report.charts import picture
from tensor_assets.report.faces import face_of
from tensor_assets.report.history_chart import ROOM, history_chart
from tensor_assets.report.narrow import narrowed
from tensor_assets_tests.history.nights import FIRST, empty_store, logs, put_nights

LABEL = re.compile(r"transform=\"translate\(([\d.]+),[\d.]+\)\"[^>]*>([\d:.\- ]+)</text>")


@pytest.fixture
def drawn(tmp_path):
    """Draws three records that lie ``span`` apart in all."""
    source = empty_store(tmp_path / "source")
    put_nights(source, logs(3))
    records = [record for _, record in source.records(BenchmarkRecord, history=True)]

    def draw(span):
        store = empty_store(tmp_path / "spread")
        for record, share in zip(records, np.linspace(0, 1, len(records)), strict=True):
            created = (FIRST + span * float(share)).isoformat(timespec="milliseconds")
            store.put(
                msgspec.structs.replace(record, provenance=msgspec.structs.replace(record.provenance, created=created))
            )
        (track,) = tracks(PublicView(store))
        return history_chart(track, face_of("tinygrad", {}))

    return draw


@pytest.mark.parametrize(
    "span",
    [
        timedelta(seconds=2), timedelta(minutes=9), timedelta(minutes=11), timedelta(hours=3), timedelta(hours=26),
        timedelta(days=2), timedelta(days=3.9), timedelta(days=4.1), timedelta(days=17), timedelta(days=200),
        timedelta(days=900),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("width", [lambda spec: spec, narrowed], ids=["wide", "narrow"])
def test_no_two_labels_are_alike_or_meet(drawn, span, width):
    spec = width(drawn(span).spec)
    drawing = picture(spec | {"config": spec["config"] | {"aria": True}})  # which names the axis
    axis = re.search(r'aria-label="X-axis.*?</g></g></g>', drawing, re.DOTALL)[0]
    shown = re.sub(r'<text[^>]*opacity="0".*?</text>', "", axis)  # the drawer hides what would meet another
    labels = [(float(x), text) for x, text in LABEL.findall(shown) if text.strip()]
    assert 2 <= len(labels) <= 12
    assert len({text for _, text in labels}) == len(labels)
    wide = max(len(text) for _, text in labels) * 5.2  # of a digit at 11 px, the least of the fonts in use
    places = sorted(x for x, _ in labels)
    assert all(after - before > wide for before, after in pairwise(places))


@pytest.mark.parametrize("span", [timedelta(minutes=9), timedelta(hours=8), timedelta(days=365)], ids=str)
@pytest.mark.parametrize("width", [lambda spec: spec, narrowed], ids=["wide", "narrow"])
def test_no_dot_lies_on_the_frame(drawn, span, width):
    spec = width(drawn(span).spec)
    drawing = picture(spec)
    frame = float(re.search(r'<path class="background"[^>]* d="M[\d.]+,[\d.]+h([\d.]+)v150h', drawing)[1])
    marks = re.search(r'<g class="[^"]*mark-symbol[^"]*".*?</g>', drawing, re.DOTALL)[0]
    places = [(float(x), float(y)) for x, y in re.findall(r"translate\(([\d.]+),([\d.]+)\)", marks)]
    assert len(places) == 3
    assert all(ROOM / 2 < x < frame - ROOM / 2 for x, _ in places)
    assert all(y > 3 for _, y in places)


def test_short_spans_are_told_by_hours_and_long_ones_by_days(drawn):
    assert drawn(timedelta(hours=26)).spec["layer"][0]["encoding"]["x"]["axis"]["format"] == "%m-%d %H:%M"
    assert drawn(timedelta(days=60)).spec["layer"][0]["encoding"]["x"]["axis"]["format"] == "%Y-%m-%d"


def test_lines_of_its_subtitle_do_not_run_together(drawn):
    assert drawn(timedelta(days=2)).subtitle.count("; dot: median") == 1
