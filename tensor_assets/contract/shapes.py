"""The named shapes: what M, K and N stand for."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tensor_assets.contract.reading import Node, is_name, read_document

SYMBOLS = ("M", "K", "N")
_MAX_SIZE = 2**20


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One (M, K, N) with its purpose."""

    name: str
    sizes: dict[str, int]
    purpose: str


Shapes = dict[str, Shape]


def load_shapes(path: Path) -> Shapes:
    """The shapes of ``path``, in its order. Raises ManifestError."""
    document = read_document(path)
    return {name: _shape(name, node) for name, node in document.members().items()}


def _shape(name: str, node: Node) -> Shape:
    if not is_name(name):
        node.fail("a shape's name is a letter followed by at most 63 letters, digits or underscores")
    node.only(required=(*SYMBOLS, "purpose"))
    sizes = {symbol: node.at(symbol).integer(1, _MAX_SIZE) for symbol in SYMBOLS}
    return Shape(name=name, sizes=sizes, purpose=node.at("purpose").line())
