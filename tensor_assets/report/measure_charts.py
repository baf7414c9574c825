"""Charts of the measurements page: clocks side by side, what a search chose beside what it did not."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from tensor_assets.report.allocations import one_allocation_each
from tensor_assets.report.charts import (
    BAND,
    BAND_SIGMAS,
    QUIET,
    ROW,
    ROWS,
    Chart,
    finished,
    lanes,
)
from tensor_assets.report.faces import Face, face_of, in_order
from tensor_assets.report.log_axes import logarithmic
from tensor_assets.report.quantities import duration
from tensor_assets.report.reading import CLOCK_ORDER, Configuration

SHOWN_CLOCKS = tuple(reversed(CLOCK_ORDER))  # a caller's view first, the device's last
_CHOSEN_WON = "what was chosen measured quickest"
_CHOSEN_LOST = "something measured quicker than what was chosen"
MEANINGS = {"host": "host: a call and a wait", "graph": "graph replay", "device": "device: the activities"}


def clocks(
    timings: pd.DataFrame, target: str, device: str, faces: dict[str, Face], order: list[str], left_out: int = 0
) -> Chart | None:
    """Every clock of a target beside the others, each with its own axis. None where only one was used.

    Raises AllocationMismatch if the times of one workload come from more than one allocation.
    """
    rows = timings[(timings.target == target) & (timings.variant == "default") & timings.median_ns.notna()]
    rows = rows[(rows.cache == "warm") & (rows.data == "random")]
    present = [clock for clock in SHOWN_CLOCKS if clock in set(rows.clock)]
    if len(present) < 2:
        return None
    allocations = one_allocation_each(rows, target, left_out)
    data = [_clock_row(row, faces) for row in rows.itertuples(index=False)]
    titles = [face_of(name, faces).title for name in in_order(set(rows.compiler), faces)]
    shown = [workload for workload in order if workload in set(rows.workload)]
    panels = alt.hconcat(*(_clock_panel(data, clock, shown, titles, faces) for clock in present), spacing=14)
    title = _clock_title(rows, present)
    subtitle = [
        f"{device}, warm caches, n = {len(data)} timings; logarithmic axes in µs",
        *allocations,
        f"dot: median of process medians; line: their range; band: ±{BAND_SIGMAS:g} A/A standard deviations",
    ]
    spec = finished(panels, data, title, subtitle)
    words = f"{title}. The table beneath holds every number."
    return Chart(name=f"clocks-{target}", spec=spec, title=title, subtitle="; ".join(subtitle), alternative=words)


def candidates(configurations: list[tuple[str, Face, Configuration]]) -> Chart | None:
    """What each search measured and did not choose, beside what it chose: as multiples of the chosen one's time.

    A lane is one search by its compiler's own timer, so nothing is compared between lanes. ``configurations`` come with
    what a reader calls them.
    """
    data = [row for label, face, c in configurations for row in _candidate_rows(label, face, c)]
    if not data:
        return None
    lanes = list(dict.fromkeys(row["lane"] for row in data))
    ticks = (
        alt.Chart(alt.NamedData(name=ROWS))
        .mark_tick(thickness=2, height=13)
        .encode(
            x=logarithmic(
                "ratio:Q",
                "measured time, as a multiple of the chosen one's; logarithmic",
                min(row["ratio"] for row in data) / 1.1,
                max(row["ratio"] for row in data) * 1.1,
            ),
            y=alt.Y("lane:N", sort=lanes, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=260)),
            color=alt.Color("colour:N", scale=None, legend=None),
            tooltip=["lane:N", "name:N", "kind:N", "time:N"],
        )
    )
    title = candidates_title(len({row["lane"] for row in data if row["ratio"] < 1}), len(lanes))
    subtitle = ["coloured: chosen; grey: measured, not chosen; each lane by its compiler's own timer, in its own scope"]
    spec = finished(ticks.properties(width=460, height=alt.Step(18)), data, title, subtitle)
    words = "; ".join(f"{lane} {sum(row['lane'] == lane for row in data)} measured" for lane in lanes)
    return Chart(name="candidates", spec=spec, title=title, subtitle=subtitle[0], alternative=words)


def candidates_title(quicker: int, searches: int) -> str:
    if searches == 1:
        return f"In the one captured search {_CHOSEN_LOST if quicker else _CHOSEN_WON}"
    if quicker:
        return f"In {quicker} of {searches} captured searches {_CHOSEN_LOST}"
    return f"In all {searches} captured searches {_CHOSEN_WON}"


def _candidate_rows(label: str, face: Face, configuration: Configuration) -> list[dict[str, Any]]:
    search = configuration.capture.capture.search if configuration.capture.capture else None
    measured = [c for c in search.candidates if c.measured_ns] if search else []
    chosen = next((c.measured_ns for c in measured if c.chosen), None)
    if len(measured) < 2 or not chosen:
        return []
    return [
        {
            "lane": label,
            "ratio": (c.measured_ns or 0) / chosen,
            "kind": "chosen" if c.chosen else "not chosen",
            "colour": face.colour if c.chosen else QUIET,
            "name": c.name[:120],
            "time": str(duration(c.measured_ns or 0)),
        }
        for c in sorted(measured, key=lambda c: c.chosen)
    ]


def _clock_row(row: Any, faces: dict[str, Face]) -> dict[str, Any]:
    band = math.exp(BAND_SIGMAS * row.noise) if pd.notna(row.noise) else 1.0
    return {
        "workload": row.workload,
        "compiler": face_of(row.compiler, faces).title,
        "clock": row.clock,
        "median": row.median_ns / 1e3,
        "low": row.process_low_ns / 1e3,
        "high": row.process_high_ns / 1e3,
        "band_low": row.median_ns / band / 1e3,
        "band_high": row.median_ns * band / 1e3,
        "text": str(duration(row.median_ns)),
        "allocation": row.allocation,
    }


def _clock_panel(
    data: list[dict[str, Any]], clock: str, workloads: list[str], titles: list[str], faces: dict[str, Face]
) -> Any:
    colours = {face.title: face.colour for face in faces.values()}
    scale = alt.Scale(domain=titles, range=[colours.get(title, QUIET) for title in titles])
    base = (
        alt.Chart(alt.NamedData(name=ROWS))
        .transform_filter(f"datum.clock === '{clock}'")
        .encode(
            y=alt.Y("workload:N", sort=workloads, title=None, axis=alt.Axis(ticks=False, domain=False, grid=True)),
            yOffset=lanes(titles),
            tooltip=["workload:N", "compiler:N", "clock:N", alt.Tooltip("text:N", title="median"), "allocation:N"],
        )
    )
    own = [row for row in data if row["clock"] == clock]
    low = min(min(r["low"], r["band_low"]) for r in own) / 1.1
    high = max(max(r["high"], r["band_high"]) for r in own) * 1.1
    x = partial(logarithmic, title=MEANINGS[clock], low=low, high=high)
    legend = alt.Legend(title=None, orient="top", symbolStrokeWidth=0)
    return alt.layer(
        base.mark_rule(strokeWidth=5, color=BAND).encode(x=x("band_low:Q"), x2="band_high:Q"),
        base.mark_rule(strokeWidth=2).encode(
            x=x("low:Q"), x2="high:Q", color=alt.Color("compiler:N", scale=scale, legend=legend)
        ),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            x=x("median:Q"),
            color=alt.Color("compiler:N", scale=scale, legend=legend),
        ),
    ).properties(width=250, height=ROW)


def _clock_title(rows: pd.DataFrame, present: list[str]) -> str:
    wide = rows.pivot_table(index=["workload", "compiler", "shape"], columns="clock", values="median_ns").dropna()
    first, last = present[0], present[-1]
    if wide.empty:
        return "No configuration was timed by every clock"
    shares = wide[last] / wide[first]
    low, high = f"{100 * shares.min():.0f}", f"{100 * shares.max():.0f}"
    return f"Of the {first} clock's time the {last} accounts for {low} to {high} %"
