"""Templates filled in for one page at a time. Everything a template prints is escaped unless it is Markup.

A Markdown page prints what records say in words through the filter ``plain``, or as a fragment beside the page.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tensor_assets.records import Status
from tensor_assets.report import quantities
from tensor_assets.report.faces import MEANINGS, SHAPES
from tensor_assets.report.listing import listing
from tensor_assets.report.plain import plain
from tensor_assets.report.public import Found, PublicFiles
from tensor_assets.report.quoting import Quotes
from tensor_assets.report.tables import drifted_at
from tensor_assets.sessions.series import DRIFT_LIMIT
from tensor_assets.sessions.statistics import EQUIVALENCE_MARGIN


class Renderer:
    """Renders the templates of the ``site`` folder; an undefined name ends the build."""

    def __init__(self, site: Path, files: PublicFiles) -> None:
        loader = jinja2.FileSystemLoader([site / "templates", site / "pages"])
        self.environment = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.environment.globals.update(
            shape=_shape,
            meanings=MEANINGS,
            margin=quantities.percent(EQUIVALENCE_MARGIN),
            drift_limit=quantities.percent(DRIFT_LIMIT),
            duration=quantities.duration,
            duration_in=quantities.duration_in,
            size=quantities.size,
            percent=quantities.percent,
            significant=quantities.significant,
            count=quantities.count,
            extents=quantities.extents,
            listing=listing,
            drifted_at=drifted_at,
        )
        self.environment.filters["plain"] = plain
        self.files = files

    def render(self, template: str, page: str, **context: Any) -> str:
        """``page`` is the path of the page it becomes part of: links are relative to it."""
        linker, quotes = Linker(page, self.files), Quotes(self.files, page)
        said = {name: getattr(quotes, name) for name in ("number", "words", "extent", "counted")}
        return self.environment.get_template(template).render(
            to=linker.to, evidence=linker.evidence, **(said | context)
        )


class Linker:
    """Addresses as seen from ``page``, so that the site works from a folder, a sub-path and a disk."""

    def __init__(self, page: str, files: PublicFiles) -> None:
        self.folder = posixpath.dirname(page)
        self.files = files

    def to(self, path: str) -> str:
        return posixpath.relpath(path, self.folder or ".")

    def evidence(self, sha256: str) -> Found:
        """Where evidence lies, as seen from here. KeyError if no page has put it on the site."""
        found = self.files[sha256]
        href = self.to(found.href) if found.href else ""
        return Found(found.name, href, found.why, found.bytes, found.media_type)


def _shape(status: Status) -> Markup:
    return Markup(SHAPES[status])
