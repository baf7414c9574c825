"""Luminal's logical program: one egglog ``let`` a value, the graph before any rewriting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .errors import BundleError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()";]+')


@dataclass(frozen=True)
class Binding:
    """``(let NAME TERM)``: ``operands`` are the earlier names in the term, in order; ``literals`` its other words."""

    name: str
    op: str
    operands: tuple[str, ...]
    literals: tuple[str, ...]
    lines: tuple[int, int]


def read_logical(text: str, file: str = "logical.egg") -> tuple[Binding, ...]:
    """The program's bindings in order; other commands (sorts, rules, runs) are passed over. Raises BundleError."""
    bindings: list[Binding] = []
    known: set[str] = set()
    for tokens, lines in _commands(text, file):
        if len(tokens) < 5 or tokens[1] != "let":
            continue
        name = tokens[2]
        if name in known:
            raise BundleError(file, f"{name} is bound twice", f"line {lines[0]}")
        bindings.append(_binding(name, tokens[3:-1], known, lines))
        known.add(name)
    if not bindings:
        raise BundleError(file, "it binds nothing: a logical program is a list of (let NAME TERM)")
    return tuple(bindings)


def _binding(name: str, term: list[str], known: set[str], lines: tuple[int, int]) -> Binding:
    words = [token for token in term if token not in "()"]
    op, rest = (words[0], words[1:]) if term[0] == "(" else ("", words)
    return Binding(
        name=name,
        op=op,
        operands=tuple(word for word in rest if word in known),
        literals=tuple(word for word in rest if word not in known),
        lines=lines,
    )


def _commands(text: str, file: str) -> Iterator[tuple[list[str], tuple[int, int]]]:
    """Top-level parenthesized commands as flat tokens, with their lines."""
    tokens: list[str] = []
    depth = first = 0
    for number, line in enumerate(text.splitlines(), start=1):
        for token in _TOKEN.findall(_without_comment(line)):
            if depth == 0:
                if token != "(":
                    raise BundleError(file, f"{token!r} stands outside of any command", f"line {number}")
                tokens, first = [], number
            depth += (token == "(") - (token == ")")
            tokens.append(token)
            if depth == 0:
                yield tokens, (first, number)
    if depth:
        raise BundleError(file, "the command is not closed", f"line {first}")


def _without_comment(line: str) -> str:
    """Up to the first semicolon that is not inside a string."""
    quoted = False
    for index, character in enumerate(line):
        if character == '"' and (index == 0 or line[index - 1] != "\\"):
            quoted = not quoted
        elif character == ";" and not quoted:
            return line[:index]
    return line
