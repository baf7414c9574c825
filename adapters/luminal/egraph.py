"""An e-graph as egraph-serialize 0.3 writes it: Luminal, and the ``egglog`` package, give the same JSON.

Children are node ids; a child stands for its whole e-class. egglog writes a node whose operator is ``[...]`` where it
left things out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import msgspec

from .errors import BundleError

OMITTED = "[...]"


class ENode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    op: str
    children: tuple[str, ...]
    eclass: str
    cost: float
    subsumed: bool = False


class EClass(msgspec.Struct, frozen=True):
    """``type`` is the sort; ``let`` the name that the program gave to the value, where it gave one."""

    type: str = ""
    let: str = ""


class EGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    nodes: dict[str, ENode]
    root_eclasses: tuple[str, ...]
    class_data: dict[str, EClass]

    @cached_property
    def members(self) -> dict[str, tuple[str, ...]]:
        """Node ids of every e-class: expressions of one value. In the order of the file."""
        found: dict[str, list[str]] = {}
        for name, node in self.nodes.items():
            found.setdefault(node.eclass, []).append(name)
        return {eclass: tuple(names) for eclass, names in found.items()}

    @cached_property
    def omitted(self) -> tuple[str, ...]:
        """Ids of the nodes that stand for what was left out."""
        return tuple(name for name, node in self.nodes.items() if node.op == OMITTED)

    @cached_property
    def named(self) -> dict[str, str]:
        """E-class of every ``let`` of the program."""
        return {data.let: eclass for eclass, data in self.class_data.items() if data.let}

    def sorts(self) -> dict[str, int]:
        """How many e-classes there are of every sort."""
        found: dict[str, int] = {}
        for data in self.class_data.values():
            found[data.type] = found.get(data.type, 0) + 1
        return found

    def reachable(self, roots: Iterable[str]) -> set[str]:
        """E-classes that the members of ``roots`` read, through any alternative; the roots too."""
        reached: set[str] = set()
        pending = list(roots)
        while pending:
            eclass = pending.pop()
            if eclass in reached:
                continue
            reached.add(eclass)
            pending += [
                self.nodes[child].eclass for name in self.members[eclass] for child in self.nodes[name].children
            ]
        return reached


def read_egraph(data: bytes, file: str = "egraph.json") -> EGraph:
    """Raises BundleError for what is no e-graph, or names nodes and classes that it does not have."""
    try:
        egraph = msgspec.json.decode(data, type=EGraph)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(file, str(error)) from None
    if not egraph.nodes:
        raise BundleError(file, "it has no nodes")
    for name, node in egraph.nodes.items():
        _check_node(egraph, name, node, file)
    for eclass in egraph.root_eclasses:
        if eclass not in egraph.members:
            raise BundleError(file, f"root {eclass!r} is no e-class of any node", "root_eclasses")
    for eclass in egraph.class_data:
        if eclass not in egraph.members:
            raise BundleError(file, f"{eclass!r} has no node", "class_data")
    return egraph


def _check_node(egraph: EGraph, name: str, node: ENode, file: str) -> None:
    place = f"nodes/{name}"
    missing = [child for child in node.children if child not in egraph.nodes]
    if missing:
        raise BundleError(file, f"child {missing[0]!r} is no node of the e-graph", place)
    if not math.isfinite(node.cost) or node.cost < 0:
        raise BundleError(file, f"cost {node.cost} is not a finite number from zero up", place)
    if node.eclass not in egraph.class_data:
        raise BundleError(file, f"class_data has nothing about e-class {node.eclass!r}", place)
