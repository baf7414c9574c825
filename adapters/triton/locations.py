"""Which line of the authored source each line of a Triton stage came from, as Triton itself records it."""

from __future__ import annotations

import re

from .authoring import SOURCE_NAME

LineMap = dict[int, int]  # line of the stage → line of the source, both 1-based

_FILE = re.escape(SOURCE_NAME)


def source_lines(stage: str, text: str) -> LineMap:
    """``stage`` is Triton's name of it: ttir, ttgir, llir, ptx or sass."""
    if stage in ("ttir", "ttgir"):
        return _mlir(text)
    return _llvm(text) if stage == "llir" else _running(text, _DIRECTIVES[stage])


# The directive that holds until the next one; SASS writes the outermost line last where code was inlined.
_DIRECTIVES = {
    "ptx": re.compile(rf"^\s*\.loc\s+\d+ \d+ \d+.*?{_FILE}:(\d+)"),
    "sass": re.compile(rf'^\s*//## File "{_FILE}", line (\d+)(?! inlined)'),
}


def _running(text: str, directive: re.Pattern[str]) -> LineMap:
    found: LineMap = {}
    current: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if match := directive.match(line):
            current = int(match[1])
        elif current is not None and line.strip() and not line.lstrip().startswith((".", "//", "$", "}")):
            found[number] = current
    return found


def _mlir(text: str) -> LineMap:
    """Follows ``loc(#loc7)`` through names and call sites to a place in the source."""
    aliases = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.MULTILINE))
    found: LineMap = {}
    for number, line in enumerate(text.splitlines(), start=1):
        reference = re.search(r" loc\((#loc\d*)\)$", line)
        place = _place(reference[1], aliases) if reference and not line.startswith("#loc") else None
        if place is not None:
            found[number] = place
    return found


def _place(text: str, aliases: dict[str, str]) -> int | None:
    """The source line of a location. Of a call site it is the caller's: the callee is Triton's library."""
    if direct := re.match(rf'"{_FILE}":(\d+):', text):
        return int(direct[1])
    caller = re.match(r"callsite\(.* at (#loc\d*)\)$", text)
    named = caller or re.match(r'"[^"]*"\((#loc\d*)\)$', text) or re.match(r"(#loc\d*)$", text)
    return _place(aliases.get(named[1], ""), aliases) if named else None


def _llvm(text: str) -> LineMap:
    places = {
        name: int(line) for name, line in re.findall(r"^(!\d+) = .*!DILocation\(line: (\d+),", text, re.MULTILINE)
    }
    found: LineMap = {}
    for number, line in enumerate(text.splitlines(), start=1):
        reference = re.search(r"!dbg (!\d+)$", line)
        if reference and reference[1] in places:
            found[number] = places[reference[1]]
    return found
