"""Logarithmic axes say how they run, in few enough round numbers."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.report.cold_chart import cold_and_warm
from tensor_assets.report.log_axes import FEWEST, MOST, log_ticks, logarithmic
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.tables import tables_of
from tensor_assets_tests.report import campaign
from tensor_assets_tests.report.test_charts import FACES


@given(st.floats(1e-3, 1e6), st.floats(1.01, 1e6))
def test_ticks_lie_inside_in_order_and_never_crowd(low, factor):
    ticks = log_ticks(low, low * factor)
    assert ticks == sorted(set(ticks))
    assert all(low <= tick <= low * factor for tick in ticks)
    assert not ticks or FEWEST <= len(ticks) <= MOST


@given(st.floats(1e-3, 1e6), st.floats(3.0, 1e6))
def test_neighbours_are_far_enough_apart_for_their_labels(low, factor):
    """On an axis of 250 pixels, 20 are enough for two digits."""
    ticks = log_ticks(low, low * factor)
    assert ticks
    apart = min(math.log(b / a) for a, b in itertools.pairwise(ticks)) / math.log(factor)
    assert 250 * apart > 20


def test_a_range_too_narrow_for_round_numbers_keeps_the_drawers_own():
    assert log_ticks(1.01, 1.09) == []
    assert logarithmic("ratio:Q", "times", 1.01, 1.09).to_dict()["axis"]["labelOverlap"] == "greedy"


def test_cold_and_warm_leave_room_at_both_ends(built):
    tables = tables_of(read_snapshot(built.store))
    chart = cold_and_warm(tables["timings"], tables["processes"], campaign.H200, campaign.H200, FACES)
    low, high = chart.spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    rows = chart.spec["datasets"]["rows"]
    assert low < 0.9 * min(row["warm"] for row in rows)
    assert high > 1.1 * max(row["cold"] for row in rows)
