"""Logarithmic axes: room at both ends, and only as many ticks as can be read."""

from __future__ import annotations

import math

import altair as alt

FEWEST, MOST = 3, 8  # ticks: fewer do not say how an axis runs, more collide
STEPS = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 4, 5, 6, 8), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9))


def logarithmic(field: str, title: str, low: float, high: float, *, above: bool = False) -> alt.X:
    """The channel of a quantity that lies between ``low`` and ``high``, both above 0. ``above`` is for tall charts."""
    axis = _axis(low, high)
    axis.orient = "top" if above else alt.Undefined
    return alt.X(field, title=title, axis=axis, scale=_scale(low, high))


def logarithmic_upwards(field: str, title: str, low: float, high: float) -> alt.Y:
    """As ``logarithmic``, from the bottom to the top."""
    return alt.Y(field, title=title, axis=_axis(low, high), scale=_scale(low, high))


def _axis(low: float, high: float) -> alt.Axis:
    ticks = log_ticks(low, high)
    return alt.Axis(values=ticks, format=",~g", labelOverlap="greedy") if ticks else alt.Axis(labelOverlap="greedy")


def _scale(low: float, high: float) -> alt.Scale:
    return alt.Scale(type="log", nice=False, domain=[low, high])


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` to ``high``, by the coarsest steps that give enough; none where none give enough."""
    decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    for steps in STEPS:
        values = [float(f"{step}e{decade}") for decade in decades for step in steps]
        inside = [value for value in values if low <= value <= high]
        if len(inside) >= FEWEST:
            return inside[:: math.ceil(len(inside) / MOST)]
    return []
