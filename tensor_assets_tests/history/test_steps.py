"""Truth that was planted must be found where it is, and where there is none nothing may be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensor_assets.history.steps import SHORTEST, changes, spread_of

NOISE = 0.01


def quiet(nights: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, NOISE, nights)


@pytest.mark.parametrize("size", [0.05, -0.05, 0.2, -0.2])
@pytest.mark.parametrize("seed", range(5))
def test_a_step_is_found_at_its_night_with_its_size(size: float, seed: int) -> None:
    logs = quiet(120, seed)
    logs[70:] += size
    (found,) = changes(logs.tolist(), NOISE)
    assert found.kind == "step"
    assert abs(found.at - 70) <= 1
    assert found.interval[0] < math.exp(size) < found.interval[1]


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_found_in_noise(seed: int) -> None:
    assert changes(quiet(365, seed).tolist(), NOISE) == []


@pytest.mark.parametrize("nights", range(2 * SHORTEST))
def test_too_few_nights_say_nothing(nights: int) -> None:
    assert changes([0.0] * (nights // 2) + [1.0] * (nights - nights // 2), NOISE) == []


@pytest.mark.parametrize("place", [0, 1, 30, 58, 59])
@pytest.mark.parametrize("size", [0.1, 1.0, -3.0])
def test_one_bad_night_is_no_step(place: int, size: float) -> None:
    logs = quiet(60)
    logs[place] += size
    assert changes(logs.tolist(), NOISE) == []


def test_a_level_is_believed_on_its_third_night_and_not_before() -> None:
    logs = quiet(60)
    logs[40:] += 0.3
    assert changes(logs[:42].tolist(), NOISE) == []
    assert [change.at for change in changes(logs[:43].tolist(), NOISE)] == [40]


def test_the_records_own_noise_silences_what_is_within_it() -> None:
    logs = quiet(60)
    logs[30:] += 0.05
    assert [change.at for change in changes(logs.tolist(), NOISE)] == [30]
    assert changes(logs.tolist(), floor=0.15) == []


def test_a_drift_is_one_drift_and_no_stairs() -> None:
    logs = quiet(200)
    logs += 0.15 * np.clip((np.arange(200) - 40) / 120, 0, 1)
    found = changes(logs.tolist(), NOISE, smallest=0.03)
    assert [change.kind for change in found] == ["drift"]
    assert found[0].at < 60  # where a slope begins is not sharp
    assert found[0].until > 140
    assert found[0].after - found[0].before == pytest.approx(0.15, abs=0.05)


def test_several_steps_are_told_apart() -> None:
    logs = quiet(150)
    logs[40:] += 0.1
    logs[80:] -= 0.2
    logs[110:] += 0.06
    found = changes(logs.tolist(), NOISE)
    assert [change.at for change in found] == pytest.approx([40, 80, 110], abs=1)
    assert [change.after > change.before for change in found] == [True, False, True]


def test_what_is_smaller_than_asked_is_left_out() -> None:
    logs = quiet(200)
    logs[100:] += 0.05
    assert changes(logs.tolist(), NOISE, smallest=0.08) == []


def test_spread_ignores_steps_and_outliers() -> None:
    logs = quiet(300)
    logs[150:] += 0.5
    logs[::50] += 1.0
    assert spread_of(logs, 0.0).deviation == pytest.approx(NOISE, rel=0.25)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    place=st.integers(SHORTEST, 40 - SHORTEST),
    shift=st.floats(-10, 10),
    size=st.floats(0.2, 2) | st.floats(-2, -0.2),
)
def test_neither_level_nor_direction_matter(seed: int, place: int, shift: float, size: float) -> None:
    logs = quiet(40, seed)
    logs[place:] += size
    found = changes(logs.tolist(), NOISE)
    moved = changes((shift - logs).tolist(), NOISE)
    assert [change.at for change in found] == [change.at for change in moved] == [place]
