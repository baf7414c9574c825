"""The charts: built from the tidy tables, titled with what they show, drawn as SVG and as Vega-Lite.

One chart never holds times of two allocations: ``latency`` refuses such a table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import altair as alt
import msgspec
import pandas as pd
import vl_convert

from tensor_assets.report.allocations import one_allocation_each, require_one_allocation, without
from tensor_assets.report.faces import Face, face_of, in_order
from tensor_assets.report.log_axes import logarithmic
from tensor_assets.report.quantities import duration, percent, significant

# Stand-ins that the site's style sheet gives its own value, light and dark; a file of its own keeps these greys.
INK, QUIET, RULE, BAND, PAPER = "#1a1b1e", "#666a72", "#e2e2dd", "#d9d9d1", "#fdfdfb"
FONT = "Segoe UI, Roboto, Helvetica Neue, Liberation Sans, Arial, sans-serif"
KINDS = {"kernel": "generated kernel", "library": "library call", "memset": "memset", "memcpy": "copy"}
# One hue in four strengths: no kind may look like a compiler.
KIND_COLOURS = {"kernel": "#3d3a9c", "library": "#8785d1", "memset": "#bdbcea", "memcpy": "#dddcf5"}
BAND_SIGMAS = 2.0
ROWS = "rows"
ROW = alt.Step(30, **{"for": "position"})  # pixels for all lanes of a row: on one line marks would hide each other
CONFIG = {
    "font": FONT,
    "aria": False,  # the page says in words what a drawing shows; a label on every mark would double its size
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": QUIET, "gridColor": RULE, "domainColor": RULE, "tickColor": RULE,
        "titleFontWeight": "normal", "titleFontSize": 11, "labelFontSize": 11, "titleAnchor": "start",
    },
    "title": {
        "color": INK, "subtitleColor": QUIET, "fontSize": 14, "subtitleFontSize": 11, "fontWeight": 600,
        "subtitlePadding": 4,
    },
    "legend": {"labelColor": INK, "titleColor": QUIET, "labelFontSize": 11, "symbolSize": 70},
    "header": {"labelColor": INK, "labelFontSize": 11, "labelAnchor": "start", "labelFontWeight": 600},
}  # fmt: skip


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A Vega-Lite specification with the words that stand for it where it cannot be drawn."""

    name: str
    spec: dict[str, Any]
    title: str
    subtitle: str
    alternative: str


def latency(
    timings: pd.DataFrame, workload: str, target: str, clock: str, faces: dict[str, Face], left_out: int = 0
) -> Chart | None:
    """Each configuration's process medians, their range, and the A/A band around the median.

    ``timings`` is the table of that name, ``left_out`` how many configurations of other allocations are not in it.
    None if nothing of that workload was timed by that clock. Raises AllocationMismatch if the rows come from more than
    one allocation.
    """
    rows = _timed(timings, clock)
    rows = rows[(rows.workload == workload) & (rows.target == target)]
    if rows.empty:
        return None
    require_one_allocation(rows, f"{workload} on {target}")
    scale, unit = _scale(rows.median_ns)
    data = _latency_rows(rows, scale, faces)
    order = [row["label"] for row in data]
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=200, ticks=False, domain=False)),
        tooltip=[alt.Tooltip(f"{name}:N", title=title) for name, title in _LATENCY_TIPS.items()],
    )
    x = _axis(data, unit, clock)
    layers = alt.layer(
        base.mark_bar(height=18, color=BAND).encode(x=x, x2="band_high:Q"),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", color=_colour(data)),
        base.mark_point(filled=True, size=64, opacity=1).encode(x=alt.X("median:Q"), color=_colour(data)),
        base.mark_text(align="left", dx=9, fontSize=11, color=INK).encode(x=alt.X("text_at:Q"), text="text:N"),
    )
    title = _latency_title(rows, workload, faces)
    subtitle = _latency_subtitle(rows, clock, left_out)
    spec = finished(layers.properties(width=560, height=alt.Step(26)), data, title, subtitle)
    words = "; ".join(f"{row['label']} {row['text']}" for row in data)
    return Chart(
        name=f"latency-{workload}-{target}", spec=spec, title=title, subtitle="; ".join(subtitle), alternative=words
    )


def latency_overview(
    cells: pd.DataFrame,
    target: str,
    clock: str,
    device: str,
    faces: dict[str, Face],
    order: list[str],
    left_out: int = 0,
) -> Chart | None:
    """Every workload of a target on one logarithmic axis, one dot per compiler's default variant.

    The dots of one row come from one session; rows may come from different allocations, so the subtitle counts them.
    """
    rows = cells[(cells.target == target) & (cells.variant == "default") & (cells.clock == clock)]
    rows = rows[rows.median_ns.notna()]
    if rows.empty:
        return None
    allocations = one_allocation_each(rows, target, left_out)
    unit, data = _overview_rows(rows, faces)
    shown = [workload for workload in order if workload in set(rows.workload)]
    titles = [face_of(name, faces).title for name in in_order(set(rows.compiler), faces)]
    layers = _overview_layers(sorted(data, key=lambda row: titles.index(row["compiler"])), shown, unit, clock)
    title = _overview_title(rows, faces)
    subtitle = [
        f"{device}, {clock} clock, warm; dots are medians of process medians, n = {len(rows)} configurations",
        *allocations,
    ]
    spec = finished(layers.properties(width=460, height=ROW), data, title, subtitle)
    words = f"{title}. The table beneath holds every number."
    return Chart(
        name=f"overview-{target}-{clock}", spec=spec, title=title, subtitle="; ".join(subtitle), alternative=words
    )


def activities(
    kernels: pd.DataFrame, target: str, device: str, faces: dict[str, Face], order: list[str], workload: str = ""
) -> Chart | None:
    """Device activities of one invocation by kind, per compiler: of one workload, or of every one of ``order``."""
    rows = kernels[(kernels.target == target) & (kernels.variant == "default")]
    rows = rows[rows.workload == workload] if workload else rows
    wrong, missing = rows[rows.status == "rejected"], rows[(rows.status != "rejected") & (rows.unseen != "")]
    rows = rows[(rows.status != "rejected") & (rows.unseen == "")]
    if rows.empty:
        return None
    counted = rows.groupby(["workload", "compiler", "kind"]).size().reset_index(name="n")
    data = _activity_data(counted, faces)
    titles = [face_of(name, faces).title for name in in_order(set(rows.compiler), faces)]
    bars = _activity_bars(counted, order, titles, bool(workload))
    title, subtitle = (
        _activities_title(rows, workload, faces),
        f"{device}, planned activities of one invocation, default variants{_left_out(wrong, missing)}",
    )
    if workload:
        spec = finished(bars.properties(width=420, height=alt.Step(22)), data, title, subtitle)
    else:
        wide = bars.properties(width=max(48, 420 // len(titles)), height=alt.Step(20)).facet(
            column=alt.Column("compiler:N", sort=titles, title=None), spacing=8
        )
        spec = finished(wide, data, title, subtitle)
    totals = counted.groupby("compiler").n.sum()
    words = "; ".join(f"{face_of(name, faces).title} {totals[name]}" for name in in_order(set(totals.index), faces))
    name = f"activities-{workload or 'all'}-{target}"
    return Chart(name=name, spec=spec, title=title, subtitle=subtitle, alternative=f"Activities in all: {words}")


def _left_out(wrong: pd.DataFrame, missing: pd.DataFrame) -> str:
    """Says of how many cells the activities are not counted: they compute something else, or are not all known."""
    cells = {"of wrong values": wrong, "with an incomplete plan": missing}
    counts = {why: len(rows.drop_duplicates(["workload", "compiler"])) for why, rows in cells.items()}
    said = " and ".join(f"{number} {why}" for why, number in counts.items() if number)
    return f"; {said} left out" if said else ""


def finished(chart: Any, data: list[dict[str, Any]], title: str, subtitle: str | list[str]) -> dict[str, Any]:
    """The specification with its data, title and style. They join as plain values: Altair copies each layer often."""
    spec: dict[str, Any] = chart.to_dict()
    heading = {"text": title, "subtitle": subtitle, "anchor": "start", "frame": "group", "offset": 12}
    return spec | {"title": heading, "datasets": {ROWS: data}, "background": "transparent", "config": CONFIG}


def svg(chart: Chart) -> str:
    """The chart as a picture that needs nothing else."""
    return picture(chart.spec)


def picture(spec: Mapping[str, Any]) -> str:
    return str(vl_convert.vegalite_to_svg(json.dumps(spec)))


_LATENCY_TIPS = {"label": "configuration", "text": "median", "range": "process medians", "noise": "A/A noise", "n": "n"}


def _overview_rows(rows: pd.DataFrame, faces: dict[str, Face]) -> tuple[str, list[dict[str, Any]]]:
    """The unit of the axis, and a row for every dot."""
    scale, unit = _scale(rows.median_ns)
    return unit, [
        {
            "workload": row.workload,
            "compiler": face_of(row.compiler, faces).title,
            "colour": face_of(row.compiler, faces).colour,
            "median": row.median_ns / scale,
            "low": row.process_low_ns / scale,
            "high": row.process_high_ns / scale,
            "text": str(duration(row.median_ns)),
            "noise": percent(row.noise) if pd.notna(row.noise) else "not known",
            "allocation": row.allocation,
        }
        for row in _rows(rows)
    ]


def _overview_layers(data: list[dict[str, Any]], workloads: list[str], unit: str, clock: str) -> Any:
    legend = alt.Legend(title=None, orient="top", symbolStrokeWidth=0)
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(
        y=alt.Y("workload:N", sort=workloads, title=None, axis=alt.Axis(ticks=False, domain=False, grid=True)),
        yOffset=lanes([row["compiler"] for row in data]),
        color=_colour(data, "compiler", legend=legend),
        tooltip=[
            "workload:N",
            "compiler:N",
            alt.Tooltip("text:N", title="median"),
            alt.Tooltip("noise:N", title="A/A"),
            "allocation:N",
        ],
    )
    low, high = min(row["low"] for row in data) / 1.15, max(row["high"] for row in data) * 1.15
    x = partial(logarithmic, title=f"{unit}, {clock} clock, logarithmic axis", low=low, high=high)
    return alt.layer(
        base.mark_rule(strokeWidth=2).encode(x=x("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(x=x("median:Q")),
    )


def lanes(titles: list[str]) -> alt.YOffset:
    """Compilers of one row below each other, in the order of ``titles``."""
    return alt.YOffset("compiler:N", sort=list(dict.fromkeys(titles)))


def _activity_data(counted: pd.DataFrame, faces: dict[str, Face]) -> list[dict[str, Any]]:
    return [
        {
            "workload": row.workload,
            "compiler": face_of(row.compiler, faces).title,
            "kind": KINDS[row.kind],
            "rank": list(KINDS).index(row.kind),
            "n": int(row.n),
        }
        for row in _rows(counted)
    ]


def _activity_bars(counted: pd.DataFrame, order: list[str], titles: list[str], single: bool) -> Any:
    kinds = [kind for kind in KINDS if kind in set(counted.kind)]
    scale = alt.Scale(domain=[KINDS[kind] for kind in kinds], range=[KIND_COLOURS[kind] for kind in kinds])
    return (
        alt.Chart(alt.NamedData(name=ROWS))
        .mark_bar(height=12, stroke=PAPER, strokeWidth=1)
        .encode(
            x=alt.X("n:Q", stack="zero", title="activities", axis=_whole_ticks(counted)),
            y=_activity_rows(order, titles, single),
            color=alt.Color("kind:N", scale=scale, legend=alt.Legend(title=None, orient="top")),
            order=alt.Order("rank:Q"),
            tooltip=["workload:N", "compiler:N", "kind:N", alt.Tooltip("n:Q", title="activities")],
        )
    )


def _rows(frame: pd.DataFrame) -> Iterator[Any]:
    """The rows as tuples with the columns' names, which pandas' types cannot tell apart."""
    return iter(frame.itertuples(index=False))


def _timed(timings: pd.DataFrame, clock: str) -> pd.DataFrame:
    rows = timings[(timings.clock == clock) & (timings.cache == "warm") & (timings.data == "random")]
    return rows[rows.median_ns.notna()]


def _latency_rows(rows: pd.DataFrame, scale: float, faces: dict[str, Face]) -> list[dict[str, Any]]:
    data = []
    for row in _rows(rows.sort_values("median_ns")):
        face = face_of(row.compiler, faces)
        band = math.exp(BAND_SIGMAS * row.noise) if pd.notna(row.noise) else 1.0
        median = row.median_ns / scale
        data.append(
            {
                "label": _named(row, faces),
                "colour": face.colour,
                "median": median,
                "low": row.process_low_ns / scale,
                "high": row.process_high_ns / scale,
                "band_low": median / band,
                "band_high": median * band,
                "text_at": max(row.process_high_ns / scale, median * band),
                "text": str(duration(row.median_ns)),
                "range": f"{duration(row.process_low_ns)} – {duration(row.process_high_ns)}",
                "noise": percent(row.noise) if pd.notna(row.noise) else "not known",
                "n": f"{row.processes} processes, {row.samples} blocks",
                "allocation": row.allocation,
            }
        )
    return data


def _axis(data: list[dict[str, Any]], unit: str, clock: str) -> alt.X:
    """Zero-based, unless the values span so much that the quick ones would vanish: then logarithmic, and said so."""
    values = [row["median"] for row in data]
    end = max(row["text_at"] for row in data)
    if max(values) > 20 * min(values):
        low, high = min(min(row["band_low"], row["low"]) for row in data) / 1.3, end * 1.8
        return logarithmic("band_low:Q", f"{unit}, {clock} clock, logarithmic axis", low, high)
    scale = alt.Scale(domain=[0, end * 1.14], nice=False)
    return alt.X("band_low:Q", title=f"{unit}, {clock} clock", scale=scale)


def _colour(data: list[dict[str, Any]], field: str = "label", legend: alt.Legend | None = None) -> alt.Color:
    pairs = {row[field]: row["colour"] for row in data}
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=list(pairs), range=list(pairs.values())), legend=legend)


def _scale(medians: pd.Series[float]) -> tuple[float, str]:
    unit = duration(float(medians.median())).unit
    return {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0}[unit], unit


def _whole_ticks(counted: pd.DataFrame) -> alt.Axis:
    """Ticks at whole activities only, as many as fit."""
    most = int(counted.groupby(["workload", "compiler"]).n.sum().max())
    step = max(1, math.ceil(most / 4))
    return alt.Axis(values=list(range(0, most + step, step)), format="d")


def _activity_rows(order: list[str], titles: list[str], single: bool) -> alt.Y:
    axis = alt.Axis(ticks=False, domain=False)
    if single:
        return alt.Y("compiler:N", sort=titles, title=None, axis=axis)
    return alt.Y("workload:N", sort=order, title=None, axis=axis)


def _latency_title(rows: pd.DataFrame, workload: str, faces: dict[str, Face]) -> str:
    ordered = rows.sort_values("median_ns")
    rest = list(_rows(ordered))
    first, last = rest[0], rest[-1]
    if len(ordered) == 1:
        return f"{workload}: {_named(first, faces)} takes {duration(first.median_ns)}"
    tied = [_named(row, faces) for row in rest if _within(first, row)]
    names = ", ".join(tied)
    if len(tied) == len(rest):
        least = f"{duration(first.median_ns)} at the least"
        return f"{workload}: {names} differ no more than two runs of the same code, {least}"
    lowest = f"{names} has the lowest median"
    if len(tied) > 1:
        lowest = f"{names} are lowest, no further apart than two runs of the same code"
    factor = significant(last.median_ns / first.median_ns, 2)
    return f"{workload}: {lowest}, {duration(first.median_ns)}; {_named(last, faces)} takes {factor}×"


def _within(first: Any, row: Any) -> bool:
    """Could two runs of the same code differ as much? The verdict is another one: it has several of each."""
    noise = max((value for value in (first.noise, row.noise) if pd.notna(value)), default=0.0)
    return bool(math.log(row.median_ns / first.median_ns) <= BAND_SIGMAS * math.sqrt(2) * noise)


def _named(row: Any, faces: dict[str, Face]) -> str:
    title = face_of(row.compiler, faces).title
    return title if row.variant == "default" else f"{title} {row.variant}"


def _latency_subtitle(rows: pd.DataFrame, clock: str, left_out: int) -> list[str]:
    return [
        f"{rows.device.iloc[0]}, {clock} clock, warm, n = {int(rows.processes.sum())} processes{without(left_out)}",
        f"dot: median of process medians; line: their range; band: ±{BAND_SIGMAS:g} A/A standard deviations",
    ]


def _overview_title(rows: pd.DataFrame, faces: dict[str, Face]) -> str:
    fastest = rows.loc[rows.groupby("workload").median_ns.idxmin()].compiler.value_counts()
    name, wins = str(fastest.index[0]), int(fastest.iloc[0])
    total = rows.workload.nunique()
    where = f"{wins} of {total} programs" if total > 1 else str(rows.workload.iloc[0])
    return f"{face_of(name, faces).title} has the lowest median in {where}"


def _activities_title(rows: pd.DataFrame, workload: str, faces: dict[str, Face]) -> str:
    totals = rows.groupby(["workload", "compiler"]).size()
    low, high = int(totals.min()), int(totals.max())
    if workload:
        fewest = in_order(set(totals[totals == low].index.get_level_values("compiler")), faces)
        takes = f"{workload} takes {low} device activit{'y' if low == 1 else 'ies'}"
        if low == high:
            return f"{takes} everywhere"
        return f"{takes} in {', '.join(face_of(name, faces).title for name in fewest)}, up to {high} elsewhere"
    alone = int((totals == 1).sum())
    return f"{alone} of {len(totals)} cells need a single device activity; the most is {high}"
