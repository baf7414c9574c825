"""The semantic graph: Triton's first IR, without the arithmetic of indices."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tensor_worker.artifacts import Edge, Node, Role, SemanticGraph

from .authoring import Authored
from .locations import source_lines

STAGE = "ttir"

_ROLES: dict[str, Role] = {
    "tt.dot": "contraction", "tt.load": "input", "tt.store": "output", "tt.trans": "view", "tt.broadcast": "view",
    "arith.truncf": "cast", "arith.extf": "cast",
    "arith.addf": "epilogue", "arith.subf": "epilogue", "arith.mulf": "epilogue", "arith.divf": "epilogue",
    "arith.maxnumf": "epilogue", "arith.maximumf": "epilogue", "math.exp": "epilogue", "math.rsqrt": "epilogue",
    "tt.precise_divf": "epilogue", "math.exp2": "epilogue", "tt.extern_elementwise": "epilogue",
}  # fmt: skip
_INCOMPLETE = "index arithmetic, masks, constants and the loop itself are left out"


@dataclass
class _Reading:
    """One function's SSA values on the way through its text."""

    prefix: str
    kept: dict[str, str] = field(default_factory=dict)  # SSA name → node id
    alias: dict[str, str] = field(default_factory=dict)  # SSA name → the SSA name whose value it holds
    loop: str = ""  # the result of the loop that is open


def semantic_graph(text: str, source: Authored) -> SemanticGraph:
    """``text`` is the stage called ``ttir``: every kernel's module, in launch order."""
    lines = source_lines(STAGE, text)
    nodes: list[Node] = []
    edges: list[Edge] = []
    reading = _Reading("")
    for number, line in enumerate(text.splitlines(), start=1):
        if function := re.match(r"\s*tt\.func public @(\w+)\(", line):
            reading = _Reading(f"{function[1]}:")
            continue
        if _follow_loop(reading, line):
            continue
        statement = re.match(r"\s*(?:(%[\w]+) = )?\"?([\w.]+)\"? ?(.*)$", line)
        if statement is None or statement[2] not in _ROLES or not _on_values(statement[2], statement[3]):
            continue
        result, operation, rest = statement[1] or "", statement[2], statement[3]
        name = f"{reading.prefix}{result or f'store {number}'}"
        ops = source.ops_at(lines[number]) if number in lines else ()
        shape, dtype = _type(rest)
        nodes.append(
            Node(
                id=name,
                op=operation,
                role=_ROLES[operation],
                shape=shape,
                dtype=dtype,
                lines=(number, number),
                program_ops=ops,
            )
        )
        edges.extend(Edge(source=value, target=name) for value in _operands(reading, rest))
        reading.kept[result] = name
    return SemanticGraph(stage=STAGE, nodes=tuple(nodes), edges=tuple(edges), incomplete=_INCOMPLETE)


def _follow_loop(reading: _Reading, line: str) -> bool:
    """A loop's result holds what its body yields."""
    if loop := re.match(r"\s*(%\w+)(?::\d+)? = scf\.for ", line):
        reading.loop = loop[1]
        return True
    if yielded := re.match(r"\s*scf\.yield ([^:]*) :", line):
        values = [value.strip() for value in yielded[1].split(",")]
        reading.alias.update({f"{reading.loop}#{index}": value for index, value in enumerate(values)})
        reading.alias[reading.loop] = values[0]
        return True
    return False


def _operands(reading: _Reading, rest: str) -> list[str]:
    """Nodes that a statement reads, in order, each once."""
    names = re.findall(r"%\w+(?:#\d+)?", rest.split(" : ")[0])
    found = [reading.kept.get(reading.alias.get(name, name)) for name in names]
    return list(dict.fromkeys(node for node in found if node is not None))


def _on_values(operation: str, rest: str) -> bool:
    """Broadcasts of indices, masks and pointers are no part of the program."""
    return operation != "tt.broadcast" or re.search(r"xf(16|32)\b[^>]*> ->", rest) is not None


def _type(rest: str) -> tuple[tuple[int, ...], str]:
    """Shape and dtype of the result; of what a load or store moves, where the type is one of pointers."""
    types = re.findall(r"tensor<((?:\d+x)+)(?:!tt\.ptr<(\w+)>|(\w+))", rest)
    if not types:
        return (), ""
    sizes, pointed, element = types[-1]
    return tuple(int(size) for size in sizes.split("x") if size), pointed or element
