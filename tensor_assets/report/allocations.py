"""Which allocations the times of a chart come from, said in its subtitle."""

from __future__ import annotations

import pandas as pd

from tensor_assets.errors import AllocationMismatch

SHORT = 12  # letters of an allocation's id that tell it apart for a reader
_FEW = 3  # more are counted, not named


def one_allocation_each(rows: pd.DataFrame, target: str, left_out: int = 0) -> list[str]:
    """Lines that say which allocations there are, and of how many configurations the times of another are not drawn.

    Raises AllocationMismatch where one workload's times come from several.
    """
    for workload, own in rows.groupby("workload"):
        require_one_allocation(own, f"{workload} on {target}")
    first, *named = allocations_of(rows, "row")
    return [first + without(left_out), *named]


def allocations_of(rows: pd.DataFrame, unit: str) -> list[str]:
    """Lines that say how many allocations there are and name few: a ``unit`` of the chart is of one."""
    programs = {str(name): list(dict.fromkeys(own.workload)) for name, own in rows.groupby("allocation")}
    if len(programs) < 2:
        return ["all on one allocation"]
    *fewer, most = sorted(programs, key=lambda name: len(programs[name]))
    named = [f"{name[:SHORT]}: {', '.join(programs[name])}" for name in fewer]
    lines = [f"{unit}s come from {len(programs)} allocations; compare within a {unit} only"]
    return [*lines, "; ".join([*named, f"{most[:SHORT]}: the rest"])] if len(programs) <= _FEW else lines


def without(left_out: int) -> str:
    """Says of how many configurations the times are not drawn; nothing if of none."""
    return f"; {left_out} timed on another allocation left out" if left_out else ""


def require_one_allocation(rows: pd.DataFrame, what: str) -> None:
    """Raises AllocationMismatch, naming them, where there are several."""
    found = sorted(set(rows.allocation.dropna()))
    if len(found) > 1:
        raise AllocationMismatch(f"times of {what} come from {len(found)} allocations ({', '.join(found)})")
