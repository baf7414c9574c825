"""A graph as a picture without scripts: whole, left to right, the same whoever draws it, and hostile names escaped."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tensor_worker.artifacts import Edge, Node, SemanticGraph

from tensor_assets.report.drawings import MOST_NODES, Drawings
from tensor_assets.report.graphs import write_graph
from tensor_assets.settings import ROOT
from tensor_assets_tests.report.compiled import HOSTILE

ASSETS = ROOT / "site" / "assets"
AT = re.compile(r'<g class="node [^"]*" transform="translate\(([-\d.]+) ([-\d.]+)\)"[^>]*><title>(\w+) ')


@pytest.fixture(scope="module")
def drawings() -> Drawings:
    return Drawings(ASSETS)


def told(name: str, op: str = "", role: str = "other", ops: tuple[str, ...] = ()) -> dict:
    return {"id": name, "op": op or name, "role": role, "shape": "4×4", "dtype": "f16", "lines": None,
            "ops": ops, "certain": True}  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(data=some.data())
def test_every_value_lies_left_of_what_reads_it(drawings, data):
    count = data.draw(some.integers(2, 12))
    edges = data.draw(some.sets(some.tuples(some.integers(0, count - 2), some.integers(1, count - 1)), max_size=20))
    forward = [[f"n{min(pair)}", f"n{max(pair)}"] for pair in sorted(edges) if pair[0] != pair[1]]
    drawn = drawings.drawing([told(f"n{at}") for at in range(count)], forward, {})
    places = {name: (float(x), float(y)) for x, y, name in AT.findall(drawn.scene)}
    assert len(places) == count == len(set(places.values()))
    assert all(places[source][0] < places[target][0] for source, target in forward)
    assert all(0 <= x <= drawn.width and 0 <= y <= drawn.height for x, y in places.values())


def test_hostile_names_are_text(drawings):
    drawn = drawings.drawing([told(HOSTILE, HOSTILE), told("__proto__")], [[HOSTILE, "__proto__"]], {})
    assert "<script" not in drawn.scene
    assert "<img" not in drawn.scene
    assert drawn.scene.count("__proto__") == 4  # its title says op and name, its box shows both


def test_a_graph_that_nobody_can_read_whole_is_not_drawn(drawings):
    many = [told(f"n{at}") for at in range(MOST_NODES + 1)]
    assert drawings.drawing(many, [], {}) is None
    assert drawings.drawing(many[:-1], [], {}) is not None
    assert drawings.drawing([], [], {}) is None


def test_what_was_drawn_is_kept_until_the_graph_changes(tmp_path):
    asked = ([told("a"), told("b", ops=("p",))], [["a", "b"]])
    first = Drawings(ASSETS, tmp_path).drawing(*asked, {"p": 38})
    assert Drawings(ASSETS, tmp_path).drawing(*asked, {"p": 38}) == first
    assert len(list(tmp_path.iterdir())) == 1
    assert Drawings(ASSETS, tmp_path).drawing(*asked, {"p": 212}) != first


def test_a_page_gets_the_picture_of_its_graph(tmp_path, drawings):
    nodes = (Node(id="x", op="input", role="input", shape=(4, 4)), Node(id="y", op="neg", role="epilogue"))
    graph = SemanticGraph(stage="fx", nodes=nodes, edges=(Edge(source="x", target="y"),))
    drawn = write_graph(graph, "cells/any.html", "fx", tmp_path, {}, drawings).drawing
    assert AT.findall(drawn.scene)[0][2] == "input"
    assert ">4×4</text>" in drawn.scene  # the shape, on the edge
    assert write_graph(graph, "cells/any.html", "fx", tmp_path, {}).drawing is None
