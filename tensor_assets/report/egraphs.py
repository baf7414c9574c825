"""E-graphs as their explorer reads them: e-classes, the expressions kept in each, and the classes those read.

A captured stage called ``egraph`` is one if its text is what egraph-serialize writes, which egglog and Luminal share.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import msgspec
from tensor_worker.artifacts import Stage

from tensor_assets.records import EGraphRecord
from tensor_assets.report.reading import Configuration, PublicStore

STAGE = "egraph"
OMITTED = "[...]"  # the operator that egglog writes where it left things out
LISTED = 40  # classes that a page lists for readers without scripts


class _Node(msgspec.Struct, frozen=True):
    op: str
    children: tuple[str, ...]
    eclass: str
    cost: float = 0.0
    subsumed: bool = False


class _Class(msgspec.Struct, frozen=True):
    type: str = ""
    let: str = ""


class _EGraph(msgspec.Struct, frozen=True):
    nodes: dict[str, _Node]
    root_eclasses: tuple[str, ...] = ()
    class_data: dict[str, _Class] = {}


class ClassRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    type: str
    members: int
    ops: tuple[tuple[str, int], ...]  # operator and how many members have it


class EGraphView(msgspec.Struct, frozen=True, kw_only=True):
    """What the page itself says; ``rows`` are the classes with the most alternatives."""

    name: str
    sha256: str
    title: str
    classes: int
    nodes: int
    subsumed: int
    omitted: int
    incomplete: str
    types: tuple[str, ...]  # those with several forms of some value first
    start: str
    rows: tuple[ClassRow, ...]


def write_egraph(configuration: Configuration, page: str, folder: Path, store: PublicStore) -> EGraphView | None:
    """Write the configuration's e-graph under ``folder/egraphs``; None where none was captured or it is not public."""
    found = _captured(configuration, store)
    if found is None:
        return None
    stage, sha256, egraph = found
    graph = configuration.capture.capture and configuration.capture.capture.graph
    return _written(egraph, folder, page, stage.title, sha256, graph.incomplete if graph else "")


def write_own_egraph(record: EGraphRecord, page: str, folder: Path, store: PublicStore) -> EGraphView | None:
    """The same for an e-graph of this project's own; ``page`` is where it is shown."""
    egraph = None if store.why_private(record.egraph) else _read(store.read(record.egraph))
    if egraph is None:
        return None
    title = f"Made by {record.saturated_by} from this project's own rules; no compiler's result"
    return _written(egraph, folder, f"own/{page}", title, record.egraph.sha256, record.incomplete)


def forms_of(configuration: Configuration, values: Collection[str], store: PublicStore) -> tuple[int, str]:
    """How many expressions the e-graph keeps of what the graph's nodes ``values`` name: the most of any of them.

    With the SHA-256 of the e-graph that says so; zero and an empty one where no e-graph was captured.
    """
    found = _captured(configuration, store)
    if found is None:
        return 0, ""
    _, sha256, egraph = found
    named = {about.let: eclass for eclass, about in egraph.class_data.items() if about.let in values}
    members = Counter(node.eclass for node in egraph.nodes.values() if node.op != OMITTED)
    return max((members[eclass] for eclass in named.values()), default=0), sha256


def _written(egraph: _EGraph, folder: Path, page: str, title: str, sha256: str, incomplete: str) -> EGraphView:
    name = page.removesuffix(".html")
    order = {eclass: place for place, eclass in enumerate(dict.fromkeys(n.eclass for n in egraph.nodes.values()))}
    data = {
        "classes": [_class(egraph, eclass) for eclass in order],
        "nodes": [
            [node_id, node.op, order[node.eclass], [order[egraph.nodes[c].eclass] for c in node.children], node.cost]
            + ([1] if node.subsumed else [])
            for node_id, node in egraph.nodes.items()
        ],
        "children": {node_id: node.children for node_id, node in egraph.nodes.items() if node.children},
        "roots": [order[eclass] for eclass in egraph.root_eclasses if eclass in order],
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("</", "<\\/")
    written = folder / "egraphs" / f"{name}.js"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(f"tensorAssetsEGraph({json.dumps(name)}, {text});\n", encoding="utf-8")
    return _view(egraph, name, title, sha256, incomplete)


def _captured(configuration: Configuration, store: PublicStore) -> tuple[Stage, str, _EGraph] | None:
    for stage, file in configuration.stage_files():
        if stage.name == STAGE and stage.language == "json" and not store.why_private(file.text):
            egraph = _read(store.read(file.text))
            return (stage, file.text.sha256, egraph) if egraph else None
    return None


def _read(data: bytes) -> _EGraph | None:
    """None for what is no e-graph, or names nodes that it does not have."""
    try:
        egraph = msgspec.json.decode(data, type=_EGraph)
    except msgspec.MsgspecError:
        return None
    whole = all(child in egraph.nodes for node in egraph.nodes.values() for child in node.children)
    return egraph if egraph.nodes and whole else None


def _class(egraph: _EGraph, eclass: str) -> list[str]:
    about = egraph.class_data.get(eclass, _Class())
    return [eclass, about.type, about.let]


def _view(egraph: _EGraph, name: str, title: str, sha256: str, incomplete: str) -> EGraphView:
    members: dict[str, list[_Node]] = {}
    for node in egraph.nodes.values():
        members.setdefault(node.eclass, []).append(node)
    widest = sorted(members, key=lambda eclass: -len(members[eclass]))
    several = Counter(_class(egraph, eclass)[1] for eclass, own in members.items() if len(own) > 1)
    types = sorted({_class(egraph, eclass)[1] for eclass in members}, key=lambda kind: (-several[kind], kind))
    return EGraphView(
        name=name,
        sha256=sha256,
        title=title,
        classes=len(members),
        nodes=len(egraph.nodes),
        subsumed=sum(node.subsumed for node in egraph.nodes.values()),
        omitted=sum(node.op == OMITTED for node in egraph.nodes.values()),
        incomplete=incomplete,
        types=tuple(types),
        start=widest[0],
        rows=tuple(_row(egraph, eclass, members[eclass]) for eclass in widest[:LISTED] if len(members[eclass]) > 1),
    )


def _row(egraph: _EGraph, eclass: str, members: list[_Node]) -> ClassRow:
    _, kind, let = _class(egraph, eclass)
    ops = Counter(node.op for node in members)
    return ClassRow(name=let or eclass, type=kind, members=len(members), ops=tuple(ops.most_common(12)))
