"""The graph as MAX's Python API builds it: one node a line of ``rmo``/``mo`` MLIR."""

from __future__ import annotations

import re

from tensor_worker.artifacts import Edge, Node, Role, SemanticGraph
from tensor_worker.program import Program

from .locations import Locations

STAGE = "semantic"

_ROLES: tuple[tuple[str, Role], ...] = (
    (r"\bmatmul$", "contraction"),
    (r"\breduce\.|\bmean$", "reduction"),
    (r"\b(transpose|permute|broadcast_to|reshape|rebind|squeeze|unsqueeze)$", "view"),
    (r"\bcast$", "cast"),
    (r"\bconstant$", "constant"),
    (r"\bmo\.output$", "output"),
    (r"\bchain\.", "other"),
)
_RESULT = re.compile(r"\s+(%\w+)(?::\d+)? = ([\w.]+)(.*)")
_OUTPUT = re.compile(r"\s+(mo\.output)(.*)")
_VALUE = re.compile(r"%\w+")
_TENSOR = re.compile(r"!mo\.tensor<\[([^\]]*)\], (\w+)")
_ARGUMENT = re.compile(r"(%arg\d+): (!mo\.tensor<\[[^\]]*\][^>]*>)")


def semantic_graph(text: str, located: str, program: Program) -> SemanticGraph:
    """``text`` is the stage as kept; ``located`` the same operations printed with their locations."""
    names = [value.name for value in program.values()]
    locations = Locations(located.splitlines(), names)
    ops_of = {
        match[1]: locations.of_line(line) for line in located.splitlines() if (match := _RESULT.match(line)) is not None
    }
    nodes: list[Node] = []
    edges: list[Edge] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if "mo.graph @" in line:
            nodes += _arguments(line, number, program)
        elif match := _RESULT.match(line):
            nodes.append(_node(match, number, ops_of.get(match[1], ())))
            edges += _edges(match[3], match[1])
        elif match := _OUTPUT.match(line):
            nodes.append(Node(id="output", op=match[1], role="output", lines=(number, number)))
            edges += _edges(match[2], "output")
    return SemanticGraph(stage=STAGE, nodes=tuple(nodes), edges=tuple(edges))


def role_of(op: str) -> Role:
    return next((role for pattern, role in _ROLES if re.search(pattern, op)), "epilogue")


def _arguments(line: str, number: int, program: Program) -> list[Node]:
    """The graph's arguments are the program's inputs, in order."""
    found = _ARGUMENT.findall(line)
    return [
        Node(
            id=argument,
            op="mo.graph argument",
            role="input",
            shape=_shape(type_text),
            dtype=_dtype(type_text),
            lines=(number, number),
            program_ops=(value.name,),
        )
        for (argument, type_text), value in zip(found, program.inputs, strict=True)
    ]


def _node(match: re.Match[str], number: int, program_ops: tuple[str, ...]) -> Node:
    return Node(
        id=match[1],
        op=match[2],
        role=role_of(match[2]),
        shape=_shape(match[3]),
        dtype=_dtype(match[3]),
        lines=(number, number),
        program_ops=program_ops,
    )


def _edges(rest: str, target: str) -> list[Edge]:
    operands = dict.fromkeys(_VALUE.findall(rest.split(" : ")[0]))
    return [Edge(source=operand, target=target) for operand in operands]


def _shape(text: str) -> tuple[int, ...]:
    """Of the last tensor type in ``text``: the result's, where there are several."""
    types = _TENSOR.findall(text)
    return tuple(int(extent) for extent in types[-1][0].split(",") if extent.strip()) if types else ()


def _dtype(text: str) -> str:
    types = _TENSOR.findall(text)
    return types[-1][1] if types else ""
