import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, lists

from tensor_assets.sessions.series import summarize_samples

SAMPLES = lists(floats(1.0, 1e12), min_size=1, max_size=30)


@given(samples=SAMPLES)
def test_summary_is_ordered_and_finite(samples):
    series = summarize_samples(0, 0, samples)
    assert series.samples == len(samples)
    assert min(samples) <= series.p10_ns <= series.median_ns <= series.p90_ns <= max(samples)
    assert series.interval_ns[0] <= series.median_ns <= series.interval_ns[1]
    assert math.isfinite(series.drift)


@given(samples=SAMPLES)
def test_bootstrap_is_deterministic(samples):
    assert summarize_samples(0, 0, samples) == summarize_samples(0, 0, samples)


def test_drift_is_first_to_last_and_flagged_beyond_fifteen_percent():
    assert summarize_samples(0, 0, [100.0, 500.0, 115.0]).drift == pytest.approx(0.15)
    assert not summarize_samples(0, 0, [100.0, 500.0, 114.0]).drifted
    assert summarize_samples(0, 0, [100.0, 500.0, 116.0]).drifted
    assert summarize_samples(0, 0, [100.0, 80.0]).drifted


def test_interval_covers_the_median_of_independent_blocks():
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        low, high = summarize_samples(0, 0, list(generator.lognormal(0.0, 0.02, 15))).interval_ns
        covered += low <= 1.0 <= high
    assert 0.90 <= covered / 400 <= 0.99


def test_no_samples_is_an_error_not_a_number():
    with pytest.raises(ValueError, match="no samples"):
        summarize_samples(0, 0, [])
