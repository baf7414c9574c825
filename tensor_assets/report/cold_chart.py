"""The chart of a flushed cache: both states of one configuration on one line, and whether they differ beyond noise."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import altair as alt
import pandas as pd

from tensor_assets.records import Comparison
from tensor_assets.report.allocations import allocations_of
from tensor_assets.report.charts import INK, QUIET, ROWS, Chart, finished
from tensor_assets.report.columns import IDENTITY
from tensor_assets.report.faces import Face, face_of
from tensor_assets.report.log_axes import logarithmic
from tensor_assets.report.quantities import duration, significant
from tensor_assets.sessions.statistics import Group, compare_all, control

COLD_CLOCKS = ("graph", "host", "device")  # the closest to the activities that can flush a cache comes first
_STATE = (*IDENTITY, "session")
_MOST_NAMED = 6


def cold_and_warm(
    timings: pd.DataFrame, processes: pd.DataFrame, target: str, device: str, faces: dict[str, Face]
) -> Chart | None:
    """What a flushed cache costs, by the clock that timed most configurations in both states. None where none has.

    ``processes`` is the table of that name: its medians tell whether a line's ends differ beyond noise.
    """
    both = _both_states(timings[timings.target == target])
    if both.empty:
        return None
    clock = str(both.clock.iloc[0])
    judged = judge_states(processes[(processes.target == target) & (processes.clock == clock)])
    data = [
        _row(row, judged.get(_subject(row)), faces)
        for row in both.sort_values("median_ns_warm").itertuples(index=False)
    ]
    title = _title(data)
    subtitle = [
        f"{device}, {clock} clock; filled: warm, hollow: L2 flushed before every invocation; medians",
        *allocations_of(both, "line"),
        *_quicker_cold(data),
    ]
    spec = finished(_layers(data, clock), data, title, subtitle)
    words = "; ".join(f"{row['label']} {row['warm_text']} warm, {row['cold_text']} cold" for row in data)
    return Chart(name=f"cold-{target}", spec=spec, title=title, subtitle="; ".join(subtitle), alternative=words)


def judge_states(processes: pd.DataFrame) -> dict[tuple[Any, ...], Comparison]:
    """Configuration and session → its cold processes against its warm ones, on random data by one clock.

    Noise is pooled over every configuration of the session in both states, and false discoveries are controlled over
    all lines. The states took no turns: a difference holds what happened between them, too.
    """
    medians: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in processes[processes.data == "random"].itertuples(index=False):
        medians[_subject(row)][str(row.cache)].append(float(row.median_ns))  # type: ignore[arg-type]
    groups = {
        (subject, cache): Group(cache, tuple(values)) for subject, of in medians.items() for cache, values in of.items()
    }
    judged = {}
    for subject, of in medians.items():
        if {"warm", "cold"} <= of.keys():
            own = [groups[subject, cache] for cache in ("warm", "cold")]
            apart = [group for (other, _), group in groups.items() if other != subject and other[-1] == subject[-1]]
            judged[subject] = compare_all(own, "warm", apart)["cold"]
    named = {str(number): comparison for number, comparison in enumerate(judged.values())}
    return dict(zip(judged, control(named).values(), strict=True))


def _both_states(timings: pd.DataFrame) -> pd.DataFrame:
    """One row a configuration that one clock timed warm and cold; of the clock that did so most often."""
    rows = timings[timings.median_ns.notna() & (timings.data == "random")]
    keys = [*_STATE, "allocation", "clock"]
    both = rows[rows.cache == "cold"].merge(rows[rows.cache == "warm"], on=keys, suffixes=("_cold", "_warm"))
    if both.empty:
        return both
    counts = both.clock.value_counts()
    return both[both.clock == max(COLD_CLOCKS, key=lambda clock: counts.get(clock, 0))]


def _subject(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _STATE)


def _row(row: Any, judged: Comparison | None, faces: dict[str, Face]) -> dict[str, Any]:
    ratio = row.median_ns_cold / row.median_ns_warm
    variant = "" if row.variant == "default" else f" {row.variant}"
    verdict = judged.verdict if judged else "insufficient"
    factor = f"{significant(ratio)}×"
    low, high = (judged.interval if judged else None) or (None, None)
    said = {"faster": ", quicker cold", "slower": "", "same": ", the same"}.get(
        verdict, ", within noise" if low else ""
    )
    return {
        "label": f"{row.workload} × {face_of(row.compiler, faces).title}{variant}",
        "warm": row.median_ns_warm / 1e3,
        "cold": row.median_ns_cold / 1e3,
        "warm_text": str(duration(row.median_ns_warm)),
        "cold_text": str(duration(row.median_ns_cold)),
        "end": max(row.median_ns_warm, row.median_ns_cold) / 1e3,
        "ratio": ratio,
        "factor": factor,
        "said": f"{factor}{said}",
        "ink": QUIET if verdict in ("same", "uncertain") else INK,
        "verdict": verdict,
        "interval": f"{significant(low)}–{significant(high)}" if low and high else "not known",
        "allocation": row.allocation,
    }


def _layers(data: list[dict[str, Any]], clock: str) -> Any:
    tips = {"label": "configuration", "warm_text": "warm", "cold_text": "cold", "said": "of warm", "interval": "95 %"}
    tips |= {"allocation": "allocation"}
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(
        y=alt.Y(
            "label:N",
            sort=[row["label"] for row in data],
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=260),
        ),
        tooltip=[alt.Tooltip(f"{name}:N", title=title) for name, title in tips.items()],
    )
    ends = [row[state] for row in data for state in ("warm", "cold")]
    x = logarithmic("warm:Q", f"µs, {clock} clock, logarithmic axis", min(ends) / 1.15, max(ends) * 1.3, above=True)
    text = base.mark_text(align="left", dx=9, fontSize=11)
    return alt.layer(
        base.mark_rule(color=QUIET).encode(x=x, x2="cold:Q"),
        base.mark_point(filled=True, size=60, opacity=1, color=INK).encode(x=x),
        base.mark_point(filled=False, size=60, opacity=1, color=INK).encode(x=alt.X("cold:Q")),
        text.encode(x=alt.X("end:Q"), text="said:N", color=alt.Color("ink:N", scale=None)),
    ).properties(width=460, height=alt.Step(20))


def _title(data: list[dict[str, Any]]) -> str:
    worst = max(data, key=lambda row: row["ratio"])
    quicker = sum(row["verdict"] == "faster" for row in data)
    of = f"{quicker} of {len(data)} configurations"
    costs = f"A flushed cache costs up to {worst['factor']} ({worst['label']})"
    if worst["ratio"] <= 1:
        costs = "A flushed cache slows nothing down"
    return f"{costs}, and {of} {'is' if quicker == 1 else 'are'} quicker with it" if quicker else costs


def _quicker_cold(data: list[dict[str, Any]]) -> list[str]:
    """Names the lines that run against what a reader expects, with what is known of why."""
    quicker = sorted((row for row in data if row["verdict"] == "faster"), key=lambda row: row["ratio"])
    if not quicker:
        return []
    named = [f"{row['label']} {row['factor']} (95 %: {row['interval']})" for row in quicker[:_MOST_NAMED]]
    more = f" and {len(quicker) - _MOST_NAMED} more" if len(quicker) > _MOST_NAMED else ""
    return [
        f"quicker cold, beyond noise: {', '.join(named)}{more}",
        "the states were timed one after the other, not in turns: what else changed meanwhile is in the difference",
    ]
