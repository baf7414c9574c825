"""Every page of the site as files that MkDocs builds: hand-written words with numbers drawn from records, and cells."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tensor_assets.claims.reading import load_claims
from tensor_assets.report import charts, profile_charts, quantities
from tensor_assets.report.cell_page import cell_context, configuration_page
from tensor_assets.report.charts import Chart
from tensor_assets.report.claims import ClaimPages
from tensor_assets.report.claims_view import view_parts
from tensor_assets.report.columns import DESCRIPTIONS
from tensor_assets.report.compare import comparisons, write_compared
from tensor_assets.report.evidence_index import EvidenceRow, evidence_rows
from tensor_assets.report.faces import Face, face_of, in_order, load_faces
from tensor_assets.report.figures import Figures, vega_bundle
from tensor_assets.report.graphs import write_graph
from tensor_assets.report.highlight import Highlighter
from tensor_assets.report.history import HistoryPages
from tensor_assets.report.matrix import matrix_views, shown_clock, slug, target_title, workload_page
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import Configuration, PublicStore, Snapshot, read_snapshot
from tensor_assets.report.rendering import Renderer
from tensor_assets.report.stages import op_hues, program_pane
from tensor_assets.report.tables import Tables, tables_of, write_tables
from tensor_assets.settings import ROOT

SITE = ROOT / "site"


def write_pages(
    store: PublicStore,
    out_dir: Path,
    *,
    adapters: Path = ROOT / "adapters",
    cache: Path | None = None,
    source: Path = SITE,
    site_url: str = "",
    claims: Sequence[Path] = (ROOT / "fixtures" / "claims",),
) -> Path:
    """Write the pages, figures, tables and public evidence of ``store`` into ``out_dir``, which is replaced.

    ``store`` is a ``PublicView``: what it holds back, no page shows. ``adapters`` says how compilers are called and
    coloured; ``cache`` keeps highlighted text and drawn charts between builds; ``site_url`` is for the feeds;
    ``claims`` are folders of claim files. Raises EvidenceMissing if a record names evidence that is not there,
    ClaimError, and SiteBroken if a page names a claim that does not exist.
    """
    shutil.rmtree(out_dir, ignore_errors=True)
    out_dir.mkdir(parents=True)
    writer = PageWriter(store, out_dir, load_faces(adapters), cache, source)
    writer.show_claims(claims)
    writer.write()
    writer.history.write_feeds(out_dir, site_url)
    return out_dir


class PageWriter:
    """One run of ``write_pages``."""

    def __init__(
        self, store: PublicStore, out_dir: Path, faces: dict[str, Face], cache: Path | None, source: Path
    ) -> None:
        self.store, self.out, self.faces, self.cache, self.source = store, out_dir, faces, cache, source
        self.snapshot: Snapshot = read_snapshot(store)
        self.tables: Tables = tables_of(self.snapshot)
        self.files = PublicFiles(store, out_dir)
        self.figures = Figures(out_dir, cache / "charts" if cache else None)
        self.highlighter = Highlighter(cache / "highlight" if cache else None)
        self.renderer = Renderer(source, self.files)
        self.latencies: dict[tuple[str, str], Chart | None] = {}
        self.history = HistoryPages(store, faces, self.files, self.figures, self.renderer)

    def show_claims(self, folders: Sequence[Path]) -> None:
        """Let pages say ``{{ claim("id") }}``."""
        self.claims = ClaimPages(self.store, load_claims(folders), self.snapshot, self.files)
        self.renderer.environment.globals["claim"] = self.claims.function()

    def write(self) -> None:
        self._assets()
        written = write_tables(self.tables, self.out / "data")
        for configuration in self.snapshot.configurations:
            self._cell(configuration)
        for workload in self.snapshot.workloads():
            self._workload(workload)
        self.history.write(self._page)
        write_compared(self.snapshot, self.store, self.faces, self.out)
        rows = evidence_rows(self.snapshot, self.files)
        self._evidence(rows)
        self._hand_written(written, rows)

    def _assets(self) -> None:
        shutil.copytree(self.source / "assets", self.out / "assets")
        (self.out / "assets" / "vega.js").write_text(vega_bundle(self.cache), encoding="utf-8")
        shutil.copytree(self.source / "licences", self.out / "licences")

    def _page(self, path: str, title: str, fragment: str, layout: str = "wide", description: str = "") -> None:
        """A page that is one generated fragment; ``path`` ends in .html as the built page does."""
        stem = path.removesuffix(".html")
        self._write(f".fragments/{path}", fragment)
        about = f"title: {json.dumps(title)}\nlayout: {layout}\ndescription: {json.dumps(description or title)}"
        self._write(f"{stem}.md", f"---\n{about}\n---\n\n<!-- fragment: {path} -->\n")

    def _write(self, path: str, text: str) -> None:
        target = self.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def _cell(self, configuration: Configuration) -> None:
        page = configuration_page(self.snapshot, configuration)
        context = cell_context(self.snapshot, configuration, self.faces, self.store, self.files, self.highlighter)
        chart = self._latency(configuration.key.workload, configuration.key.target, page)
        found = configuration.capture.capture.graph if configuration.capture.capture else None
        graph = write_graph(found, page, self.out, context["hues"]) if found else None
        shown = {
            "chart": chart if configuration.headline else None,
            "graph": graph,
            "profile_charts": self._profile(configuration, page),
            "others": comparisons(self.snapshot, configuration, self.faces),
            "history_page": self.history.page_of(configuration.key.workload, configuration.key.compiler),
        }
        html = self.renderer.render("cell.html", page, **context, **shown)
        key = configuration.key
        title = f"{key.workload} × {context['face'].title}"
        self._page(page, title, html, description=f"{title}, {key.variant} on {key.target}: {configuration.status}")

    def _latency(self, workload: str, target: str, page: str) -> Markup | None:
        """The same chart on the page of the workload and of its cells, made once."""
        if (workload, target) not in self.latencies:
            timings = self.tables["timings"]
            own = timings[timings["shape"] == self.snapshot.main_shape(workload, target)]
            clock = shown_clock(self.snapshot, target)
            self.latencies[workload, target] = charts.latency(own, workload, target, clock, self.faces)
        chart = self.latencies[workload, target]
        return self.figures.figure(chart, _root(page)) if chart else None

    def _profile(self, configuration: Configuration, page: str) -> list[Markup]:
        profile, key = configuration.profile, configuration.key
        if profile is None:
            return []
        subject = f"{key.workload} × {self._face(configuration).title}"
        subject += f" {key.variant}" if key.variant != "default" else ""
        device = profile.allocation.device if profile.allocation else key.target
        drawn = (draw(profile, subject, device) for draw in (profile_charts.timeline, profile_charts.roofline))
        return [self.figures.figure(chart, _root(page)) for chart in drawn if chart]

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
        own = [c for name in self._compilers() for c in self.snapshot.of_cell(workload, name)]
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
            rows=[(self._face(c), configuration_page(self.snapshot, c), c) for c in own],
            figures=self._workload_figures(workload, page),
        )
        self._page(page, workload, html, description=self.snapshot.question(workload))

    def _workload_figures(self, workload: str, page: str) -> list[dict[str, Any]]:
        figures = []
        for target in self.snapshot.targets():
            device = target_title(self.snapshot, target)
            chart = charts.activities(self.tables["kernels"], target, device, self.faces, [workload], workload)
            found = [self._latency(workload, target, page), self.figures.figure(chart, _root(page)) if chart else None]
            if any(found):
                figures.append({"title": device, "charts": [figure for figure in found if figure]})
        return figures

    def _face(self, configuration: Configuration) -> Face:
        return face_of(configuration.key.compiler, self.faces)

    def _compilers(self) -> list[str]:
        return in_order({c.key.compiler for c in self.snapshot.configurations})

    def _evidence(self, rows: list[EvidenceRow]) -> None:
        for workload in self.snapshot.workloads():
            page = f"evidence/{slug(workload)}.html"
            own = [row for row in rows if row.workload == workload]
            html = self.renderer.render("evidence_of.html", page, workload=workload, rows=own)
            self._page(page, f"Evidence of {workload}", html)
        index = [[row.sha256, row.what, row.where, row.bytes, row.href, row.page] for row in rows]
        text = json.dumps(index, ensure_ascii=True).replace("</", "<\\/")
        self._write("evidence/index.js", f"tensorAssetsEvidence({text});\n")

    def _hand_written(self, written: list[Path], rows: list[EvidenceRow]) -> None:
        """Pages that people wrote. What they say in numbers is asked of the records as they are filled in."""
        for path in sorted((self.source / "pages").glob("*.md")):
            page = f"{path.stem}.html"
            text = self.renderer.render(path.name, page, **self._facts(page, written, rows))
            self._write(path.name, text)

    def _facts(self, page: str, written: list[Path], rows: list[EvidenceRow]) -> dict[str, Any]:
        snapshot = self.snapshot
        return {
            "snapshot": snapshot,
            "compilers": self._compilers(),
            "workloads": snapshot.workloads(),
            "outcomes": Counter(c.status for c in snapshot.configurations),
            "noises": self._noises(),
            "alarms": self._alarms(),
            "example": self._example(),
            "fragment": lambda template, **more: self._fragment(page, template, written, rows, **more),
            "claim_table": self.claims.table,
            "claim_view": view_parts,
            "licences": sorted(path.name for path in (self.source / "licences").iterdir()),
        }

    def _fragment(self, page: str, template: str, written: list[Path], rows: list[EvidenceRow], **more: Any) -> Markup:
        """A template's HTML, put beside the page; returns the comment that stands for it in Markdown."""
        name = f"{page}/{template}"
        html = self.renderer.render(
            template,
            page,
            matrices=matrix_views(self.snapshot, self.faces),
            figures=self._few(page) if template == "matrix.html" else [],
            tables=self.tables,
            descriptions=DESCRIPTIONS,
            data_files=[(path.name, path.stat().st_size) for path in written],
            targets=self._targets(page) if template == "measurements.html" else [],
            evidence_groups=Counter(row.workload for row in rows),
            slug=slug,
            **(self.history.context() if template == "history_alerts.html" else {}),
            **more,
        )
        self._write(f".fragments/{name}", html)
        return Markup(f"<!-- fragment: {name} -->")

    def _few(self, page: str) -> list[dict[str, Any]]:
        """A matrix of few rows leaves room for their charts."""
        workloads = self.snapshot.workloads()
        return (
            [figures for name in workloads for figures in self._workload_figures(name, page)]
            if len(workloads) < 3
            else []
        )

    def _targets(self, page: str) -> list[dict[str, Any]]:
        """What the measurements page shows of each target that was timed or planned for."""
        order = self.snapshot.workloads()
        found = []
        for target in self.snapshot.targets():
            device, clock = target_title(self.snapshot, target), shown_clock(self.snapshot, target)
            drawn = [
                charts.latency_overview(self.tables["cells"], target, clock, device, self.faces, order)
                if clock
                else None,
                charts.activities(self.tables["kernels"], target, device, self.faces, order),
            ]
            timed = self._timed(target, clock)
            figures = [self.figures.figure(chart, _root(page)) for chart in drawn if chart]
            found.append({"title": device, "slug": slug(target), "clock": clock, "figures": figures, "rows": timed})
        return found

    def _timed(self, target: str, clock: str) -> list[dict[str, Any]]:
        rows = []
        for workload in self.snapshot.workloads():
            for c in (c for name in self._compilers() for c in self.snapshot.of_cell(workload, name)):
                if c.key.target == target:
                    for timing in c.timings:
                        if timing.median_ns is not None:
                            self.files.add_record(c.benchmark_id, c.benchmark, "benchmark record")  # type: ignore[arg-type]
                            place = configuration_page(self.snapshot, c)
                            rows.append({"c": c, "face": self._face(c), "page": place, "timing": timing})
        return rows

    def _noises(self) -> dict[str, tuple[str, str]]:
        """Target → lowest and highest A/A noise of its configurations, by the clock its matrix shows."""
        found = {}
        for target in self.snapshot.targets():
            clock = shown_clock(self.snapshot, target)
            own = [c for c in self.snapshot.configurations if c.key.target == target]
            values = [t.noise for c in own for t in c.timings if t.clock == clock and t.noise is not None]
            if values:
                title = target_title(self.snapshot, target)
                found[title] = (quantities.percent(min(values)), quantities.percent(max(values)))
        return found

    def _alarms(self) -> tuple[int, int]:
        """Same-implementation pairs tested, and how many of them were called different."""
        seen: dict[tuple[str, str, str, str], tuple[int, int]] = {}
        for c in self.snapshot.configurations:
            for t in c.timings:
                if c.benchmark:
                    seen[c.benchmark.session, t.clock, t.cache, t.data] = (t.aa_pairs, t.aa_alarms)
        return sum(pairs for pairs, _ in seen.values()), sum(alarms for _, alarms in seen.values())

    def _example(self) -> Configuration | None:
        """A rejected configuration to point at, the one whose boundary was recognized if there is one."""
        rejected = [c for c in self.snapshot.configurations if c.status == "rejected"]
        return max(rejected, key=lambda c: bool(c.capture.admission and c.capture.admission.boundary), default=None)


def _root(page: str) -> str:
    return "/".join([".."] * page.count("/")) or "."
