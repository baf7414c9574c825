"""Every page of the site as files that MkDocs builds: cells, workloads, evidence, and what people wrote."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup

from tensor_assets.claims.reading import load_claims
from tensor_assets.report import charts, profile_charts
from tensor_assets.report.cell_page import cell_context
from tensor_assets.report.changes import ChangesPages
from tensor_assets.report.charts import Chart
from tensor_assets.report.citation import write_citation
from tensor_assets.report.claims import ClaimPages
from tensor_assets.report.compare import comparisons, write_compared
from tensor_assets.report.drawings import Drawings
from tensor_assets.report.egraphs import write_egraph
from tensor_assets.report.evidence_index import EvidenceRow, evidence_rows
from tensor_assets.report.faces import Face, face_of, in_order, load_faces
from tensor_assets.report.figures import Figures, root_of_site, vega_bundle
from tensor_assets.report.graphs import write_graph
from tensor_assets.report.highlight import Highlighter
from tensor_assets.report.history import HistoryPages
from tensor_assets.report.matrix import (
    configuration_page,
    shown_clock,
    target_title,
    workload_page,
)
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import Configuration, PublicStore, Snapshot, read_snapshot
from tensor_assets.report.rendering import Renderer
from tensor_assets.report.scripts import Scripts
from tensor_assets.report.stages import op_hues, program_pane, stage_id
from tensor_assets.report.tables import Tables, of_main_shapes, tables_of, timed_together, write_tables
from tensor_assets.report.written import WrittenPages
from tensor_assets.settings import ROOT

SITE = ROOT / "site"
ARTICLE = "NVIDIA H200"  # the device of the recorded campaign: the article speaks of it, whatever a store holds besides


def write_pages(
    store: PublicStore,
    out_dir: Path,
    *,
    adapters: Path = ROOT / "adapters",
    cache: Path | None = None,
    source: Path = SITE,
    site_url: str = "",
    article: str = ARTICLE,
    claims: Sequence[Path] = (ROOT / "fixtures" / "claims",),
) -> Path:
    """Write the pages, figures, tables and public evidence of ``store`` into ``out_dir``, which is replaced.

    ``store`` is a ``PublicView``: what it holds back, no page shows. ``adapters`` says how compilers are called and
    coloured; ``cache`` keeps highlighted text, drawn charts and which files hold nothing private between builds;
    ``site_url`` is for the feeds; ``article`` is the device that the article's sentences are about; ``claims`` are
    folders of claim files. Raises EvidenceMissing if a record names evidence that is not there, ClaimError, and
    SiteBroken if a page speaks of something that a captured configuration lacks, or of a claim that does not exist.
    """
    shutil.rmtree(out_dir, ignore_errors=True)
    out_dir.mkdir(parents=True)
    if cache:
        store.note_clean(cache / "clean")
    writer = PageWriter(store, out_dir, load_faces(adapters), cache, source, article)
    writer.show_claims(claims)
    writer.scripts = Scripts(store, adapters, out_dir, cache)
    writer.write()
    changes = "changes.html" if (out_dir / "changes.md").is_file() else ""
    made = max((c.capture.provenance.created for c in writer.snapshot.configurations), default="")
    writer.history.write_feeds(out_dir, site_url, changes, made)
    return out_dir


class PageWriter:
    """One run of ``write_pages``."""

    def __init__(
        self,
        store: PublicStore,
        out_dir: Path,
        faces: dict[str, Face],
        cache: Path | None,
        source: Path = SITE,
        article: str = ARTICLE,
    ) -> None:
        self.store, self.out, self.faces, self.cache, self.source = store, out_dir, faces, cache, source
        self.article = article
        self.snapshot: Snapshot = read_snapshot(store)
        self.tables: Tables = tables_of(self.snapshot)
        self.files = PublicFiles(store, out_dir)
        self.figures = Figures(out_dir, cache / "charts" if cache else None)
        self.highlighter = Highlighter(cache / "highlight" if cache else None)
        self.drawings = Drawings(SITE / "assets", cache / "drawings" if cache else None)
        self.renderer = Renderer(source, self.files)
        self.latencies: dict[tuple[str, str], Chart | None] = {}
        self.workloads = {path.stem for path in (ROOT / "fixtures" / "workloads").glob("*.json")}
        self.history = HistoryPages(store, faces, self.files, self.figures, self.renderer)
        self.scripts: Scripts | None = None
        self.changes = ChangesPages(store, faces, self.files, self.renderer)

    def show_claims(self, folders: Sequence[Path]) -> None:
        """Let pages say ``{{ claim("id") }}``."""
        known = load_claims(folders)
        self.claims = ClaimPages(self.store, known, self.snapshot, self.files)
        self.changes.show_claims(known.values())
        self.renderer.environment.globals["claim"] = self.claims.function()

    def write(self) -> None:
        self._assets()
        written = write_tables(self.tables, self.out / "data")
        write_citation(self.snapshot, written, self.out / "data")
        for configuration in self.snapshot.configurations:
            self._cell(configuration)
        for workload in self.snapshot.workloads():
            self._workload(workload)
        self.history.write(self.add_page, {(c.key.workload, c.key.compiler) for c in self.snapshot.configurations})
        self.changes.write(self.add_page)
        write_compared(self.snapshot, self.store, self.faces, self.out)
        rows = [*evidence_rows(self.snapshot, self.files), *self.claims.evidence_rows()]
        self._evidence(rows)
        WrittenPages(self, written, rows).write()

    def _assets(self) -> None:
        shutil.copytree(self.source / "assets", self.out / "assets")
        (self.out / "assets" / "vega.js").write_text(vega_bundle(self.cache), encoding="utf-8")
        shutil.copytree(self.source / "licences", self.out / "licences")

    def add_page(self, path: str, title: str, fragment: str, layout: str = "wide", description: str = "") -> None:
        """A page that is one generated fragment; ``path`` ends in .html as the built page does."""
        stem = path.removesuffix(".html")
        self.add_file(f".fragments/{path}", fragment)
        about = {"title": title, "layout": layout, "description": description or title}
        written = yaml.safe_dump(about, sort_keys=False, allow_unicode=True, width=math.inf)
        self.add_file(f"{stem}.md", f"---\n{written}---\n\n<!-- fragment: {path} -->\n")

    def add_file(self, path: str, text: str) -> None:
        target = self.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def _cell(self, configuration: Configuration) -> None:
        page = configuration_page(self.snapshot, configuration)
        context = cell_context(self.snapshot, configuration, self.faces, self.store, self.files, self.highlighter)
        chart = self.latency(configuration.key.workload, configuration.key.target, page)
        found = configuration.capture.capture.graph if configuration.capture.capture else None
        graph = None
        if found and found.nodes:
            pane = stage_id(configuration, found.stage)
            graph = write_graph(found, page, pane, self.out, context["hues"], self.drawings)
        shown = {
            "chart": chart if configuration.headline else None,
            "graph": graph,
            "egraph": write_egraph(configuration, page, self.out, self.store),
            "profile_charts": self.profile(configuration, page),
            "others": comparisons(self.snapshot, configuration, self.faces),
            "script": self.scripts.of(configuration, self.snapshot) if self.scripts else None,
            "history_page": self.history.page_of(configuration.key.workload, configuration.key.compiler),
        }
        html = self.renderer.render("cell.html", page, **context, **shown)
        key = configuration.key
        title = f"{key.workload} × {context['face'].title}"
        self.add_page(page, title, html, description=f"{title}, {key.variant} on {key.target}: {configuration.status}")

    def latency(self, workload: str, target: str, page: str) -> Markup | None:
        """The same chart on the page of the workload and of its cells, made once."""
        if (workload, target) not in self.latencies:
            shown, left_out = timed_together(self.tables["timings"], self.snapshot, workload, target)
            clock = shown_clock(self.snapshot, target)
            self.latencies[workload, target] = charts.latency(shown, workload, target, clock, self.faces, left_out)
        chart = self.latencies[workload, target]
        return self.figures.figure(chart, root_of_site(page)) if chart else None

    def profile(self, configuration: Configuration, page: str) -> list[Markup]:
        profile, key = configuration.profile, configuration.key
        if profile is None:
            return []
        subject = f"{key.workload} × {self.face(configuration).title}"
        subject += f" {key.variant}" if key.variant != "default" else ""
        device = profile.allocation.device if profile.allocation else key.target
        untraced = configuration.untraced_ns if configuration.stretched else None
        timeline = profile_charts.timeline(profile, subject, device, untraced)
        drawn = (timeline, profile_charts.roofline(profile, subject, device))
        return [self.figures.figure(chart, root_of_site(page)) for chart in drawn if chart]

    def _workload(self, workload: str) -> None:
        page = workload_page(workload)
        shape = self.snapshot.main_shape(workload)
        program = self.snapshot.program(workload, shape)
        record_id, record = self.snapshot.fixtures.get((workload, shape), ("", None))
        if record:
            self.files.add_record(record_id, record, "fixtures record")
            for fixture in record.fixtures:
                self.files.add(fixture.arrays)
                self.files.add(fixture.reference)
        own = [c for name in self.compilers() for c in self.snapshot.of_cell(workload, name)]
        html = self.renderer.render(
            "workload.html",
            page,
            workload=workload,
            question=self.snapshot.question(workload),
            shape_name=shape,
            program=program,
            pane=program_pane(program) if program else None,
            hues=op_hues(program),
            fixtures=record,
            fixtures_id=record_id,
            rows=[(self.face(c), configuration_page(self.snapshot, c), c) for c in own],
            figures=self.workload_figures(workload, page),
        )
        self.add_page(page, workload, html, description=self.snapshot.question(workload))

    def workload_figures(self, workload: str, page: str) -> list[dict[str, Any]]:
        figures = []
        for target in self.snapshot.targets():
            device = target_title(self.snapshot, target)
            kernels = of_main_shapes(self.tables["kernels"], self.snapshot, target)
            chart = charts.activities(kernels, target, device, self.faces, [workload], workload)
            found = [
                self.latency(workload, target, page),
                self.figures.figure(chart, root_of_site(page)) if chart else None,
            ]
            if any(found):
                figures.append({"title": device, "charts": [figure for figure in found if figure]})
        return figures

    def face(self, configuration: Configuration) -> Face:
        return face_of(configuration.key.compiler, self.faces)

    def face_of(self, compiler: str) -> Face:
        return face_of(compiler, self.faces)

    def compilers(self) -> list[str]:
        return in_order({c.key.compiler for c in self.snapshot.configurations}, self.faces)

    def _evidence(self, rows: list[EvidenceRow]) -> None:
        for workload in self.snapshot.workloads():
            page = f"evidence/{self.snapshot.names.workloads[workload]}.html"
            own = [row for row in rows if row.workload == workload]
            html = self.renderer.render("evidence_of.html", page, workload=workload, rows=own)
            self.add_page(page, f"Evidence of {workload}", html)
        index = [[row.sha256, row.what, row.where, row.bytes, row.href, row.page] for row in rows]
        text = json.dumps(index, ensure_ascii=True).replace("</", "<\\/")
        self.add_file("evidence/index.js", f"tensorAssetsEvidence({text});\n")
