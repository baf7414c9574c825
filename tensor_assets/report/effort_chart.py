"""The chart of search effort: what each search cost against the time of what it chose; one compiler alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt

from tensor_assets.records import EffortRecord, Trial
from tensor_assets.report.allocations import SHORT
from tensor_assets.report.charts import ROWS, Chart, finished
from tensor_assets.report.faces import Face
from tensor_assets.report.log_axes import logarithmic
from tensor_assets.report.quantities import count, duration
from tensor_assets.sessions.effort import paired_ratios
from tensor_assets.sessions.statistics import EQUIVALENCE_MARGIN

_KEPT_APART = {"censored": "stopped at the deadline", "rejected": "of wrong values", "crashed": "crashed"}  # by outcome


def search_effort(record: EffortRecord, subject: str, face: Face) -> Chart | None:
    """Seconds in the compiler's own scope; what has no time is counted beside it. None if nothing has one."""
    data = [_row(trial) for trial in record.trials if trial.compile_seconds is not None and trial.series is not None]
    if not data:
        return None
    order = [name for name in ("default", "tuned", "expanded") if name in {row["variant"] for row in data}]
    order += sorted({row["variant"] for row in data} - set(order))
    low, high = (max(1e-3, of(row["seconds"] for row in data)) for of in (min, max))
    points = (
        alt.Chart(alt.NamedData(name=ROWS))
        .mark_point(size=80, opacity=1, color=face.colour, filled=True)
        .encode(
            x=logarithmic("seconds:Q", "seconds to compile, search included; logarithmic", low / 1.3, high * 1.3),
            y=alt.Y("median:Q", title="µs, host clock", scale=alt.Scale(zero=True)),
            shape=alt.Shape("variant:N", sort=order, legend=alt.Legend(title=None, orient="top")),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("variant", "tried", "not timed", "time", "block")],
        )
    )
    title = _title(record, subject)
    limits = [*_deadline(record), *_kept_apart(record)]
    subtitle = [
        f"{record.allocation.device}, allocation {record.allocation.id[:SHORT]}, host clock, "
        f"n = {len(data)} fresh processes in paired blocks",
        *(["; ".join(limits)] if limits else []),
    ]
    spec = finished(points.properties(width=420, height=220), data, title, subtitle)
    words = "; ".join(
        [f"{row['variant']} {row['seconds']:.1f} s → {row['time']}" for row in data] + _kept_apart(record)
    )
    name = f"effort-{subject}-{record.key.target}"
    return Chart(name=name, spec=spec, title=title, subtitle="; ".join(subtitle), alternative=words)


def _row(trial: Trial) -> dict[str, Any]:
    assert trial.series is not None
    search = trial.search
    return {
        "variant": trial.variant,
        "seconds": trial.compile_seconds,
        "median": trial.series.median_ns / 1e3,
        "tried": count(search.tried) if search else "no search",
        "not timed": "not told" if search is None or search.untimed is None else count(search.untimed),
        "block": trial.block + 1,
        "time": str(duration(trial.series.median_ns)),
    }


def _kept_apart(record: EffortRecord) -> list[str]:
    """Trials without a place on the chart, by outcome; of those that were stopped, how far they had come."""
    statuses = Counter[str](trial.outcome.status for trial in record.trials)
    apart = [f"{statuses[status]} {words}" for status, words in _KEPT_APART.items() if statuses[status]]
    if statuses["censored"]:
        apart[0] += _how_far([trial for trial in record.trials if trial.outcome.status == "censored"])
    return [f"kept apart: {', '.join(apart)}"] if apart else []


def _how_far(stopped: Sequence[Trial]) -> str:
    """What they had tried and what still waited; nothing of those that did not tell."""
    searches = [trial.search for trial in stopped if trial.search]
    waited = [search.untimed for search in searches if search.untimed is not None]
    told = [f"{_range([search.tried for search in searches])} tried"] if searches else []
    told += [f"{_range(waited)} not timed"] if waited else []
    each = " each" if len(searches) == len(stopped) else f" in the {len(searches)} that told"
    return f" ({' and '.join(told)}{each})" if told else ""


def _range(values: list[int]) -> str:
    return "–".join(dict.fromkeys(count(of(values)) for of in (min, max)))


def _deadline(record: EffortRecord) -> list[str]:
    seconds = record.method.get("deadline_seconds")
    return [f"each search given {seconds:.0f} s"] if isinstance(seconds, int | float) else []


def _title(record: EffortRecord, subject: str) -> str:
    """What a search is worth, from blocks alone: its time is compared with the default's of the same block."""
    ratios = {variant: [r for r in of if r is not None] for variant, of in paired_ratios(record).items()}
    if not any(ratios.values()):
        return f"{subject}: no search has a time beside its block's default"
    quicker = {variant: of for variant, of in ratios.items() if of and max(of) < 1 / (1 + EQUIVALENCE_MARGIN)}
    if not quicker:
        ended = " that ended" if any(trial.outcome.status == "censored" for trial in record.trials) else ""
        return f"{subject}: no search{ended} made a call quicker in every block"
    best = min(quicker, key=lambda variant: max(quicker[variant]))
    gains = dict.fromkeys(f"{1 / ratio:.1f}" for ratio in (max(quicker[best]), min(quicker[best])))
    blocks = len(quicker[best])
    where = f"each of {blocks} blocks" if blocks > 1 else "its block"
    return f"{subject}: called, {best} is {'–'.join(gains)}× quicker in {where}"
