"""Strict reading of JSON that someone else wrote: a refusal names file, JSON pointer, value, and what is allowed."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from tensor_assets.errors import ManifestError

_MAX_BYTES = 256 * 1024  # the largest manifest of the project has 2 KiB
_MAX_LINE = 300
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")


def read_document(path: Path) -> Node:
    """The JSON object in ``path``. Raises ManifestError for anything else: too large, not UTF-8, duplicate names."""
    source = "".join(c if c.isprintable() else "�" for c in str(path))
    try:
        if not path.is_file():
            raise ManifestError(source, "", "is no file" if path.exists() else "does not exist")
        if path.stat().st_size > _MAX_BYTES:
            raise ManifestError(source, "", f"has {path.stat().st_size:,} bytes, at most {_MAX_BYTES:,} are read")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ManifestError(source, "", f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ManifestError(
            source, "", f"is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}"
        ) from None
    return parse_document(text, source)


def parse_document(text: str, source: str) -> Node:
    """As ``read_document``, from text; ``source`` is what errors call it."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_bounded_int)
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        raise ManifestError(source, "", problem) from None
    except RecursionError:
        raise ManifestError(source, "", "is nested too deeply to be read") from None
    except _Refused as refusal:
        raise ManifestError(source, "", str(refusal)) from None
    node = Node(value, source, "")
    node.members()
    return node


def is_name(text: str) -> bool:
    """Whether ``text`` can name a value everywhere: in Python, in C, in a file name, in a page."""
    return bool(_NAME.match(text)) and not keyword.iskeyword(text)


def shown(value: object) -> str:
    """A value as an error shows it: JSON, shortened, nothing that a terminal or a page would act on."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "…"


class Node:
    """A JSON value with where it stands."""

    def __init__(self, value: Any, source: str, pointer: str) -> None:
        self.value, self.source, self.pointer = value, source, pointer

    def fail(self, problem: str) -> NoReturn:
        raise ManifestError(self.source, self.pointer, problem)

    def expected(self, allowed: str) -> NoReturn:
        self.fail(f"{shown(self.value)} is not allowed, expected {allowed}")

    def at(self, key: str | int) -> Node:
        """The member or item ``key``; an absent one reads as null."""
        escaped = json.dumps(str(key)[:64])[1:-1].replace("~", "~0").replace("/", "~1")
        found = self.value.get(key) if isinstance(key, str) else self.value[key]
        return Node(found, self.source, f"{self.pointer}/{escaped}")

    def has(self, key: str) -> bool:
        return key in self.value

    def members(self) -> dict[str, Node]:
        if not isinstance(self.value, dict):
            self.expected("an object")
        return {key: self.at(key) for key in self.value}

    def items(self, least: int, most: int, what: str) -> list[Node]:
        if not isinstance(self.value, list) or not least <= len(self.value) <= most:
            self.expected(f"a list of {least} to {most} {what}")
        return [self.at(index) for index in range(len(self.value))]

    def only(self, required: Iterable[str], optional: Iterable[str] = ()) -> None:
        """Refuse missing and unknown members."""
        required, optional = tuple(required), tuple(optional)
        for key, node in self.members().items():
            if key not in (*required, *optional):
                node.fail(f"unknown member, allowed are {', '.join((*required, *optional))}")
        for key in required:
            if not self.has(key):
                self.fail(f"member {shown(key)} is missing")

    def name(self, what: str) -> str:
        if not isinstance(self.value, str) or not is_name(self.value):
            self.expected(f"{what}: a letter or underscore, then at most 63 letters, digits, underscores, no keyword")
        return str(self.value)

    def line(self) -> str:
        if not isinstance(self.value, str) or not 0 < len(self.value) <= _MAX_LINE or not self.value.isprintable():
            self.expected(f"one printable line of 1 to {_MAX_LINE} characters")
        return str(self.value)

    def choice(self, allowed: Iterable[str]) -> str:
        allowed = tuple(allowed)
        if not isinstance(self.value, str) or self.value not in allowed:
            self.expected(f"one of {', '.join(allowed)}")
        return str(self.value)

    def integer(self, least: int, most: int) -> int:
        if type(self.value) is not int or not least <= self.value <= most:
            self.expected(f"an integer from {least} to {most:,}")
        return int(self.value)

    def number(self, least: float, most: float) -> float:
        if type(self.value) not in (int, float) or not math.isfinite(self.value) or not least <= self.value <= most:
            self.expected(f"a number from {least:g} to {most:g}")
        return float(self.value)

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            self.expected("true or false")
        return bool(self.value)


class _Refused(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Refused(f"member {shown(key)} appears twice in one object")
        found[key] = value
    return found


def _no_constant(text: str) -> NoReturn:
    raise _Refused(f"{text} is no JSON number")


def _bounded_int(text: str) -> int:
    if len(text) > 20:
        raise _Refused(f"integer {text[:12]}… has {len(text)} digits")
    return int(text)
