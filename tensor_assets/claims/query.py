"""A claim's JMESPath query: compiled, checked against the view's fields before it is asked of anything."""

from __future__ import annotations

import types
import typing
from typing import Any, NamedTuple

import jmespath
import msgspec
from jmespath.exceptions import JMESPathError

from tensor_assets.claims.view import Document

Node = dict[str, Any]
MACHINE = {"sass", "opcodes", "matrix_opcodes", "family"}  # fields that are read off machine code
_KEEPS = {"sort", "sort_by", "reverse", "to_array"}  # functions whose result is of their first argument's type
_ITEM = {"max_by", "min_by", "max", "min"}


class _Asked(NamedTuple):
    fields: set[str]
    roots: set[str]

    def add(self, name: str, given: Any) -> None:
        self.fields.add(name)
        if given is Document:
            self.roots.add(name)


class BadQuery(Exception):
    """A query that is no JMESPath, or names a field that the view does not have; says which it has."""


class Query:
    """Raises BadQuery for what can never be answered."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._compiled = jmespath.compile(text)
            asked = _Asked(set(), set())
            _type_of(self._compiled.parsed, Document, asked)
            self.fields, self.roots = asked  # every name it asks for, and those it asks of the document itself
        except JMESPathError as error:
            raise BadQuery(f"is not JMESPath: {' '.join(str(error).split())}") from None
        except RecursionError:
            raise BadQuery("is nested too deep to be read") from None

    @property
    def deep(self) -> bool:
        """Whether it asks for what stands in native text: only then are the texts read."""
        return bool(self.fields & (MACHINE | {"text", "ptx"}))

    def ask(self, document: Any) -> Any:
        """The answer, as plain JSON data. Raises BadQuery if a function is given what it cannot take."""
        try:
            return self._compiled.search(document)
        except (JMESPathError, TypeError, ValueError) as error:  # it checks most of what functions and slices take
            raise BadQuery(f"cannot be answered: {' '.join(str(error).split())}") from None


def _type_of(node: Node, given: Any, asked: _Asked) -> Any:
    """The type of what ``node`` makes of a ``given``; Any where it cannot be told. Gathers every field it names."""
    kind, children = node["type"], node["children"]
    if kind == "field":
        asked.add(node["value"], given)
        return _field(given, node["value"])
    if kind in ("subexpression", "pipe", "index_expression"):
        for child in children:
            given = _type_of(child, given, asked)
        return given
    if kind in ("projection", "filter_projection", "value_projection"):
        return _projection(node, given, asked)
    if kind == "flatten":
        inner = _item(_type_of(children[0], given, asked))
        return list[_item(inner) if _is_list(inner) else inner]  # type: ignore[misc]
    if kind == "index":
        return _item(given)
    if kind in ("slice", "identity", "current"):
        return given
    if kind == "function_expression":
        return _function(node, given, asked)
    for child in children:  # comparisons, and/or/not, multi-selects, literals, expression references
        _type_of(child, given, asked)
    return Any


def _projection(node: Node, given: Any, asked: _Asked) -> Any:
    source = _type_of(node["children"][0], given, asked)
    item = _values(source) if node["type"] == "value_projection" else _item(source)
    for child in node["children"][2:]:  # a filter's condition
        _type_of(child, item, asked)
    return list[_type_of(node["children"][1], item, asked)]  # type: ignore[misc]


def _function(node: Node, given: Any, asked: _Asked) -> Any:
    arguments = [child for child in node["children"] if child["type"] != "expref"]
    types_ = [_type_of(child, given, asked) for child in arguments]
    for reference in (child for child in node["children"] if child["type"] == "expref"):
        _type_of(reference["children"][0], _item(types_[0]) if types_ else Any, asked)
    if node["value"] in _KEEPS and types_:
        return types_[0]
    return _item(types_[0]) if node["value"] in _ITEM and types_ else Any


def _field(given: Any, name: str) -> Any:
    for alternative in _alternatives(given):
        if alternative is Any:
            return Any
        if typing.get_origin(alternative) is dict:
            return typing.get_args(alternative)[1]
        if isinstance(alternative, type) and issubclass(alternative, msgspec.Struct):
            hints = typing.get_type_hints(alternative)
            if name in hints:
                return hints[name]
            raise BadQuery(f"{_called(alternative)} has no field {name!r} (have: {', '.join(hints)})")
    raise BadQuery(f"{name!r} is asked of {_called(given)}, which has no fields")


def _item(given: Any) -> Any:
    for alternative in _alternatives(given):
        if typing.get_origin(alternative) in (tuple, list):
            return typing.get_args(alternative)[0]
    return Any


def _values(given: Any) -> Any:
    return next((typing.get_args(a)[1] for a in _alternatives(given) if typing.get_origin(a) is dict), Any)


def _is_list(given: Any) -> bool:
    return any(typing.get_origin(a) in (tuple, list) for a in _alternatives(given))


def _alternatives(given: Any) -> list[Any]:
    if isinstance(given, types.UnionType) or typing.get_origin(given) is typing.Union:
        return [a for a in typing.get_args(given) if a is not type(None)]
    return [given]


def _called(given: Any) -> str:
    name = getattr(given, "__name__", str(given))
    return "a list" if _is_list(given) else f"a {name.removesuffix('View').lower()}"
