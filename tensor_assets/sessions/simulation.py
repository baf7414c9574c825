"""Sessions of known truth: how often each way of comparing is fooled, and what difference it finds.

``python -m tensor_assets.sessions.simulation`` prints the table that the method page quotes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy import stats

from tensor_assets.records import Comparison
from tensor_assets.sessions.series import median_interval
from tensor_assets.sessions.statistics import ALPHA, Group, compare_all

Samples = npt.NDArray[np.float64]  # [sessions, configurations, processes, blocks], relative to the true median
Claims = npt.NDArray[np.bool_]  # [sessions, configurations but the first]
Method = Callable[[Samples], Claims]

CONFIGURATIONS = 6
MEASURED = (0.003, 0.004, 0.006, 0.008, 0.012, 0.017)  # process effects as spread on the H200 host, one core
LARGEST = 0.20  # differences are looked for up to this
STEP = 0.0025


class World(NamedTuple):
    """How sessions come about. Shares of the true time; every effect is multiplicative."""

    name: str
    process: tuple[float, ...]  # standard deviation between processes, one a configuration
    block: float = 0.006  # standard deviation between blocks of a process
    autocorrelation: float = 0.6  # of neighbouring blocks of one process
    outliers: float = 0.05  # share of blocks that something else disturbed
    outlier_size: float = 0.20  # mean of an exponential
    drift: float = 0.05  # from the first round to the last, common to all


def worlds() -> tuple[World, ...]:
    """Process effects from none to the largest measured; at 1 %, each disturbance left out or made worse."""
    alike = [World(f"process {effect:.1%}", (effect,) * CONFIGURATIONS) for effect in (0.0, 0.003, 0.01, 0.017)]
    one = alike[2]
    return (
        *alike,
        World("process 0.3 … 1.7 %, as measured", MEASURED),
        one._replace(name="1.0 %, blocks alone", autocorrelation=0.0, outliers=0.0, drift=0.0),
        one._replace(name="1.0 %, drift 20 %", drift=0.20),
        one._replace(name="1.0 %, autocorrelation 0.9", autocorrelation=0.9),
        one._replace(name="1.0 %, outliers 20 %", outliers=0.20),
    )


def simulate(
    world: World, sessions: int, generator: np.random.Generator, difference: float = 0.0, processes: int = 3
) -> Samples:
    """Sessions of ``world``; the second configuration takes ``difference`` longer than all others."""
    shape = (sessions, len(world.process), processes, 15)
    process = generator.normal(size=(*shape[:3], 1)) * np.asarray(world.process)[:, None, None]
    drift = world.drift * np.linspace(0.0, 1.0, shape[3])
    hit = (generator.random(shape) < world.outliers) * generator.exponential(world.outlier_size, shape)
    logs = process + world.block * _autocorrelated(shape, world.autocorrelation, generator) + drift + np.log1p(hit)
    logs[:, 1] += np.log1p(difference)
    samples: Samples = np.exp(logs)
    return samples


def by_processes(samples: Samples) -> Claims:
    """This project's test, one comparison at a time."""
    return _comparisons(samples, lambda comparison: comparison.p is not None and comparison.p <= ALPHA)


def by_verdict(samples: Samples) -> Claims:
    """This project's verdict: with false-discovery control and the equivalence margin."""
    return _comparisons(samples, lambda comparison: comparison.verdict in ("faster", "slower"))


def by_fixed_threshold(samples: Samples, threshold: float = 0.05) -> Claims:
    """Medians of all blocks that differ by more than a fixed share."""
    medians = np.median(_blocks(samples), axis=2)
    return np.asarray(np.abs(medians[:, 1:] / medians[:, :1] - 1.0) > threshold)


def by_block_intervals(samples: Samples) -> Claims:
    """Bootstrap intervals of the medians of all blocks that do not overlap."""
    bounds = np.asarray([[median_interval(row) for row in session] for session in _blocks(samples)])
    low, high = bounds[..., 0], bounds[..., 1]
    return np.asarray((low[:, 1:] > high[:, :1]) | (high[:, 1:] < low[:, :1]))


def by_block_t(samples: Samples) -> Claims:
    """Welch's t test over blocks."""
    logs = np.log(_blocks(samples))
    return np.asarray(stats.ttest_ind(logs[:, 1:], logs[:, :1], axis=2, equal_var=False).pvalue <= ALPHA)


def by_block_ranks(samples: Samples) -> Claims:
    """Mann and Whitney's test over blocks."""
    blocks = _blocks(samples)
    base = np.broadcast_to(blocks[:, :1], blocks[:, 1:].shape)
    return np.asarray(stats.mannwhitneyu(blocks[:, 1:], base, axis=2, method="asymptotic").pvalue <= ALPHA)


METHODS: dict[str, Method] = {
    "processes": by_processes,
    "verdict": by_verdict,
    "medians ±5 %": by_fixed_threshold,
    "block intervals": by_block_intervals,
    "block t": by_block_t,
    "block ranks": by_block_ranks,
}


def false_positives(world: World, method: Method, sessions: int, seed: int = 0) -> float:
    """Share of comparisons of equal configurations that are called different."""
    return float(method(simulate(world, sessions, np.random.default_rng(seed))).mean())


def smallest_found(world: World, method: Method, sessions: int, seed: int = 0) -> float | None:
    """Smallest true difference, in steps of 0.25 %, that is called in at least nine sessions of ten."""
    steps = range(1, round(LARGEST / STEP) + 1)
    found = partial(_found_often, world, method, sessions, seed)
    low, high = 0, len(steps)
    while low < high:  # bisection: what is found at one size is found at every larger one
        middle = (low + high) // 2
        low, high = (low, middle) if found(steps[middle] * STEP) else (middle + 1, high)
    return steps[low] * STEP if low < len(steps) else None


def _found_often(world: World, method: Method, sessions: int, seed: int, difference: float) -> bool:
    samples = simulate(world, sessions, np.random.default_rng(seed), difference)
    return bool(method(samples)[:, 0].mean() >= 0.9)


def _comparisons(samples: Samples, claims: Callable[[Comparison], bool]) -> Claims:
    medians = np.median(samples, axis=3)
    names = [str(index) for index in range(medians.shape[1])]
    verdicts = []
    for session in medians:
        groups = [Group(name, tuple(row)) for name, row in zip(names, session.tolist(), strict=True)]
        found = compare_all(groups, names[0])
        verdicts.append([claims(found[name]) for name in names[1:]])
    return np.asarray(verdicts)


def _blocks(samples: Samples) -> Samples:
    return samples.reshape(*samples.shape[:2], -1)


def _autocorrelated(shape: tuple[int, ...], share: float, generator: np.random.Generator) -> Samples:
    noise = generator.normal(size=shape)
    for before, now in pairwise(range(shape[-1])):
        noise[..., now] = share * noise[..., before] + np.sqrt(1 - share**2) * noise[..., now]
    return noise


def table(sessions: int, chosen: Sequence[World]) -> Table:
    """Each cell: false positives at the nominal 5 %, then the smallest difference found nine times of ten."""
    printed = Table(
        "world", *METHODS, title=f"{CONFIGURATIONS} configurations × 3 processes × 15 blocks, {sessions} sessions"
    )
    for world in chosen:
        cells = []
        for method in METHODS.values():
            smallest = smallest_found(world, method, max(100, sessions // 4))
            size = f"{smallest:.2%}" if smallest else f"> {LARGEST:.0%}"
            cells.append(f"{false_positives(world, method, sessions):.1%}  {size}")
        printed.add_row(world.name, *cells)
    return printed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=1000)
    Console(width=150).print(table(parser.parse_args().sessions, worlds()))


if __name__ == "__main__":
    main()
