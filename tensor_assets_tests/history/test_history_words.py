"""What a history's heading says of a few records."""

from __future__ import annotations

import msgspec
import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.history.series import tracks
from tensor_assets.report.faces import face_of
from tensor_assets.report.history_chart import history_chart
from tensor_assets_tests.history.nights import empty_store, logs, put_nights


@pytest.mark.parametrize(
    ("versions", "title", "recoded"),
    [
        (("1.0", "1.0"), "2 records, no level yet", []),
        (("1.0", "1.1"), "2 records, no level yet", ["other code 1×"]),
        (("1.0", "1.0", "1.0"), "one level over 3 records", []),
        (("1.0", "1.1", "1.0"), "one level over 3 records", ["other code 2×"]),
    ],
)
def test_a_level_takes_three_records_and_other_code_is_told(tmp_path, versions, title, recoded):
    store = empty_store(tmp_path)
    put_nights(store, logs(len(versions)), versions=versions)
    (track,) = tracks(PublicView(store))
    chart = history_chart(track, face_of("tinygrad", {}))
    assert chart.title.endswith(title)
    assert [part for part in chart.subtitle.partition(";")[0].split(", ") if part.startswith("other code")] == recoded
    drawn = bool(chart.spec["datasets"]["lines"])
    assert drawn == ("line: level" in chart.subtitle) == title.startswith("one level")
    assert (title.startswith("one level"), "no level yet" in chart.alternative) == (
        len(versions) > 2,
        len(versions) < 3,
    )


def test_a_searched_variant_is_named(tmp_path):
    store = empty_store(tmp_path)
    put_nights(store, logs(3))
    (track,) = tracks(PublicView(store))
    searched = msgspec.structs.replace(track, place=track.place._replace(variant="tuned"))
    titles = [history_chart(one, face_of("tinygrad", {})).title for one in (track, searched)]
    assert titles == [
        "weight_view × tinygrad: one level over 3 records",
        "weight_view × tinygrad tuned: one level over 3 records",
    ]
