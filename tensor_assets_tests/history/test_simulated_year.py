"""The simulation that chose the detector's constants, small: what it counts is what was planted."""

from __future__ import annotations

import numpy as np
import pytest

from tensor_assets.history.simulation import Planted, Year, measure, ours, score, watch, years
from tensor_assets.history.steps import Change


def year(logs: np.ndarray, *planted: Planted, resets: tuple[int, ...] = ()) -> Year:
    return Year("test", logs, np.full(len(logs), 0.01), planted, resets)


def test_a_detector_that_knows_the_truth_scores_all_and_one_that_cries_wolf_none() -> None:
    planted = Planted("step", 30, 30, 0.1)
    logs = np.zeros(60)
    logs[30:] += 0.1
    truth = Change("step", 30, 30, 0.0, 0.1, 0.01)
    knows = score(year(logs, planted), watch(year(logs, planted), lambda seen, _: [truth] if len(seen) > 32 else []))
    assert (knows.planted, knows.found, knows.false, knows.delays) == (1, 1, 0, (2,))
    wolf = score(year(logs, planted), watch(year(logs, planted), lambda seen, _: [truth._replace(at=5, until=5)]))
    assert (wolf.found, wolf.false) == (0, 1)
    seer = score(year(logs, planted), watch(year(logs, planted), lambda seen, _: [truth]))
    assert (seer.found, seer.false) == (0, 1)  # it was told before it had happened
    down = score(year(logs, planted), watch(year(logs, planted), lambda seen, _: [truth._replace(after=-0.1)]))
    assert (down.found, down.false) == (0, 1)


def test_a_reset_starts_the_nights_anew() -> None:
    seen: list[int] = []

    def noting(logs: list[float], floor: float) -> list[Change]:
        seen.append(len(logs))
        return []

    watch(year(np.zeros(10), resets=(6,)), noting)
    assert seen == [1, 2, 3, 4, 5, 6, 1, 2, 3, 4]


def test_the_same_seed_gives_the_same_years() -> None:
    one, other = years(12, 150, 3), years(12, 150, 3)
    assert all(np.array_equal(a.logs, b.logs) and a.planted == b.planted for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_large_is_found_and_a_quiet_year_stays_quiet(seed: int) -> None:
    chosen = years(12, 200, seed)
    worlds, sizes, _ = measure(chosen, ours, every=10)
    assert worlds["quiet"].false == 0
    large = [found for size, found in sizes.items() if size >= 0.1]
    assert sum(found.found for found in large) == sum(found.planted for found in large)
    assert sum(found.false for found in worlds.values()) <= 1
