"""Charts as parts of a page: a picture that is there at once, and a specification that makes it answer the pointer.

Each comes twice, for a wide and for a narrow screen; the style sheet shows one of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert
from markupsafe import Markup

from tensor_assets.report import charts
from tensor_assets.report.charts import Chart
from tensor_assets.report.narrow import narrowed
from tensor_assets.report.slugs import slug

# Colours of a drawing become the page's own, so that one picture serves light and dark.
INKS = {
    charts.INK: "ink",
    charts.QUIET: "ink-3",
    charts.RULE: "rule",
    charts.BAND: "band",
    charts.PAPER: "paper",
    **{colour: f"kind-{kind}" for kind, colour in charts.KIND_COLOURS.items()},
}


_ROLES = re.compile(r' (role="graphics-\w+"|aria-roledescription="[^"]*")')


class Figures:
    """Draws each chart once (``cache`` keeps drawings between builds) and writes its files to ``folder/charts``."""

    def __init__(self, folder: Path, cache: Path | None) -> None:
        self.folder = folder / "charts"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.cache = cache
        self.drawn: dict[str, tuple[Markup, Markup]] = {}  # wide, narrow
        self._named: dict[str, str] = {}  # file name → hash of the specification it holds
        if cache:
            cache.mkdir(parents=True, exist_ok=True)

    def figure(self, chart: Chart, base: str) -> Markup:
        """The chart as HTML. ``base`` is the way from the page to the site's root, ``.`` at the root."""
        spec = json.dumps(chart.spec)
        key = hashlib.sha256(spec.encode()).hexdigest()
        name = self._own_name(slug(chart.name), key)
        if name not in self.drawn:
            self.drawn[name] = self._files(name, chart, spec, key)
        return Markup(
            '<figure class="chart" data-search-exclude data-chart="{name}" data-base="{base}">'
            '<p class="heading" aria-hidden="true"><b>{title}</b><small>{subtitle}</small></p>'
            '<div class="draw draw--wide" role="img" aria-label="{label}">{wide}</div>'
            '<div class="draw draw--narrow" role="img" aria-label="{label}">{narrow}</div>'
            '<figcaption><a href="{base}/charts/{name}.svg">SVG</a> · '
            '<a href="{base}/charts/{name}.json">Vega-Lite</a></figcaption></figure>'
        ).format(
            name=name,
            base=base,
            title=chart.title,
            subtitle=chart.subtitle,
            label=f"{chart.title}. {chart.alternative}",
            wide=self.drawn[name][0],
            narrow=self.drawn[name][1],
        )

    def _own_name(self, name: str, key: str) -> str:
        """Two charts of one name, as of two shapes of a cell, are two files: the second carries its hash."""
        return name if self._named.setdefault(name, key) == key else f"{name}-{key[:12]}"

    def _files(self, name: str, chart: Chart, spec: str, key: str) -> tuple[Markup, Markup]:
        narrow = narrowed(chart.spec)
        layout = json.dumps({part: value for part, value in narrow.items() if part not in ("datasets", "config")})
        drawing = self._drawing(chart.spec, key)
        small = self._drawing(narrow, hashlib.sha256(f"{key} {layout}".encode()).hexdigest())
        call = f"tensorAssetsChart({json.dumps(name)}, {spec}, {layout});\n".replace("</", "<\\/")
        for suffix, text in ((".json", spec), (".js", call), (".svg", drawing)):
            (self.folder / f"{name}{suffix}").write_text(text, encoding="utf-8")
        return _inline(drawing), _inline(small)

    def _drawing(self, spec: Mapping[str, Any], key: str) -> str:
        if self.cache is None:
            return charts.picture(spec)
        kept = self.cache / f"{key}-{version('vl-convert-python')}.svg"  # another version draws otherwise
        if not kept.exists():
            staged = kept.with_suffix(f".{id(spec):x}")
            staged.write_text(charts.picture(spec), encoding="utf-8")
            staged.replace(kept)
        return kept.read_text(encoding="utf-8")


def vega_bundle(cache: Path | None) -> str:
    """Vega, Vega-Lite and Vega-Embed as one classic script that leaves ``vegaEmbed`` and little else in a page."""
    kept = cache / f"vega-{version('vl-convert-python')}.js" if cache else None
    if kept and kept.exists():
        return kept.read_text(encoding="utf-8")
    bundle = vl_convert.javascript_bundle(None)  # type: ignore[arg-type]  # without a snippet it is the whole bundle
    text = f"(function () {{\n{bundle}\n}})();\n"  # wrapped: its one-letter names would be everyone's
    if kept:
        staged = kept.with_suffix(f".{id(text):x}")
        staged.write_text(text, encoding="utf-8")
        staged.replace(kept)
    return text


def _inline(drawing: str) -> Markup:
    """In the page's own colours; one image with one description, not a tree of symbols that have none."""
    drawing = _ROLES.sub("", drawing)
    for colour, name in INKS.items():
        drawing = drawing.replace(f'"{colour}"', f'"var(--{name})"')
    return Markup(drawing)


def root_of_site(page: str) -> str:
    """The way from a page to the site's root."""
    return "/".join([".."] * page.count("/")) or "."
