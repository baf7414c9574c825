"""The semantic graph: the FX graph that Inductor compiled, node by node."""

from __future__ import annotations

import re

from tensor_worker.artifacts import Edge, Lines, Node, Role, SemanticGraph

from .evidence import Evidence
from .recording import FxNode

STAGE = "fx"

_ROLES: dict[str, Role] = {
    "mm": "contraction", "addmm": "contraction", "bmm": "contraction", "baddbmm": "contraction",
    "convert_element_type": "cast", "_to_copy": "cast",
    "permute": "view", "transpose": "view", "t": "view", "view": "view", "reshape": "view", "expand": "view",
    "unsqueeze": "view", "squeeze": "view", "slice": "view",
    "sum": "reduction", "mean": "reduction", "amax": "reduction", "max": "reduction", "var_mean": "reduction",
    "full": "constant", "scalar_tensor": "constant",
    "add": "epilogue", "sub": "epilogue", "mul": "epilogue", "div": "epilogue", "relu": "epilogue", "exp": "epilogue",
    "rsqrt": "epilogue", "pow": "epilogue", "maximum": "epilogue", "reciprocal": "epilogue", "sqrt": "epilogue",
}  # fmt: skip
_KINDS: dict[str, Role] = {"placeholder": "input", "output": "output", "get_attr": "constant"}


def semantic_graph(evidence: Evidence, text: str) -> SemanticGraph:
    """``text`` is the stage called ``fx``; node lines point into it."""
    graph = evidence.recording.fx
    if graph is None:
        return SemanticGraph(stage=STAGE, nodes=(), edges=(), incomplete="Inductor compiled no graph")
    lines = node_lines(text)
    nodes = tuple(_node(evidence, node, lines) for node in graph.nodes)
    edges = tuple(Edge(source=source, target=node.name) for node in graph.nodes for source in node.inputs)
    return SemanticGraph(stage=STAGE, nodes=nodes, edges=edges)


def node_lines(text: str) -> dict[str, Lines]:
    """Where a printed FX graph defines each node: ``name: "f16[8, 16]" = …``, ``return`` for the output."""
    found: dict[str, Lines] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if match := re.match(r"\s+(\w+)(?:: \"[^\"]*\")? = ", line):
            found.setdefault(match[1], (number, number))
        elif re.match(r"\s+return\b", line):
            found["output"] = (number, number)
        elif line.lstrip().startswith("def forward("):
            found.update(dict.fromkeys(re.findall(r"(\w+): \"", line), (number, number)))
    return found


def _node(evidence: Evidence, node: FxNode, lines: dict[str, Lines]) -> Node:
    op = evidence.source.op_at(node.line) if node.line is not None else None
    return Node(
        id=node.name,
        op=node.target if node.kind == "call_function" else node.kind,
        role=_role(node),
        shape=node.shape,
        dtype=node.dtype,
        lines=lines.get(node.name),
        program_ops=(op,) if op else (),
    )


def _role(node: FxNode) -> Role:
    if node.kind in _KINDS:
        return _KINDS[node.kind]
    name = node.target.split(".")[1] if node.target.count(".") > 1 else node.target
    return _ROLES.get(name, "other")
