"""Charts of one configuration's profile: its device timeline to scale, and its kernels under the roofline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt

from tensor_assets.records import KernelProfile, ProfileRecord, Roof
from tensor_assets.report.charts import INK, KIND_COLOURS, QUIET, ROWS, Chart, finished
from tensor_assets.report.log_axes import logarithmic, logarithmic_upwards
from tensor_assets.report.quantities import duration, percent, significant
from tensor_assets.sessions.ceilings import ceilings_of

# A tracer cannot tell a library's kernel from a generated one.
KINDS = {"kernel": "kernel", "memset": "memset", "memcpy": "copy"}
ARITHMETIC = "arithmetic"


def timeline(profile: ProfileRecord, subject: str, device: str, untraced_ns: float | None = None) -> Chart | None:
    """The activities of an invocation on the device's clock, gaps visible. None where none were traced.

    Medians of each duration and each gap laid end to end: no single invocation, the middle of all of them. Where gaps
    are the tracer's own, ``untraced_ns`` is what an invocation takes without it: they are left out, and that is said.
    """
    if not profile.kernels:
        return None
    data = _laid_end_to_end(profile, gaps=untraced_ns is None)
    kinds = [kind for kind in KINDS if KINDS[kind] in {row["kind"] for row in data}]
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(y=alt.Y("lane:N", title=None, axis=None))
    tips = [alt.Tooltip(f"{name}:N") for name in ("number", "name", "kind", "time", "gap")]
    bars = base.mark_bar(height=22).encode(
        x=alt.X("start:Q", title="µs since the first activity began, device clock", scale=alt.Scale(nice=False)),
        x2="end:Q",
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=[KINDS[kind] for kind in kinds], range=[KIND_COLOURS[kind] for kind in kinds]),
            legend=alt.Legend(title=None, orient="top"),
        ),
        tooltip=tips,
    )
    numbers = base.mark_text(dy=-18, fontSize=11, color=INK).encode(x="middle:Q", text="number:N")
    title = f"{subject}: {_busy(profile, untraced_ns is not None)}"
    subtitle = [f"{device}, medians over {len(profile.timeline)} traced invocations, laid end to end"]
    if untraced_ns is not None and profile.span_ns:
        spans = f"over {duration(profile.span_ns)}; untraced, an invocation takes {duration(untraced_ns)}"
        subtitle.append(f"without their gaps: tracing spread the activities {spans}")
    spec = finished(alt.layer(bars, numbers).properties(width=620, height=56), data, title, subtitle)
    gap = ", after a gap of {gap}" if untraced_ns is None else ""
    words = "; ".join(f"{row['number']} {row['name']} {row['time']}{gap.format(**row)}" for row in data)
    name = f"timeline-{subject}-{device}"
    return Chart(name=name, spec=spec, title=title, subtitle="; ".join(subtitle), alternative=words)


def _laid_end_to_end(profile: ProfileRecord, gaps: bool) -> list[dict[str, Any]]:
    """A row for each activity, in µs since the first one began."""
    rows, end = [], 0.0
    for kernel in profile.kernels:
        start = end + (kernel.gap_ns if gaps else 0.0)
        end = start + kernel.duration_ns
        rows.append(
            {
                "lane": "device",
                "start": start / 1e3,
                "end": end / 1e3,
                "middle": (start + end) / 2e3,
                "number": str(kernel.position + 1),
                "name": kernel.name,
                "kind": KINDS[kernel.kind],
                "time": str(duration(kernel.duration_ns)),
                "gap": str(duration(kernel.gap_ns)) if gaps else "not known",
            }
        )
    return rows


def roofline(profile: ProfileRecord, subject: str, device: str) -> Chart | None:
    """Each activity's achieved rate beside what its memory level or the arithmetic allows. None without counters."""
    data = _roofline_rows(profile, device)
    if not data:
        return None
    base = alt.Chart(alt.NamedData(name=ROWS)).encode(
        x=logarithmic("intensity:Q", "operations a byte, logarithmic", *_room(row["intensity"] for row in data)),
        tooltip=[alt.Tooltip(f"{name}:N") for name in ("label", "name", "share", "bound")],
    )
    rates = _room(row[rate] for row in data for rate in ("achieved", "attainable"))
    y = logarithmic_upwards("achieved:Q", "10¹² operations a second, logarithmic", *rates)
    layers = alt.layer(
        base.mark_rule(color=QUIET, strokeDash=[3, 3]).encode(y=y, y2="attainable:Q"),
        base.mark_tick(color=INK, thickness=2, width=18, orient="horizontal").encode(y=alt.Y("attainable:Q")),
        base.mark_point(filled=True, size=70, opacity=1, color=KIND_COLOURS["kernel"]).encode(y=y),
        base.mark_text(align="left", dx=8, fontSize=11, color=INK).encode(y=y, text="label:N"),
    )
    best = max(data, key=lambda row: row["achieved"] / row["attainable"])
    allows = {"": "its roof", ARITHMETIC: "the device's arithmetic"}.get(best["bound"], f"{best['bound']}'s bandwidth")
    title = f"{subject}: activity {best['number']} reaches {best['share']} of what {allows} allows"
    subtitle = [
        f"{device}; dot: achieved in the traced time, a median of warm invocations; tick: attainable",
        "operations: of tensor cores by their own counters, others by FP32 and FP16 instructions executed",
        f"bytes: counted {profile.counted}",
        *(f"{limit}: {source}" for limit, source in profile.ceilings.items()),
        *_not_drawn(profile),
    ]
    spec = finished(layers.properties(width=420, height=260), data, title, subtitle)
    words = "; ".join(
        f"{row['label']} {significant(row['achieved'])} of {significant(row['attainable'])} · 10¹²/s" for row in data
    )
    name = f"roofline-{subject}-{device}"
    return Chart(name=name, spec=spec, title=title, subtitle="; ".join(subtitle), alternative=words)


def _room(values: Iterable[float]) -> tuple[float, float]:
    """Ends of a logarithmic axis, off its outermost marks."""
    known = [value for value in values if value > 0]
    return min(known, default=1.0) / 1.6, max(known, default=1.0) * 1.6


def _roofline_rows(profile: ProfileRecord, device: str) -> list[dict[str, Any]]:
    return [
        {
            "label": f"{kernel.position + 1} · {roof.level}",
            "number": kernel.position + 1,
            "level": roof.level,
            "name": kernel.name,
            "intensity": roof.intensity,
            "achieved": roof.share * roof.attainable / 1e12,
            "attainable": roof.attainable / 1e12,
            "share": percent(roof.share),
            "bound": bounding(roof, device),
        }
        for kernel in profile.kernels
        for roof in kernel.roofs
        if roof.intensity > 0
    ]


def bounding(roof: Roof, device: str) -> str:
    """What a kernel meets first under ``roof`` on ``device``: ``arithmetic``, or the level of memory that it is of.

    Empty where the device's ceilings are not declared, or none of that level is.
    """
    ceilings = ceilings_of(device)
    level = next((level for level in ceilings.levels if level.name == roof.level), None) if ceilings else None
    if ceilings is None or level is None:
        return ""
    return level.name if roof.intensity * level.bytes_per_second < ceilings.flops_per_second else ARITHMETIC


def _not_drawn(profile: ProfileRecord) -> list[str]:
    """Which activities have no place on an axis of operations a byte, and why; one line, or none."""
    missing: dict[str, list[str]] = {}
    for kernel in profile.kernels:
        if not any(roof.intensity > 0 for roof in kernel.roofs):
            missing.setdefault(_why_not_drawn(kernel), []).append(str(kernel.position + 1))
    named = (f"activit{'y' if len(own) == 1 else 'ies'} {', '.join(own)} ({why})" for why, own in missing.items())
    return [f"not drawn: {', '.join(named)}"] if missing else []


def _why_not_drawn(kernel: KernelProfile) -> str:
    if kernel.kind != "kernel":
        return f"a {KINDS[kernel.kind]}"
    if kernel.operations is None:
        return "not counted"
    return "no bytes counted" if kernel.operations else "no operations counted"


def _busy(profile: ProfileRecord, stretched: bool) -> str:
    count = len(profile.kernels)
    activities = f"{count} device activit{'y' if count == 1 else 'ies'}"
    if not profile.busy_ns or not profile.span_ns:
        return activities
    if stretched:
        return f"{activities}, busy for {duration(profile.busy_ns)}"
    idle = profile.span_ns - profile.busy_ns
    gaps = f", idle for {duration(idle)} of it" if idle >= 1 else " without a gap"
    return f"{activities} in {duration(profile.span_ns)}{gaps}"
