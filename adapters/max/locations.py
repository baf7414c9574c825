"""Which ops of the program a line of MAX's MLIR stands for: the profile scopes in its location."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_ALIAS = re.compile(r"(#loc\w*) = (.*)")
_LOCATION = re.compile(r"(?<!,) loc\(")  # after a comma it is part of another location
_NAME = re.compile(r'#loc\w*|#mogg\.profile_scope<"([^"]*)"')


class Locations:
    """The location aliases of one module, resolved to program ops."""

    def __init__(self, lines: Iterable[str], program_ops: Iterable[str]) -> None:
        self._aliases = {match[1]: match[2] for line in lines if (match := _ALIAS.match(line))}
        self._order = {name: index for index, name in enumerate(program_ops)}

    def of(self, text: str) -> tuple[str, ...]:
        """The program ops that the locations in ``text`` name, in program order."""
        found: set[str] = set()
        self._collect(text, found, frozenset())
        return tuple(sorted(found & set(self._order), key=self._order.__getitem__))

    def of_line(self, line: str) -> tuple[str, ...]:
        """The ops of the location that ends the line; a line without one stands for nothing."""
        starts = [match.start() for match in _LOCATION.finditer(line)]
        return self.of(line[starts[-1] :]) if starts else ()

    def _collect(self, text: str, found: set[str], above: frozenset[str]) -> None:
        for match in _NAME.finditer(text):
            if match[1] is not None:
                found.add(match[1])
            elif match[0] not in above and match[0] in self._aliases:
                self._collect(self._aliases[match[0]], found, above | {match[0]})


def line_runs(lines: Iterable[str], locations: Locations) -> Mapping[str, list[tuple[int, int]]]:
    """For every program op, the runs of 1-based lines whose location names it."""
    runs: dict[str, list[tuple[int, int]]] = {}
    for number, line in enumerate(lines, start=1):
        if line.startswith(("#", "!")):
            continue  # aliases define locations, they have none
        for name in locations.of_line(line):
            spans = runs.setdefault(name, [])
            if spans and spans[-1][1] == number - 1:
                spans[-1] = (spans[-1][0], number)
            else:
                spans.append((number, number))
    return runs
