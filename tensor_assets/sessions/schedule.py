"""In which order the processes of a session are timed: randomized rounds, balanced over positions and predecessors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

Order = tuple[int, ...]


def interleave(blocks: Mapping[int, int], seed: int | Sequence[int]) -> tuple[Order, ...]:
    """Rounds of process indices in which process ``p`` appears ``blocks[p]`` times, at most once a round.

    A process with fewer blocks than the longest is spread evenly over the rounds, so that drift meets everyone alike.
    """
    rounds = max(blocks.values(), default=0)
    present = {process: set(spread(count, rounds)) for process, count in blocks.items()}
    orders = balanced_rounds(sorted(blocks), rounds, seed)
    return tuple(tuple(p for p in order if index in present[p]) for index, order in enumerate(orders))


def balanced_rounds(members: Sequence[int], rounds: int, seed: int | Sequence[int]) -> tuple[Order, ...]:
    """``rounds`` orders of ``members``; no member's counts of any two positions differ by more than one a square.

    Orders come from randomly relabelled Williams designs (Williams 1949): over each complete square every member
    stands once in every position, and over each complete design follows every other member equally often.
    """
    generator = np.random.default_rng(seed)
    return tuple(islice(_orders(members, generator), rounds)) if members else ((),) * rounds


def spread(count: int, rounds: int) -> tuple[int, ...]:
    """``count`` round numbers out of ``rounds``, evenly spaced and symmetric about the middle."""
    return tuple(int((index + 0.5) * rounds / count) for index in range(count))


def williams(n: int) -> tuple[tuple[Order, ...], ...]:
    """The Latin squares of one design: one square balances predecessors for even ``n``, two are needed for odd."""
    zigzag = [0]
    for step in range(1, n):
        zigzag.append((zigzag[-1] + (step if step % 2 else -step)) % n)
    square = tuple(tuple((start + place) % n for place in zigzag) for start in range(n))
    return (square,) if n % 2 == 0 else (square, tuple(row[::-1] for row in square))


def _orders(members: Sequence[int], generator: np.random.Generator) -> Iterator[Order]:
    while True:
        label = generator.permutation(np.asarray(members))
        for square in williams(len(members)):
            for row in generator.permutation(len(square)):
                yield tuple(int(label[place]) for place in square[row])
