"""What pages show of a trial: each configuration's joint verdict, with its diffs as lines that can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensor_assets.records import CellChange, Evidence, StageChange, TrialRecord
from tensor_assets.releases.accepted import release_title
from tensor_assets.releases.changes import counts_of
from tensor_assets.releases.paired import headline
from tensor_assets.report.quantities import duration, percent, significant

# A longer diff is shown by its beginning; the whole of it is evidence.
MOST_LINES = 400
# How an axis of the joint verdict looks: bad, worth a look, good, or nothing to see.
MOODS = {
    **dict.fromkeys(("broken", "slower"), "bad"),
    **dict.fromkeys(("changed", "uncertain", "runtime"), "look"),
    **dict.fromkeys(("faster", "mended"), "good"),
}

ReadText = Callable[[Evidence], str]  # of evidence that may be shown; else a sentence that says why not


def trial_view(trial: TrialRecord, read: ReadText) -> dict[str, Any]:
    """Everything ``trial.html`` needs."""
    return {
        "trial": trial,
        "previous": release_title(trial.previous),
        "candidate": release_title(trial.candidate),
        "counts": counts_of(trial.cells),
        "cells": [_cell_view(cell, read) for cell in trial.cells],
        "lock": _lines(read(trial.difference)) if trial.difference else [],
        "moods": MOODS,
    }


def evidence_of(trial: TrialRecord) -> list[Evidence]:
    """Every file that ``trial_view`` reads or a page links to."""
    files = [trial.accepted_lock, trial.lock, trial.difference]
    return [file for file in (*files, *(stage.difference for cell in trial.cells for stage in cell.stages)) if file]


def _cell_view(cell: CellChange, read: ReadText) -> dict[str, Any]:
    changed = [stage for stage in cell.stages if stage.change != "same"]
    return {
        "c": cell,
        "speed": _speed(cell),
        "reached": cell.new_status in ("ok", "rejected"),  # the new release made something to compare
        **{word: [s.stage for s in cell.stages if s.change == word] for word in ("same", "added", "removed")},
        "stages": [_stage_view(stage, read) for stage in changed],
    }


def _stage_view(stage: StageChange, read: ReadText) -> dict[str, Any]:
    lines = _lines(read(stage.difference)) if stage.difference else []
    return {"s": stage, "lines": lines[:MOST_LINES], "more": max(0, len(lines) - MOST_LINES)}


def _speed(cell: CellChange) -> dict[str, str]:
    """The axis to speak of: both times, the ratio with its interval, and the noise floor beside them."""
    speed = headline(cell.speeds)
    if speed is None or speed.old_ns is None or speed.new_ns is None:
        return {}
    comparison = speed.comparison
    interval = comparison.interval if comparison else None
    return {
        "old": str(duration(speed.old_ns)),
        "new": str(duration(speed.new_ns)),
        "axis": f"{speed.clock} clock, {speed.cache}",
        "ratio": f"{significant(comparison.ratio)}×" if comparison and comparison.ratio is not None else "",
        "interval": f"{significant(interval[0])}–{significant(interval[1])}, 95\u202f%" if interval else "",
        "noise": f"A/A ±{percent(speed.noise)}" if speed.noise is not None else "A/A not known",
    }


def _lines(text: str) -> list[tuple[str, str]]:
    """Lines of a unified diff below its two heads, each with what it is: "", "add", "del", "at"."""
    kinds = {"+": "add", "-": "del", "@": "at"}
    heads = 2 if text.startswith("--- ") else 0  # a changed line may begin with dashes of its own
    return [(kinds.get(line[:1], ""), line) for line in text.splitlines()[heads:]]
