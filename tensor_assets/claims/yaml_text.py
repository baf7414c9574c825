"""YAML that someone else wrote, as plain data: PyYAML's parser, and none of what makes YAML dangerous.

Read are mappings with text keys, lists, text, integers, finite numbers, true, false and null. Anchors and aliases
(which make bombs), tags (which make objects), dates, duplicate keys, deep nesting and large files are refused by name.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import yaml

from tensor_assets.errors import ClaimError

MAX_BYTES = 512 * 1024
MAX_DEPTH = 24
_PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str")}

Lines = dict[str, int]  # JSON pointer → line


def read_yaml(data: bytes, source: str) -> tuple[Any, Lines]:
    """The document in ``data``, and the line on which each of its values stands. Raises ClaimError."""
    return _Reader(source).read(data)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: Lines = {}
        self.scalars = yaml.SafeLoader("")

    def read(self, data: bytes) -> tuple[Any, Lines]:
        if len(data) > MAX_BYTES:
            raise ClaimError(self.source, "", 0, f"has {len(data):,} bytes, at most {MAX_BYTES:,} are read")
        try:
            text = data.decode("utf-8")
            self._refuse_dangers(text)
            node = yaml.compose(text, yaml.SafeLoader)
        except UnicodeDecodeError as error:
            raise ClaimError(
                self.source, "", 0, f"is not UTF-8: byte {error.start} is {data[error.start]:#04x}"
            ) from None
        except yaml.MarkedYAMLError as error:
            raise ClaimError(self.source, "", _line(error.problem_mark), f"is not YAML: {error.problem}") from None
        except yaml.YAMLError as error:
            raise ClaimError(self.source, "", 0, f"is not YAML: {' '.join(str(error).split())}") from None
        if node is None:
            raise ClaimError(self.source, "", 0, "is empty, expected a mapping with the key claims")
        return self._value(node, ""), self.lines

    def _refuse_dangers(self, text: str) -> None:
        """Before anything is built: a bomb has a million leaves only once its aliases are followed."""
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            line = _line(event.start_mark)
            if isinstance(event, yaml.AliasEvent):
                self._fail("", line, f"alias *{event.anchor} is not allowed: write the value out")
            if getattr(event, "anchor", None):
                self._fail("", line, f"anchor &{event.anchor} is not allowed: write the value out")
            if getattr(event, "tag", None):
                self._fail(
                    "", line, f"tag {event.tag} is not allowed: claims hold plain text, numbers, lists and mappings"
                )
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                self._fail("", line, f"is nested more than {MAX_DEPTH} deep")

    def _value(self, node: yaml.Node, pointer: str) -> Any:
        self.lines[pointer] = _line(node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, pointer)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, f"{pointer}/{place}") for place, item in enumerate(node.value)]
        return self._scalar(node, pointer)

    def _mapping(self, node: yaml.MappingNode, pointer: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = _line(key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                self._fail(pointer, line, "a key is a list or a mapping, expected text")
            key = key_node.value
            if key in found:
                self._fail(f"{pointer}/{key}", line, f"key {key!r} stands here twice")
            found[key] = self._value(value_node, f"{pointer}/{key}")
        return found

    def _scalar(self, node: yaml.Node, pointer: str) -> Any:
        line = _line(node.start_mark)
        if node.tag not in _PLAIN:
            kind = node.tag.rpartition(":")[2]
            self._fail(
                pointer, line, f"{node.value!r} reads as a {kind}, expected text (quote it), a number, true or false"
            )
        try:
            value = self.scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            self._fail(pointer, line, f"{node.value!r} cannot be read: {error}")
        if isinstance(value, float) and not math.isfinite(value):
            self._fail(pointer, line, f"{node.value} is not allowed, expected a finite number")
        return value

    def _fail(self, pointer: str, line: int, problem: str) -> NoReturn:
        raise ClaimError(self.source, pointer, line, problem)


def _line(mark: yaml.Mark | None) -> int:
    return mark.line + 1 if mark else 0
