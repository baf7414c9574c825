"""What the measurements page shows: every target that was timed or planned for, one after another."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from tensor_worker.messages import Cache

from tensor_assets.records import BenchmarkRecord, Comparison, EffortRecord, Series, SessionRecord
from tensor_assets.report import charts, measure_charts
from tensor_assets.report.allocations import SHORT
from tensor_assets.report.charts import Chart
from tensor_assets.report.cold_chart import COLD_CLOCKS, cold_and_warm
from tensor_assets.report.effort_chart import search_effort
from tensor_assets.report.figures import root_of_site
from tensor_assets.report.matrix import configuration_page, shown_clock, target_title
from tensor_assets.report.reading import Configuration
from tensor_assets.report.tables import of_main_shapes, of_one_allocation
from tensor_assets.sessions.effort import paired_ratios, quickest
from tensor_assets.sessions.joining import compare_cells
from tensor_assets.sessions.method import Axis

if TYPE_CHECKING:
    from tensor_assets.report.pages import PageWriter

MOST_SEARCHES = 24  # lanes of one chart; the cells have the rest


def judged_together(timed: list[Configuration]) -> dict[str, Comparison]:
    """Benchmark record → its headline against its baseline, judged together with all of its allocation and axis."""
    together: dict[tuple[str, Axis], dict[str, BenchmarkRecord]] = {}
    for c in timed:
        if c.headline and c.benchmark and c.benchmark.allocation:
            axis = Axis(c.headline.clock, c.headline.cache, c.headline.data)
            together.setdefault((c.benchmark.allocation.id, axis), {})[c.benchmark_id] = c.benchmark
    judged = [compare_cells(benchmarks, axis) for (_, axis), benchmarks in together.items()]
    return {name: comparison for found in judged for name, comparison in found.items()}


def drifted_by_axis(timed: list[Configuration]) -> dict[str, tuple[int, int]]:
    """Clock and cache → processes that drifted, of how many; on random data, the caller's clock first."""
    series: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for timing in (t for c in timed for t in c.timings if t.data == "random"):
        series[timing.clock, timing.cache].extend(timing.series)
    return {
        f"{clock} {cache}": (sum(one.drifted for one in own), len(own))
        for clock in measure_charts.SHOWN_CLOCKS
        for cache in ("warm", "cold")
        if (own := series[clock, cache])
    }


def method_of(session: SessionRecord) -> str:
    """What names a session's method: the hash of its numbers, or all of them where none was recorded."""
    return str(session.method.get("hash", "")) or repr(sorted(session.method.items()))


def shared_numbers(methods: list[dict[str, float | int | str]]) -> dict[str, float | int | str]:
    """What all of them say alike."""
    return {name: value for name, value in methods[0].items() if all(m.get(name) == value for m in methods)}


def by_allocation(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one allocation below each other, the one used last first; where there are several, each opens with
    what a reader calls it."""
    own: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        own[_allocation_of(row["c"])].append(row)
    made = {name: max(row["c"].benchmark.provenance.created for row in of) for name, of in own.items()}
    found = []
    for name in sorted(own, key=made.__getitem__, reverse=True):
        opening = {"allocation": name[:SHORT], "day": made[name][:10], "count": len(own[name])}
        found += [row | {"opening": None} for row in own[name]]
        found[-len(own[name])]["opening"] = opening if len(own) > 1 else None
    return found


def trial_reasons(record: EffortRecord) -> list[str]:
    """Why each trial has no time. Records of before 2026-12 say of every wrong one that it was so after timing."""
    timed = {block.process for block in record.blocks}
    return [
        trial.outcome.reason.replace("wrong after timing", "wrong before any timing")
        if place not in timed
        else trial.outcome.reason
        for place, trial in enumerate(record.trials)
    ]


class Measurements:
    """The page's contents from one build's records."""

    def __init__(self, writer: PageWriter, page: str) -> None:
        self._writer, self._page, self._snapshot = writer, page, writer.snapshot

    def targets(self) -> list[dict[str, Any]]:
        return [self._target(target) for target in self._snapshot.targets()]

    def efforts(self) -> list[dict[str, Any]]:
        """Search effort against outcome: a chart and a table for every comparison that was run."""
        found = []
        for record_id, record in self._snapshot.efforts.items():
            face = self._writer.face_of(record.key.compiler)
            subject = f"{record.key.workload} × {face.title}"
            self._writer.files.add_record(record_id, record, "search effort record")
            drawn = self._drawn(search_effort(record, subject, face))
            ratios = paired_ratios(record)
            scopes = dict.fromkeys(trial.search.scope for trial in record.trials if trial.search)
            found.append(
                {"id": record_id, "record": record, "face": face, "subject": subject, "figure": drawn}
                | {"ratios": ratios, "scopes": scopes, "reasons": trial_reasons(record)}
                | {"quickest": [quickest(trial.search) for trial in record.trials]}
            )
        return found

    def searches(self) -> Markup:
        """The chosen implementation beside what was measured and not chosen, the widest searches first."""
        searched = sorted(
            (c for c in self._snapshot.configurations if c.capture.capture and c.capture.capture.search),
            key=lambda c: -len(c.capture.capture.search.candidates),  # type: ignore[union-attr]
        )
        named = [(self._named(c), self._writer.face(c), c) for c in searched[:MOST_SEARCHES]]
        return self._drawn(measure_charts.candidates(named))

    def methods(self) -> list[dict[str, Any]]:
        """How the sessions of these times were made: each method once, under it who used it with what is its own."""
        order = {workload: place for place, workload in enumerate(self._snapshot.workloads())}
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for record_id, session in self._standing().items():
            self._writer.files.add_record(record_id, session, "session record")
            found[method_of(session)].append({"id": record_id, "session": session})
        methods = []
        for name, rows in found.items():
            shared = shared_numbers([row["session"].method for row in rows])
            rows.sort(key=lambda row: (row["session"].key.target, order.get(row["session"].key.workload, 0)))
            own = [{k: _said(v) for k, v in row["session"].method.items() if k not in shared} for row in rows]
            methods.append(
                {"name": name, "shared": shared, "rows": [r | {"own": o} for r, o in zip(rows, own, strict=True)]}
            )
        return methods

    def older_sessions(self) -> int:
        """Sessions in the store whose times others have taken the place of."""
        return len(self._snapshot.sessions.keys() - self._standing().keys())

    def _standing(self) -> dict[str, SessionRecord]:
        """The sessions that made the times of the configurations as they stand."""
        used = {c.benchmark.session for c in self._snapshot.configurations if c.benchmark}
        return {record_id: session for record_id, session in self._snapshot.sessions.items() if record_id in used}

    def _target(self, target: str) -> dict[str, Any]:
        faces, order = self._writer.faces, self._snapshot.workloads()
        device, clock = target_title(self._snapshot, target), shown_clock(self._snapshot, target)
        names = ("cells", "kernels", "timings")
        cells, kernels, timings = (of_main_shapes(self._writer.tables[name], self._snapshot, target) for name in names)
        (together, apart), (beside, elsewhere) = of_one_allocation(cells), of_one_allocation(timings)
        drawn = [
            charts.latency_overview(together, target, clock, device, faces, order, apart) if clock else None,
            charts.activities(kernels, target, device, faces, order),
            measure_charts.clocks(beside, target, device, faces, order, elsewhere),
            cold_and_warm(timings, self._writer.tables["processes"], target, device, faces),
        ]
        rows = self._rows(target)
        return {
            "title": device,
            "slug": self._snapshot.names.targets[target],
            "clock": clock,
            "figures": [figure for chart in drawn if (figure := self._drawn(chart))],
            "rows": rows,
            "cold": next((name for name in COLD_CLOCKS if any(name in row["cold"] for row in rows)), ""),
            "drifted": drifted_by_axis([row["c"] for row in rows]),
        }

    def _rows(self, target: str) -> list[dict[str, Any]]:
        """One row a configuration, its clocks side by side; each timing by its place in the benchmark record."""
        rows: list[dict[str, Any]] = []
        for workload in self._snapshot.workloads():
            own = (c for name in self._writer.compilers() for c in self._snapshot.of_cell(workload, name))
            for c in own:
                if c.key.target == target and c.headline and c.benchmark:
                    self._writer.files.add_record(c.benchmark_id, c.benchmark, "benchmark record")
                    place = configuration_page(self._snapshot, c)
                    at, cold = _places(c, "warm"), _places(c, "cold")
                    rows.append({"c": c, "face": self._writer.face(c), "page": place, "at": at, "cold": cold})
        against = judged_together([row["c"] for row in rows])
        return [row | {"against": against.get(row["c"].benchmark_id)} for row in by_allocation(rows)]

    def _named(self, c: Configuration) -> str:
        variant = "" if c.key.variant == "default" else f" {c.key.variant}"
        return f"{c.key.workload} × {self._writer.face(c).title}{variant} on {c.key.target}"

    def _drawn(self, chart: Chart | None) -> Markup:
        return self._writer.figures.figure(chart, root_of_site(self._page)) if chart else Markup("")


def _allocation_of(c: Configuration) -> str:
    return c.benchmark.allocation.id if c.benchmark and c.benchmark.allocation else ""


def _said(value: float | int | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _places(c: Configuration, cache: Cache) -> dict[str, int]:
    """Clock → place of its timing on random data with this state of the cache."""
    return {
        timing.clock: number
        for number, timing in enumerate(c.timings)
        if timing.median_ns is not None and (timing.cache, timing.data) == (cache, "random")
    }
