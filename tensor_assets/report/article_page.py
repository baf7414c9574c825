"""The article's own vocabulary for a hand-written page: what it can ask, and the figures it can put in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from tensor_worker.artifacts import SemanticGraph

from tensor_assets.errors import SiteBroken
from tensor_assets.report.article import Article
from tensor_assets.report.egraphs import STAGE, forms_of, write_egraph, write_own_egraph
from tensor_assets.report.excerpts import Excerpts
from tensor_assets.report.figures import root_of_site
from tensor_assets.report.graphs import GraphView, program_graph, write_graph
from tensor_assets.report.midpoint import midpoint
from tensor_assets.report.reading import Configuration
from tensor_assets.report.slugs import unique_slugs
from tensor_assets.report.stages import op_hues, program_pane, stage_pane

if TYPE_CHECKING:
    from tensor_assets.report.charts import Chart
    from tensor_assets.report.pages import PageWriter

SUBJECT = "weight_view"  # the article's program


class ArticlePage:
    """``aside`` puts HTML around Markdown and returns what stands for it."""

    def __init__(self, writer: PageWriter, page: str, aside: Callable[[str], Markup]) -> None:
        self._writer, self._page, self._aside = writer, page, aside
        self._article = Article(writer.snapshot, writer.files, writer.faces, writer.workloads, writer.article)
        self._explored: list[str] = []
        self._excerpts = Excerpts(writer.snapshot, writer.store, writer.files, writer.highlighter)

    def says(self) -> dict[str, Any]:
        """Names a page may use."""
        return {
            "article": self._article,
            "captured": self._article.captured,
            "shown": self._shown,
            "program": self._program,
            "explorer": self._explorer,
            "excerpt": self._excerpt,
            "kernel": self._kernel,
            "map": self._map,
            "own_egraph": self._own_egraph,
            "egraph": self._egraph,
            "profiles": self._profiles,
            "midpoint": midpoint,
        }

    def _shown(self, template: str, **more: Any) -> Markup:
        """A template of the article, with what it asks for."""
        return self._aside(self._render(template, **more))

    def _render(self, template: str, **more: Any) -> str:
        workload = more.pop("workload", SUBJECT)
        return self._writer.renderer.render(
            f"article/{template}.html",
            self._page,
            article=self._article,
            hues=op_hues(self._writer.snapshot.program(workload, self._article.shape(workload))),
            **more,
        )

    def figure(self, chart: Chart | None) -> Markup:
        """A chart as part of the page; nothing where there is nothing to draw."""
        return self._aside(self._writer.figures.figure(chart, root_of_site(self._page))) if chart else Markup("")

    def _program(self, workload: str = SUBJECT) -> Markup:
        """The program as its manifest says it: lines and graph."""
        fixtures_id, record = self._article.fixtures(workload)
        if record is None:
            return self._shown("absent", what=f"fixtures of {workload}")
        program = record.program
        graph = self._graph(program_graph(program), f"program/{workload}.html", "program", op_hues(program))
        pane = program_pane(program)
        return self._shown("program", workload=workload, pane=pane, graph=graph, fixtures_id=fixtures_id)

    def _explorer(self, configuration: Configuration) -> Markup:
        """The semantic graph beside the text it was read from, each leading to the other."""
        capture, key = configuration.capture.capture, configuration.key
        assert capture is not None
        if capture.graph is None or not capture.graph.nodes:
            return self._shown("absent", what=f"graph of {key.compiler}")
        hues = op_hues(self._writer.snapshot.program(key.workload, key.shape))
        place = self._article.page(configuration)
        pane = stage_pane(configuration, capture.graph.stage, self._writer.store, self._writer.highlighter)
        self._writer.files.add(next(f.text for s, f in configuration.stage_files() if s.name == capture.graph.stage))
        graph = self._graph(capture.graph, place, pane.id, hues)
        face = self._article.face(key.compiler)
        self._explored.append(f"{key.compiler} {key.variant}")
        scope = f"{unique_slugs(self._explored)[-1]}-"
        return self._shown("explorer", c=configuration, graph=graph, pane=pane, face=face, scope=scope, place=place)

    def _graph(self, graph: SemanticGraph, page: str, pane: str, hues: dict[str, int]) -> GraphView:
        return write_graph(graph, page, pane, self._writer.out, hues, self._writer.drawings)

    def _excerpt(self, configuration: Configuration, stage: str, deciding: dict[str, str], around: int = 0) -> Markup:
        cut = self._excerpts.cut(configuration, stage, deciding, around)
        return self._shown("excerpt", excerpt=cut)

    def _egraph(self, configuration: Configuration) -> Markup:
        """The e-graph explorer. Raises SiteBroken where the configuration kept none."""
        place, files = self._article.page(configuration), self._writer.files
        view = write_egraph(configuration, place, self._writer.out, self._writer.store)
        if view is None:
            raise SiteBroken(f"{self._page}: {configuration.key.compiler} kept no e-graph that may be shown")
        files.add(next(file.text for stage, file in configuration.stage_files() if stage.name == STAGE))
        return self._aside(self._writer.renderer.render("egraph.html", self._page, view=view))

    def _own_egraph(self) -> Markup:
        """The explorer of this project's own e-graph, with the rules that made it; says so where there is none."""
        record_id, record = self._article.own_egraph(SUBJECT)
        view = record and write_own_egraph(record, SUBJECT, self._writer.out, self._writer.store)
        if record is None or view is None:
            return self._shown("absent", what=f"our own e-graph of {SUBJECT}")
        source = self._writer.store.read(record.source).decode()
        lines = self._writer.highlighter.lines(source, "egglog")
        return self._shown(
            "own_egraph", view=view, record=record, record_id=record_id, lines=[Markup(x) for x in lines]
        )

    def _map(self) -> Markup:
        """How explicit the projection is, and how many forms of it are kept: placed from graphs, searches, e-graphs."""
        points = [self._point(c) for c in self._article.all_of(SUBJECT)]
        points = [point for point in points if point["nodes"]]
        if own := self._own_point():
            points.append(own)
        rows = [
            {"title": "one form", "points": [p for p in points if not p["forms"] and not p["built"]]},
            {"title": "one form, chosen among others that were built", "points": [p for p in points if p["built"]]},
            {"title": "several forms at once", "points": [p for p in points if p["forms"]]},
        ]
        return self._shown("map", rows=rows, columns=sorted({len(point["nodes"]) for point in points}))

    def _point(self, c: Configuration) -> dict[str, Any]:
        nodes = self._article.nodes_of(c, "p")
        graph = c.capture.capture.graph if c.capture.capture else None
        named = {graph.nodes[n].id for n in nodes} if graph else set()
        forms, egraph = forms_of(c, named, self._writer.store)
        if egraph:
            self._writer.files.add(next(file.text for stage, file in c.stage_files() if stage.name == STAGE))
        return {
            "face": self._article.face(c.key.compiler),
            "record": c.capture_id,
            "nodes": self._article.places(nodes),
            "forms": forms if forms > 1 else 0,
            "egraph": egraph,
            "built": [] if forms > 1 else self._article.built_alternatives(c),
        }

    def _own_point(self) -> dict[str, Any] | None:
        """This project's own e-graph, which is no compiler."""
        record_id, record = self._article.own_egraph(SUBJECT)
        if record is None or record.forms.get("p", 0) < 2:
            return None
        nodes = [f"/stands_for/{name}" for name, value in record.stands_for.items() if value == "p"]
        own = {"face": None, "record": record_id, "nodes": nodes, "egraph": record.egraph.sha256, "built": []}
        return own | {"forms": record.forms["p"], "saturated_by": record.saturated_by}

    def _profiles(self, *configurations: Configuration) -> Markup:
        """Timeline and roofline of each that was profiled; says so where none was."""
        drawn = [(c, figures) for c in configurations if (figures := self._writer.profile(c, self._page))]
        if not drawn:
            return self._shown("absent", what=f"a device timeline and counters on {self._article.target or 'a GPU'}")
        return self._shown("profiles", drawn=drawn)

    def _kernel(self, configuration: Configuration, launch: int) -> Markup:
        """A launch by its native name, which leads to its row on the cell's page."""
        return self._shown("kernel", c=configuration, launch=launch)
