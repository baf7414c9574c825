"""The matrix: workloads down, compilers across, one view per target. A cell shows its default variant."""

from __future__ import annotations

from collections import Counter

import msgspec

from tensor_assets.records import Status, Timing
from tensor_assets.report.allocations import SHORT
from tensor_assets.report.faces import Face, face_of, in_order
from tensor_assets.report.quantities import duration, duration_in, significant
from tensor_assets.report.reading import CLOCK_ORDER, Configuration, Snapshot, is_run_target


class Other(msgspec.Struct, frozen=True):
    """Another variant of a cell, told by its mark alone."""

    status: Status
    hover: str


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True):
    face: Face
    page: str = ""  # empty where nothing was materialized
    status: Status = "blocked"
    word: str = ""
    hover: str = ""
    capture: str = ""  # record id, of the number of launches
    launches: int | str = ""
    at_least: bool = False  # the plan misses some
    benchmark: str = ""  # record id, of the time
    median: str = ""  # its place in it
    time: str = ""
    width: float | None = None  # per cent of the slowest time in its row
    limit: float | None = None
    others: tuple[Other, ...] = ()


class MatrixRow(msgspec.Struct, frozen=True):
    workload: str
    question: str
    shape: str
    page: str
    cells: tuple[MatrixCell, ...]


class Column(msgspec.Struct, frozen=True):
    face: Face
    version: str


class MatrixView(msgspec.Struct, frozen=True):
    slug: str
    shape: str  # empty where rows differ: each then says its own
    title: str
    caption: str
    drawn: str  # what its cells have beside their marks
    unit: str  # of every time in it
    columns: tuple[Column, ...]
    rows: tuple[MatrixRow, ...]


def matrix_views(snapshot: Snapshot, faces: dict[str, Face]) -> list[MatrixView]:
    """One matrix per target: devices first, then the one with the most right cells. All share the same columns."""
    compilers = in_order({c.key.compiler for c in snapshot.configurations}, faces)
    views = [(target, _view(snapshot, target, compilers, faces)) for target in snapshot.targets()]
    return [view for _, view in sorted(views, key=lambda pair: _place(*pair))]


def _place(target: str, view: MatrixView) -> tuple[bool, int]:
    device = target != "cpu" and is_run_target(target)
    return not device, -sum(cell.status == "ok" for row in view.rows for cell in row.cells)


def cell_page(workload: str, compiler: str) -> str:
    return f"cells/{workload}/{compiler}.html"


def configuration_page(snapshot: Snapshot, configuration: Configuration) -> str:
    """The cell's own address for the configuration that stands for it, one below it for every other."""
    key = configuration.key
    if snapshot.of_cell(key.workload, key.compiler)[0] is configuration:
        return cell_page(key.workload, key.compiler)
    return f"cells/{key.workload}/{key.compiler}/{snapshot.names.below_cell[configuration.capture_id]}.html"


def workload_page(workload: str) -> str:
    return f"workloads/{workload}.html"


def target_title(snapshot: Snapshot, target: str) -> str:
    """What a reader calls the target: the processor's own name for the host."""
    if target != "cpu":
        return target if is_run_target(target) else f"{target}, compiled without a device"
    own = [c for c in snapshot.configurations if c.key.target == "cpu"]
    names = Counter(device for c in own for device in _devices(c) if device and device != "cpu")
    return f"CPU · {names.most_common(1)[0][0]}" if names else "CPU"


def _devices(configuration: Configuration) -> tuple[str, str]:
    """What capture and session call the device; a compiler may know no better name than "cpu"."""
    benchmark = configuration.benchmark
    return configuration.capture.device, benchmark.allocation.device if benchmark and benchmark.allocation else ""


def shown_clock(snapshot: Snapshot, target: str) -> str:
    """The clock most configurations of the target were measured with; the closer one on a tie."""
    counts: Counter[str] = Counter(
        clock
        for c in snapshot.configurations
        if c.key.target == target
        for clock in {t.clock for t in c.timings if t.median_ns is not None and (t.cache, t.data) == ("warm", "random")}
    )
    return max(CLOCK_ORDER, key=lambda clock: (counts[clock], -CLOCK_ORDER.index(clock))) if counts else ""


def _view(snapshot: Snapshot, target: str, compilers: list[str], faces: dict[str, Face]) -> MatrixView:
    clock = shown_clock(snapshot, target)
    unit = _unit(snapshot, target, clock)
    rows = []
    for workload in snapshot.workloads():
        here = [c for c in snapshot.configurations if (c.key.workload, c.key.target) == (workload, target)]
        if here:
            shape = snapshot.main_shape(workload, target)
            shown = [c for c in here if c.key.shape == shape]
            cells = _cells(snapshot, shown, compilers, faces, clock, unit)
            rows.append(MatrixRow(workload, snapshot.question(workload), shape, workload_page(workload), cells))
    shapes = {row.shape for row in rows}
    return MatrixView(
        slug=snapshot.names.targets[target],
        shape=shapes.pop() if len(shapes) == 1 else "",
        title=target_title(snapshot, target),
        caption=_caption(target, clock),
        drawn=_drawn(target, clock, unit, any(cell.limit is not None for row in rows for cell in row.cells))
        + _origin(snapshot, target, clock),
        unit=unit,
        columns=tuple(Column(face_of(name, faces), _version(snapshot, name, target)) for name in compilers),
        rows=tuple(rows),
    )


def _drawn(target: str, clock: str, unit: str, limited: bool) -> str:
    """What a cell has beside its mark, said where it is shown: a phone has room for the mark alone."""
    if not clock or not is_run_target(target):
        return ", planned device activities"
    return (
        f", device activities of one invocation, median of process medians in {unit} ({clock} clock, warm); "
        "times compare within a row only; the bar is the time, to the slowest of its row"
        + ("; the tick, the least time possible" if limited else "")
    )


def _origin(snapshot: Snapshot, target: str, clock: str) -> str:
    """Says so where rows were timed on several allocations."""
    timed = (c for c in snapshot.configurations if c.key.target == target and timing_by(c, clock))
    found = {c.benchmark.allocation.id for c in timed if c.benchmark and c.benchmark.allocation}
    return f"; rows come from {len(found)} allocations" if len(found) > 1 else ""


def _caption(target: str, clock: str) -> str:
    """What the marks rest on, where not everything was done."""
    if not is_run_target(target):
        return "; nothing ran, so nothing was judged or timed"
    return "" if clock else "; nothing was timed here"


def _unit(snapshot: Snapshot, target: str, clock: str) -> str:
    times = sorted(
        timing.median_ns
        for c in snapshot.configurations
        if c.key.target == target and (timing := timing_by(c, clock)) and timing.median_ns
    )
    return duration(times[len(times) // 2]).unit if times else ""


def timing_by(configuration: Configuration, clock: str) -> Timing | None:
    """The warm timing on random data by this clock, if it has a median."""
    for timing in configuration.timings:
        if (timing.clock, timing.cache, timing.data) == (clock, "warm", "random") and timing.median_ns is not None:
            return timing
    return None


def _cells(
    snapshot: Snapshot,
    configurations: list[Configuration],
    compilers: list[str],
    faces: dict[str, Face],
    clock: str,
    unit: str,
) -> tuple[MatrixCell, ...]:
    medians = [t.median_ns for c in configurations if (t := timing_by(c, clock)) and t.median_ns]
    slowest = max(medians, default=None)
    return tuple(
        _cell(
            snapshot, [c for c in configurations if c.key.compiler == name], face_of(name, faces), clock, unit, slowest
        )
        for name in compilers
    )


def _cell(
    snapshot: Snapshot, variants: list[Configuration], face: Face, clock: str, unit: str, slowest: float | None
) -> MatrixCell:
    default = next((c for c in variants if c.key.variant == "default"), variants[0] if variants else None)
    if default is None:
        return MatrixCell(face=face)
    plan, timing = default.capture.plan, timing_by(default, clock)
    median = timing.median_ns if timing else None
    scale = 100 / slowest if slowest else None
    return MatrixCell(
        face=face,
        page=configuration_page(snapshot, default),
        status=default.status,
        word=_word(default),
        hover=_hover(default, timing),
        capture=default.capture_id if plan else "",
        launches=len(plan.launches) if plan else "",
        at_least=bool(default.unseen),
        benchmark=default.benchmark_id if timing else "",
        median=f"/timings/{default.timings.index(timing)}/median_ns" if timing else "",
        time=duration_in(median, unit) if median else "–",
        width=round(median * scale, 1) if median and scale else None,
        limit=_limit(timing, scale),
        others=tuple(
            Other(c.status, f"{c.key.variant}: {c.status}{_because(c)}")
            for c in variants
            if c is not default and c.status != "ok"
        ),
    )


def _limit(timing: Timing | None, scale: float | None) -> float | None:
    """Where the bar's limit stands; None where it would hide in the bar's own beginning."""
    if not timing or not timing.floor_ns or not scale:
        return None
    place = round(timing.floor_ns * scale, 1)
    return place if place >= 1.5 else None


def _word(configuration: Configuration) -> str:
    admission = configuration.capture.admission
    if configuration.status == "rejected" and admission and admission.boundary:
        return admission.boundary
    return configuration.status


def _hover(configuration: Configuration, timing: Timing | None) -> str:
    key = configuration.key
    variant = "" if key.variant == "default" else f" {key.variant}"  # of a cell that has no default
    parts = [f"{key.workload} × {key.compiler}{variant}: {configuration.status}"]
    if configuration.capture.outcome.reason:
        parts.append(configuration.capture.outcome.reason)
    if timing and timing.median_ns:
        noise = f", A/A ±{significant(100 * timing.noise, 2)} %" if timing.noise is not None else ""
        parts.append(f"{duration(timing.median_ns)} {timing.clock} clock{noise}, {len(timing.series)} processes")
        if configuration.benchmark and configuration.benchmark.allocation:
            parts.append(f"allocation {configuration.benchmark.allocation.id[:SHORT]}")
    return " · ".join(parts)


def _because(configuration: Configuration) -> str:
    reason = configuration.capture.outcome.reason
    return f" ({reason})" if reason else ""


def _version(snapshot: Snapshot, compiler: str, target: str) -> str:
    """The version of most cells: one that differs is told on its own page."""
    versions = Counter(
        c.capture.version
        for c in snapshot.configurations
        if (c.key.compiler, c.key.target) == (compiler, target) and c.capture.version
    )
    return versions.most_common(1)[0][0] if versions else ""
