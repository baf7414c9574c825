"""The statistics against sessions of known truth. Bounds allow for the sampling error of the simulation itself."""

import pytest

from tensor_assets.sessions.simulation import (
    by_block_ranks,
    by_block_t,
    by_fixed_threshold,
    by_processes,
    by_verdict,
    false_positives,
    smallest_found,
    worlds,
)

WORLDS = {world.name: world for world in worlds()}
ONE_PERCENT = WORLDS["process 1.0%"]


@pytest.mark.parametrize("name", WORLDS)
def test_false_positives_stay_at_the_nominal_level(name):
    # 5 % of 2,000 comparisons that share a baseline within each session: 400 sessions' worth of error, three sigma.
    assert false_positives(WORLDS[name], by_processes, 400) <= 0.05 + 0.02


@pytest.mark.parametrize("name", WORLDS)
def test_verdicts_after_false_discovery_control_are_fooled_less(name):
    assert false_positives(WORLDS[name], by_verdict, 200) <= 0.02


def test_a_baseline_louder_than_the_rest_fools_it_at_most_twice_as_often():
    loud = ONE_PERCENT._replace(process=(0.017, 0.003, 0.003, 0.003, 0.003, 0.003))
    assert false_positives(loud, by_processes, 400) <= 0.12


def test_blocks_as_the_unit_are_fooled_by_a_process_effect():
    clean = WORLDS["1.0 %, blocks alone"]
    assert false_positives(clean, by_block_t, 200) > 0.5
    assert false_positives(clean, by_block_ranks, 50) > 0.5
    assert false_positives(clean, by_processes, 200) <= 0.08


def test_what_it_finds_grows_with_the_process_effect():
    small = smallest_found(WORLDS["process 0.3%"], by_processes, 100)
    large = smallest_found(WORLDS["process 1.7%"], by_processes, 100)
    assert 0.01 <= small < large <= 0.10
    assert smallest_found(ONE_PERCENT, by_fixed_threshold, 100) > 0.05
