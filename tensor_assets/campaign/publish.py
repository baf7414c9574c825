"""Steps 6–9: tables, charts, pages, site; all of them drawn from the public view of the store."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

from tensor_assets.campaign.alerting import file_new
from tensor_assets.campaign.stored import Stored
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.published import seal_site
from tensor_assets.evidence.verification import root_of
from tensor_assets.records import BenchmarkRecord, CaptureRecord
from tensor_assets.report import charts as drawn
from tensor_assets.report.faces import load_faces
from tensor_assets.report.matrix import shown_clock
from tensor_assets.report.pages import write_pages
from tensor_assets.report.reading import Configuration, Snapshot, read_snapshot
from tensor_assets.report.site import build_site
from tensor_assets.report.tables import tables_of, timed_together, write_tables


def results(space: Workspace) -> dict[str, int]:
    """Write every table as Parquet, CSV and JSON; returns rows by table."""
    tables = tables_of(read_snapshot(PublicView(space.store)))
    write_tables(tables, space.settings.generated / "tables")
    return {name: len(table) for name, table in tables.items()}


def charts(space: Workspace) -> list[Path]:
    """Write each workload's latency chart as SVG and as Vega-Lite; returns the files."""
    snapshot = read_snapshot(PublicView(space.store))
    folder = space.settings.generated / "charts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    faces, timings = load_faces(space.settings.adapters), tables_of(snapshot)["timings"]
    written = []
    for workload in snapshot.workloads():
        for target in snapshot.targets():
            shown, left_out = timed_together(timings, snapshot, workload, target)
            chart = drawn.latency(shown, workload, target, shown_clock(snapshot, target), faces, left_out)
            written += _written(chart, folder) if chart else []
    return written


def pages(space: Workspace) -> list[Path]:
    """Write the Markdown pages with their figures, tables and public evidence; returns the files.

    What changed since the last time is filed as alerts first, so that pages and feeds have it whoever is told.
    """
    file_new(space)
    folder = write_pages(
        PublicView(space.store),
        space.settings.generated / "pages",
        adapters=space.settings.adapters,
        cache=space.settings.cache / "report",
        site_url=space.settings.site_url,
        claims=space.settings.claims,
    )
    return sorted(folder.rglob("*.md"))


def site(space: Workspace) -> list[Path]:
    """Build the site in place of the old one, sealed so that any later edit shows; returns its pages."""
    index = build_site(space.settings.generated / "pages", space.settings.site)
    seal_site(index.parent, root_of(space.store.entries()))
    return sorted(index.parent.rglob("*.html"))


def latency_image(
    space: Workspace, captures: list[Stored[CaptureRecord]], benchmarks: list[Stored[BenchmarkRecord]]
) -> str:
    """The cell's latency chart as Markdown that carries its own picture; empty where nothing was timed."""
    by_variant = {stored.record.key.variant: stored for stored in benchmarks}
    configurations = tuple(
        Configuration(capture_id=capture.id, capture=capture.record, benchmark_id=timed.id, benchmark=timed.record)
        for capture in captures
        if (timed := by_variant.get(capture.record.key.variant))
    )
    snapshot = Snapshot(configurations=configurations, fixtures={}, sessions={})
    key = captures[0].record.key
    timings = tables_of(snapshot)["timings"]
    clock = shown_clock(snapshot, key.target)
    chart = (
        drawn.latency(timings, key.workload, key.target, clock, load_faces(space.settings.adapters)) if clock else None
    )
    if chart is None:
        return ""
    picture = base64.b64encode(drawn.svg(chart).encode()).decode()
    return f"![{chart.alternative}](data:image/svg+xml;base64,{picture})"


def _written(chart: drawn.Chart, folder: Path) -> list[Path]:
    picture, spec = folder / f"{chart.name}.svg", folder / f"{chart.name}.json"
    picture.write_text(drawn.svg(chart), encoding="utf-8")
    spec.write_text(json.dumps(chart.spec, indent=1), encoding="utf-8")
    return [picture, spec]
