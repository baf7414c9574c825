"""Semantic graphs as the explorer reads them: one script a graph, loaded when a reader comes to it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
from tensor_worker.artifacts import Edge, Node, Role, SemanticGraph
from tensor_worker.program import Op, Program

from tensor_assets.report.drawings import Drawing, Drawings
from tensor_assets.report.quantities import extents


class GraphView(msgspec.Struct, frozen=True, kw_only=True):
    """What the page itself says of a graph; ``rows`` is what a reader without scripts has instead of the drawing."""

    name: str
    stage: str  # its text's, in the capture
    pane: str  # id of the pane that holds the text
    nodes: int
    edges: int
    incomplete: str
    rows: tuple[dict[str, Any], ...]
    drawing: Drawing | None = None  # None where the graph is too large for one


def write_graph(
    graph: SemanticGraph, page: str, pane: str, folder: Path, hues: dict[str, int], drawings: Drawings | None = None
) -> GraphView:
    """Write ``graph`` under ``folder/graphs`` and return what ``page`` needs of it, drawn if ``drawings`` are given.

    ``pane`` is the id of what holds its text on the page.
    """
    name = page.removesuffix(".html")
    nodes, edges = [_told(node) for node in graph.nodes], [[edge.source, edge.target] for edge in graph.edges]
    data = {"stage": pane, "hues": hues, "nodes": nodes, "edges": edges}
    text = json.dumps(data, ensure_ascii=True).replace("</", "<\\/")
    written = folder / "graphs" / f"{name}.js"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(f"tensorAssetsGraph({json.dumps(name)}, {text});\n", encoding="utf-8")
    return GraphView(
        name=name,
        stage=graph.stage,
        pane=pane,
        nodes=len(graph.nodes),
        edges=len(graph.edges),
        incomplete=graph.incomplete,
        rows=_rows(graph),
        drawing=drawings.drawing(nodes, edges, hues) if drawings else None,
    )


def _told(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "op": node.op,
        "role": node.role,
        "shape": extents(node.shape) if node.shape else "",
        "dtype": node.dtype,
        "lines": node.lines,
        "ops": node.program_ops,
        "certain": node.certain,
    }


_ROLES: dict[str, Role] = {
    "transpose": "view",
    "matmul": "contraction",
    "max": "reduction",
    "sum": "reduction",
    "mean": "reduction",
}


def program_graph(program: Program) -> SemanticGraph:
    """The program as its manifest states it; lines are those of ``stages.program_pane``."""
    values = program.values()
    nodes = [
        Node(
            id=value.name,
            op=value.op if isinstance(value, Op) else "input",
            role=_ROLES.get(value.op, "epilogue") if isinstance(value, Op) else "input",
            shape=value.shape,
            dtype=value.dtype,
            lines=(number, number),
            program_ops=(value.name,) if isinstance(value, Op) else (),
        )
        for number, value in enumerate(values, 1)
    ]
    last = (len(values) + 1, len(values) + 1)
    nodes += [Node(id=f"output {name}", op="output", role="output", lines=last) for name in program.outputs]
    edges = [
        Edge(source=operand, target=op.name) for op in program.ops for operand in op.of if isinstance(operand, str)
    ]
    edges += [Edge(source=name, target=f"output {name}") for name in program.outputs]
    return SemanticGraph(stage="program", nodes=tuple(nodes), edges=tuple(edges))


# A table of more is no help to anyone; the capture record has them all.
ROWS = 200


def _rows(graph: SemanticGraph) -> tuple[dict[str, Any], ...]:
    inputs: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        inputs[edge.target].append(edge.source)
    return tuple({"node": node, "inputs": inputs[node.id], "shape": extents(node.shape)} for node in graph.nodes[:ROWS])
