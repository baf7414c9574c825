"""Builds a candidate of an earlier search again: its options for its kernel, the heuristics for the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tensor_worker.artifacts import Candidate
from tinygrad.codegen.opt import search as beam
from tinygrad.codegen.opt.heuristic import hand_coded_optimizations

from .spelling import unspell


@contextmanager
def rebuilding(candidate: Candidate) -> Iterator[None]:
    """While open, a beam finds ``candidate`` and nothing else. Raises ValueError for options that nobody spelled."""
    wanted = candidate.parameters["kernel"]
    options = [unspell(str(words)) for name, words in candidate.parameters.items() if name.startswith("opt ")]
    searched, numbers = beam.beam_search, count()

    def given(schedule: Any, *_arguments: Any, **_options: Any) -> Any:
        if next(numbers) != wanted:
            return hand_coded_optimizations(schedule)
        built = schedule.copy()
        for option in options:
            built.apply_opt(option)
        return built

    beam.beam_search = given
    try:
        yield
    finally:
        beam.beam_search = searched
