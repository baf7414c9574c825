"""Pages that people wrote. What they say in numbers is asked of the records as they are filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tensor_assets.report import quantities
from tensor_assets.report.article_page import ArticlePage
from tensor_assets.report.claims_view import view_parts
from tensor_assets.report.columns import DESCRIPTIONS
from tensor_assets.report.evidence_index import EvidenceRow
from tensor_assets.report.matrix import matrix_views, target_title
from tensor_assets.report.measure_charts import SHOWN_CLOCKS
from tensor_assets.report.measurements import Measurements
from tensor_assets.report.quoting import Quotes
from tensor_assets.report.reading import Configuration
from tensor_assets.sessions.statistics import ALPHA

if TYPE_CHECKING:
    from tensor_assets.report.pages import PageWriter

QUOTES = ("number", "words", "extent", "counted")


class WrittenPages:
    """Fills in ``pages/*.md`` of the site's source, for one build."""

    def __init__(self, writer: PageWriter, written: list[Path], rows: list[EvidenceRow]) -> None:
        self.writer, self.written, self.rows = writer, written, rows
        self.snapshot = writer.snapshot
        self._fragments = 0

    def write(self) -> None:
        for path in sorted((self.writer.source / "pages").glob("*.md")):
            self.fill_in(path.name)

    def fill_in(self, name: str) -> None:
        """One page. Raises SiteBroken where it speaks of something that is not in the records."""
        page = f"{name.removesuffix('.md')}.html"
        self.writer.add_file(name, self.writer.renderer.render(name, page, **self._facts(page)))

    def _facts(self, page: str) -> dict[str, Any]:
        """What a page may say. Whatever is drawn goes around Markdown, which would bend native text."""
        quotes, aside = Quotes(self.writer.files, page), partial(self._aside, page)
        quoted = {name: _put(aside, getattr(quotes, name)) for name in QUOTES}
        return {
            "snapshot": self.snapshot,
            "compilers": self.writer.compilers(),
            "workloads": self.snapshot.workloads(),
            "outcomes": Counter(c.status for c in self.snapshot.configurations),
            "noises": self._noises(),
            "alarms": self._alarms(),
            "alarm_level": quantities.percent(ALPHA),
            "example": self._example(),
            "fragment": partial(self._fragment, page),
            "claim_table": self.writer.claims.table,
            "claim_view": view_parts,
            "licences": sorted(path.name for path in (self.writer.source / "licences").iterdir()),
            **ArticlePage(self.writer, page, aside).says(),
            **quoted,
        }

    def _aside(self, page: str, html: str) -> Markup:
        """Puts HTML beside the page; returns the comment that stands for it in Markdown."""
        self._fragments += 1
        name = f"written/{page.removesuffix('.html')}/{self._fragments}.html"
        self.writer.add_file(f".fragments/{name}", html)
        return Markup(f"<!-- fragment: {name} -->")

    def _fragment(self, page: str, template: str, **more: Any) -> Markup:
        html = self.writer.renderer.render(
            template,
            page,
            matrices=matrix_views(self.snapshot, self.writer.faces),
            figures=self._few(page) if template == "matrix.html" else [],
            tables=self.writer.tables,
            descriptions=DESCRIPTIONS,
            data_files=[(path.name, path.stat().st_size) for path in self.written],
            evidence_groups=Counter(row.workload for row in self.rows),
            evidence_names=self.snapshot.names.workloads,
            **(self.writer.changes.context() if template in ("changes.html", "latest_changes.html") else {}),
            **(self.writer.history.context() if template == "history_alerts.html" else {}),
            **(self._measurements(page) if template == "measurements.html" else {}),
            **more,
        )
        return self._aside(page, html)

    def _few(self, page: str) -> list[dict[str, Any]]:
        """A matrix of few rows leaves room for their charts."""
        workloads = self.snapshot.workloads()
        if len(workloads) >= 3:
            return []
        return [figures for name in workloads for figures in self.writer.workload_figures(name, page)]

    def _measurements(self, page: str) -> dict[str, Any]:
        shown = Measurements(self.writer, page)
        return {
            "targets": shown.targets(),
            "efforts": shown.efforts(),
            "searches": shown.searches(),
            "methods": shown.methods(),
            "older": shown.older_sessions(),
        }

    def _noises(self) -> dict[str, list[str]]:
        """Target → what each clock's A/A noise was there, the caller's clock first."""
        found: dict[str, list[str]] = {}
        for target in self.snapshot.targets():
            timings = [t for c in self.snapshot.configurations if c.key.target == target for t in c.timings]
            for clock in SHOWN_CLOCKS:
                if own := [t.noise for t in timings if t.clock == clock and t.noise is not None]:
                    title = target_title(self.snapshot, target)
                    found.setdefault(title, []).append(f"{_from_to(min(own), max(own))} by the {clock} clock")
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


def _from_to(low: float, high: float) -> str:
    """A range of shares; once where both ends read alike."""
    least, most = quantities.percent(low), quantities.percent(high)
    return least if least == most else f"{least} to {most}"


def _put(aside: Callable[[str], Markup], quote: Callable[..., Markup]) -> Callable[..., Markup]:
    return lambda *where, **how: aside(quote(*where, **how))
