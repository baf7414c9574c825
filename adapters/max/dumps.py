"""Cuts the program's own part out of MAX's dump files.

Every file holds the whole kernel library beside the program: 55–60 MB, of which a few kilobytes are about it. Kept are
the top-level operations that are not library declarations, and the aliases and locations they name.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from tensor_worker.artifacts import Excerpt, Lines

# A definition longer than this is part of the kernel library's type system, not of the program.
LONGEST_DEFINITION = 8_000

_DECLARATION = re.compile(r"  \w+\.(?:\w+\.)*decl\b")  # mogg.kernel.decl, mogg.primitive.decl, …: the library
_DEFINITION = re.compile(r"([#!]\w+) = ")
_DECLARED = re.compile(r"  mogg\.kernel\.decl @([\w.]+)")
_POSITION = re.compile(r'"([^"]+\.mojo)":(\d+):(\d+)')
_REFERENCE = re.compile(r"[#!]\w+")


@dataclass(frozen=True)
class Cut:
    """The kept text of one dump file, and where it was cut from. Lines are 1-based and inclusive."""

    text: str
    ranges: tuple[Lines, ...]
    sha256: str
    bytes: int
    total_lines: int
    sources: dict[str, str]  # library kernel that the kept text names → "FILE:LINE:COLUMN" of its declaration

    def excerpt(self) -> Excerpt | None:
        """None where nothing was left out."""
        if self.ranges == ((1, self.total_lines),):
            return None
        reason = (
            "MAX writes its whole kernel library into the file; kept are the program's operations and what they name"
        )
        return Excerpt(sha256=self.sha256, bytes=self.bytes, lines=self.ranges, reason=reason)


def cut(path: Path) -> Cut:
    """Reads the file once; the text of a file that holds no module is kept whole."""
    data = path.read_bytes()
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    kept = _kept(lines)
    text = "".join(f"{lines[index]}\n" for index in sorted(kept))
    return Cut(
        text=text,
        ranges=_ranges(sorted(kept)),
        sha256=hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        total_lines=len(lines),
        sources=_sources(lines, text),
    )


def _kept(lines: list[str]) -> set[int]:
    """Indices (0-based) of the module's frame, the program's operations and the definitions they reach."""
    frame = [index for index, line in enumerate(lines) if line.startswith("module")]
    if not frame:
        return set(range(len(lines)))
    start = frame[0]
    end = next((index for index in range(start, len(lines)) if lines[index].startswith("}")), len(lines) - 1)
    kept = {start, end}
    kept.update(_program_operations(lines, start + 1, end))
    return kept | _reached_definitions(lines, kept)


def _program_operations(lines: list[str], start: int, end: int) -> set[int]:
    """Operations of the module's body stand at two blanks; what follows deeper, or closes them, belongs to them."""
    kept: set[int] = set()
    keeping = False
    for index in range(start, end):
        line = lines[index]
        if line.startswith("  ") and line[2:3] not in ("", " ", "}"):
            keeping = not _DECLARATION.match(line)
        if keeping:
            kept.add(index)
    return kept


def _reached_definitions(lines: list[str], kept: set[int]) -> set[int]:
    definitions = {
        match[1]: index
        for index, line in enumerate(lines)
        if line[:1] in ("#", "!") and len(line) <= LONGEST_DEFINITION and (match := _DEFINITION.match(line))
    }
    reached: set[int] = set()
    pending = list(kept)
    while pending:
        for name in _REFERENCE.findall(lines[pending.pop()]):
            index = definitions.get(name)
            if index is not None and index not in reached:
                reached.add(index)
                pending.append(index)
    return reached


def _sources(lines: list[str], text: str) -> dict[str, str]:
    """The declaration of each library kernel that ``text`` calls ends with its location."""
    called = set(re.findall(r"@(builtin_\w+(?:\.\w+)+)", text))
    aliases = {match[1]: line for line in lines if line.startswith("#loc") and (match := _DEFINITION.match(line))}
    found: dict[str, str] = {}
    for line in lines:
        if (match := _DECLARED.match(line)) and match[1] in called and match[1] not in found:
            found[match[1]] = _place(line[line.rfind(" loc(") :], aliases)
    return {kernel: place for kernel, place in found.items() if place}


def _place(text: str, aliases: dict[str, str]) -> str:
    """The first file position that a location names, through its aliases."""
    for _ in range(8):
        if match := _POSITION.search(text):
            return ":".join(match.groups())
        names = [name for name in re.findall(r"#loc\w*", text) if name in aliases]
        if not names:
            return ""
        text = aliases[names[-1]].split(" = ", 1)[1]
    return ""


def _ranges(indices: list[int]) -> tuple[Lines, ...]:
    """Runs of consecutive 0-based indices as 1-based, inclusive ranges."""
    ranges: list[Lines] = []
    for index in indices:
        if ranges and ranges[-1][1] == index:
            ranges[-1] = (ranges[-1][0], index + 1)
        else:
            ranges.append((index + 1, index + 1))
    return tuple(ranges)
