"""Builds a choice of an earlier search again: it alone is left where it was offered, the library call elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tensor_worker.artifacts import Candidate

from .recording import Choice

_LIBRARY = "ExternKernelCaller"


@contextmanager
def rebuilding(candidate: Candidate, row: Callable[[Any], Choice]) -> Iterator[None]:
    """While open, every contraction that Inductor compiles has one choice, so that nothing is benchmarked.

    ``row`` describes one of Inductor's choices. Raises ValueError at the end where ``candidate`` was never offered.
    """
    from torch._inductor import select_algorithm

    met: list[str] = []

    def only(choices: list[Any]) -> list[Any]:
        rows = [row(choice) for choice in choices]
        wanted = place_of(candidate, rows)
        if wanted is not None:
            met.append(rows[wanted].name)
            return [choices[wanted]]
        return choices[(library := _library(rows)) : library + 1]

    select_algorithm.add_preprocessing_fn(only)
    try:
        yield
    finally:
        select_algorithm.clear_preprocessing_fns(clear_defaults=False)
    if not met:
        raise ValueError(f"Inductor offered no choice like {candidate.name} this time")


def place_of(candidate: Candidate, rows: Sequence[Choice]) -> int | None:
    """The row that ``candidate`` was made of: of its parameters, and where several are, of its name. None if none is.

    Names alone would not do: templates are numbered in the order in which a process makes them.
    """
    alike = [place for place, row in enumerate(rows) if row.candidate("").parameters == candidate.parameters]
    named = [place for place in alike if candidate.name.endswith(rows[place].name)]
    return next(iter(named or alike), None)


def _library(rows: Sequence[Choice]) -> int:
    """What Inductor takes where it searches nothing: the library call, or the first of what there is."""
    return next((place for place, row in enumerate(rows) if row.kind == _LIBRARY), 0)
