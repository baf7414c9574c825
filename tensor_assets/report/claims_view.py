"""The page about the view that claims query, drawn from the types that make it."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from tensor_assets.claims import view

# "name: type  # what it means", as the types are written.
_COMMENT = re.compile(r"^    (?P<name>\w+): [^#\n]*#[ ]*(?P<about>.*)$", re.MULTILINE)
_NAMES = {str: "text", int: "integer", float: "number", bool: "true or false"}


class Field(msgspec.Struct, frozen=True):
    name: str
    type: str
    of: str  # slug of the part it is made of
    about: str


class Part(msgspec.Struct, frozen=True):
    name: str
    slug: str
    about: str
    fields: tuple[Field, ...]


def view_parts() -> list[Part]:
    """Every part of the view, the document first, then in the order of its fields."""
    return [_part(kind) for kind in _kinds(view.Document, [])]


def _kinds(kind: type[msgspec.Struct], found: list[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    if kind not in found:
        found.append(kind)
        for hint in typing.get_type_hints(kind).values():
            for inner in _structs(hint):
                _kinds(inner, found)
    return found


def _part(kind: type[msgspec.Struct]) -> Part:
    about = dict(_COMMENT.findall(inspect.getsource(kind)))
    hints = typing.get_type_hints(kind)
    fields = tuple(
        Field(name, _type(hint), next((_slug(inner) for inner in _structs(hint)), ""), about.get(name, ""))
        for name, hint in hints.items()
    )
    doc = "" if not kind.__doc__ or kind.__doc__.startswith(f"{kind.__name__}(") else " ".join(kind.__doc__.split())
    return Part(_slug(kind), _slug(kind), doc.replace("``", ""), fields)


def _type(hint: Any) -> str:
    parts = [part for part in _parts(hint) if part is not type(None)]
    optional = " or null" if type(None) in _parts(hint) else ""
    return " or ".join(_plain(part) for part in parts) + optional


def _plain(hint: Any) -> str:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return f"list of {_type(inner[0])}" if inner[-1] is Ellipsis else f"list of {len(inner)} {_plain(inner[0])}s"
    if origin is dict:
        return f"mapping of {_type(inner[1])}"
    return _NAMES.get(hint, _slug(hint) if isinstance(hint, type) else str(hint))


def _parts(hint: Any) -> tuple[Any, ...]:
    return (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )


def _structs(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for inner in typing.get_args(hint):
        yield from _structs(inner)


def _slug(kind: type) -> str:
    return kind.__name__.removesuffix("View").lower()
