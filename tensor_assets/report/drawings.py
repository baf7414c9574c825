"""Graphs as pictures that need no script: the explorer's own layout, run when the site is built.

dagre and ``layout.js`` are the files that the site carries for its readers; QuickJS runs them here. So a drawing does
not move when the explorer takes its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import quickjs
from markupsafe import Markup

# More nodes than this make a picture that nobody can read whole; the explorer moves about in it.
MOST_NODES = 60
VERSION = 1  # part of the key of kept drawings: raise it when the markup changes

# What dagre asks of a browser beyond the language itself; its values are plain data.
_BROWSER = "var window = globalThis; globalThis.structuredClone = value => JSON.parse(JSON.stringify(value));"
_LAYOUT = (
    "text => { const { nodes, edges } = JSON.parse(text); return JSON.stringify(tensorAssetsLayout(nodes, edges)); }"
)


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """What goes into an SVG element, and how large that is in CSS pixels at full size."""

    width: float
    height: float
    scene: str

    @property
    def html(self) -> Markup:
        return Markup(self.scene)


class Drawings:
    """Draws what ``graphs.write_graph`` writes for the explorer; with a ``cache`` folder the same graph once."""

    def __init__(self, assets: Path, cache: Path | None = None) -> None:
        self._scripts = [(assets / name).read_text(encoding="utf-8") for name in ("dagre.js", "layout.js")]
        self._cache = cache
        if cache:
            cache.mkdir(parents=True, exist_ok=True)

    def drawing(self, nodes: list[dict[str, Any]], edges: list[list[str]], hues: dict[str, int]) -> Drawing | None:
        """None for a graph of more than MOST_NODES. Nodes are as ``graphs`` describes them for the explorer."""
        if not nodes or len(nodes) > MOST_NODES:
            return None
        if self._cache is None:
            return self._drawn(nodes, edges, hues)
        asked = json.dumps([nodes, edges, hues])
        key = hashlib.sha256("\0".join([str(VERSION), *self._scripts, asked]).encode()).hexdigest()
        kept = self._cache / f"{key}.json"
        if not kept.exists():
            staged = kept.with_suffix(f".{id(asked):x}")
            staged.write_bytes(msgspec.json.encode(self._drawn(nodes, edges, hues)))
            staged.replace(kept)
        return msgspec.json.decode(kept.read_bytes(), type=Drawing)

    def _drawn(self, nodes: list[dict[str, Any]], edges: list[list[str]], hues: dict[str, int]) -> Drawing:
        plan = json.loads(self._layout(json.dumps({"nodes": nodes, "edges": edges})))
        places = dict(plan["places"])
        arrows = Markup("").join(_edge(edge) for edge in plan["edges"])
        boxes = Markup("").join(_node(node, places[node["id"]], hues) for node in nodes)
        scene = Markup('<g class="edges">{}</g><g class="nodes">{}</g>').format(arrows, boxes)
        return Drawing(width=plan["width"], height=plan["height"], scene=str(scene))

    @cached_property
    def _layout(self) -> Callable[[str], str]:
        engine = quickjs.Context()
        for script in (_BROWSER, *self._scripts):
            engine.eval(script)
        layout: Callable[[str], str] = engine.eval(_LAYOUT)
        return layout


def _edge(edge: dict[str, Any]) -> Markup:
    line = Markup('<path d="{}"/>').format(edge["path"])
    if "label" not in edge:
        return line
    return line + Markup('<text x="{x}" y="{y}">{label}</text>').format(**edge)


def _node(node: dict[str, Any], place: dict[str, float], hues: dict[str, int]) -> Markup:
    width, height = place["width"], place["height"]
    hue = next((hues[name] for name in node["ops"] if name in hues), None)
    return Markup(
        '<g class="node role-{role}{guess}" transform="translate({x} {y})"{hue}><title>{about}</title>'
        '<rect width="{width}" height="{height}" rx="{round}"/><text x="{middle}" y="17" class="name">{op}</text>'
        '<text x="{middle}" y="31" class="id">{id}</text></g>'
    ).format(
        role=node["role"],
        guess="" if node["certain"] else " guess",
        x=round(place["x"] - width / 2, 1),
        y=round(place["y"] - height / 2, 1),
        hue="" if hue is None else Markup(' style="--h:{}" data-hue').format(hue),
        about=_about(node),
        width=width,
        height=height,
        round=20 if node["role"] == "input" else 4,
        middle=round(width / 2, 1),
        op=node["op"],
        id=node["id"],
    )


def _about(node: dict[str, Any]) -> str:
    of_type = " ".join(part for part in (node["shape"], node["dtype"]) if part)
    named = ", ".join(node["ops"])
    stands = f"{'stands' if node['certain'] else 'probably stands'} for {named}" if named else ""
    return " · ".join(part for part in (node["op"], node["id"], node["role"], of_type, stands) if part)
