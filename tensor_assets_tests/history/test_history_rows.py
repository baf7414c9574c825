"""Every record is listed while there are few; then what tells something, and the newest."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.evidence.public import PublicView
from tensor_assets.history.series import tracks
from tensor_assets.report.history_rows import LISTED, Folded, Moment, folded, moments
from tensor_assets_tests.history.nights import empty_store, logs, night, put_nights


def moment(number: int, telling: bool) -> Moment:
    return Moment(
        when=night(number),
        version="1.0",
        allocation="a",
        device="GPU-1",
        median_ns=1000.0 + number,
        record=f"{number:064x}",
        telling=telling,
    )


@given(st.lists(st.booleans(), max_size=400))
def test_no_record_is_lost_and_what_tells_something_is_listed(telling: list[bool]) -> None:
    newest_first = [moment(number, said) for number, said in reversed(list(enumerate(telling)))]
    rows = folded(newest_first)
    inside = [one for row in rows for one in (row.moments if isinstance(row, Folded) else (row,))]
    assert inside == newest_first
    hidden = [one for row in rows if isinstance(row, Folded) for one in row.moments]
    assert not any(one.telling for one in hidden)
    quiet = [row for row in rows if isinstance(row, Moment) and not row.telling]
    if len(telling) <= LISTED:
        assert hidden == []
    if hidden and quiet and sum(telling) < LISTED:
        assert sum(row.count == 1 for row in rows) >= LISTED
    assert all(row.count > 1 for row in rows if isinstance(row, Folded))


def test_three_records_are_three_lines(tmp_path: Path) -> None:
    store = empty_store(tmp_path)
    ids = put_nights(store, logs(3), uuids=["GPU-a", "GPU-b", "GPU-c"])
    (track,) = tracks(PublicView(store))
    rows = folded(moments(track, ()))
    assert [row.record for row in rows if isinstance(row, Moment)] == ids[::-1]
    assert [row.what for row in rows if isinstance(row, Moment)] == ["last record", "", "first record"]
    assert [row.device for row in rows if isinstance(row, Moment)] == ["GPU-c", "GPU-b", "GPU-a"]


def test_a_year_is_a_page_and_its_step_stays_on_it(tmp_path: Path) -> None:
    store = empty_store(tmp_path)
    values = logs(365)
    values[100:] += 0.1
    ids = put_nights(store, values, versions=["1.0"] * 100 + ["1.1"] * 265)
    (track,) = tracks(PublicView(store))
    rows = folded(moments(track, ()))
    shown = {row.record for row in rows if isinstance(row, Moment)}
    assert len(shown) == LISTED
    assert {ids[0], ids[100], ids[364], ids[363]} <= shown
    later, earlier = (row for row in rows if isinstance(row, Folded))
    assert (earlier.count, earlier.span) == (99, (night(1)[:10], night(99)[:10]))
    assert later.count == 365 - LISTED - 99
    assert later.range_ns[0] > earlier.range_ns[0]
