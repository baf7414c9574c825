"""What a built page says its records say, held against those records.

    <data value="7312.5" data-evidence="<record id>#/timings/0/median_ns">7.31 µs</data>
    <data value="4194304" data-evidence="<id>#/buffers/4/bytes <id>#/buffers/4/bytes" data-of="sum">4 MiB</data>
    <data value="HGMMA.64x64x16.F32" data-evidence="<id>#/plan/launches/1/instruction">HGMMA.64x64x16.F32</data>
    <code data-excerpt="<sha256>"><span data-line="52">  %8 = mgp.buffer.alloc …</span>…</code>

The record lies on the site under its id, the excerpt's text under its hash. A number is shown rounded, in the unit that
its text names; words and lines are shown as they are.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

_NUMBER = re.compile(r"([-−]?\d[\d,\u202f ]*(?:\.(\d+))?(?:e([-+]?\d+))?)[\s\u202f\u00a0]*([%A-Za-zµ]*)")
_BYTES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_NANOSECONDS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
_THOUSANDS = tuple(10.0**power for power in range(-12, 13, 3))  # a column's head may hold the unit
_LISTING = re.compile(r"<pre\b[^>]*>(?!<code data-excerpt).*?</pre>", re.DOTALL)
_HASH = re.compile(r"[0-9a-f]{64}")
_PLACE = re.compile(r"[0-9]{1,9}")

# What may be made of several values; the name stands in ``data-of``.
MADE: dict[str, Callable[[list[Any]], float]] = {
    "sum": math.fsum,
    "ratio": lambda values: values[0] / values[1],
    "difference": lambda values: values[0] - values[1],
    "least": min,
    "most": max,
    "count": len,
}


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One ``<data data-evidence>`` of a page."""

    value: str
    evidence: str
    of: str
    text: str


class Quoted(msgspec.Struct, frozen=True, kw_only=True):
    """One line of an excerpt."""

    sha256: str
    line: int
    text: str


def false_statements(site: Path) -> Iterator[tuple[str, str, str]]:
    """Page, what it shows, and why its record does not say so."""
    checker = _Checker(site / "evidence")
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "data-evidence" not in text and "data-excerpt" not in text:
            continue
        parser = _Statements()
        parser.feed(without_listings(text))
        page = path.relative_to(site).as_posix()
        for said in parser.said:
            if problem := checker.problem(said):
                yield page, said.text.strip(), problem
        for quoted in parser.quoted:
            if problem := checker.misquoted(quoted):
                yield page, quoted.text.strip(), problem


def without_listings(text: str) -> str:
    """A page without its listings of whole stages: long, and nothing in them says anything of a record."""
    return _LISTING.sub("", text)


def pointed(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to; None where it leads nowhere. ``/launches/#`` is the length of a list."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list | dict) and part == "#":
            value = len(value)
        elif isinstance(value, list) and _PLACE.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return None
    return value


def made(of: str, values: list[Any]) -> float:
    """What ``of`` makes of several values; without it, of the one there is. Raises ArithmeticError, LookupError."""
    return float(MADE[of](values)) if of else float(values[0])


def shows(text: str, value: float) -> bool:
    """Whether ``text`` is ``value``, rounded to the digits it shows, in the unit it names."""
    match = _NUMBER.search(text)
    if match is None:
        return False
    digits = float(re.sub(r"[,\u202f\u00a0 ]", "", match[1]).replace("−", "-"))
    try:
        half = 0.5000001 * 10.0 ** (int(match[3] or 0) - len(match[2] or ""))
    except (OverflowError, ValueError):  # an exponent that no float has
        return False
    if digits == 0:
        return abs(value) < 0.0005  # anything is 0 in a unit large enough
    return any(abs(digits - value / scale) <= half for scale in _scales(match[4]))


def _scales(unit: str) -> tuple[float, ...]:
    if unit == "%":
        return (0.01,)
    if unit in _BYTES and unit != "B":
        return (_BYTES[unit],)
    if unit in _NANOSECONDS:  # of a record's nanoseconds, or of its seconds
        return (_NANOSECONDS[unit], _NANOSECONDS[unit] / 1e9)
    return (1.0, *_THOUSANDS)


class _Checker:
    """Reads each record and text of a site once."""

    def __init__(self, evidence: Path) -> None:
        self._folder = evidence
        self._records: dict[str, Any] = {}
        self._lines: dict[str, list[str] | None] = {}

    def problem(self, said: Said) -> str:
        there = [self._at(address) for address in said.evidence.split()]
        missing = next((text for text, found in there if not found), "")
        if missing or not there:
            return missing or "names no evidence"
        values = [found[0] for _, found in there]
        if len(values) == 1 and isinstance(values[0], str) and not said.of:
            return "" if said.value == values[0] and _same(said.text, values[0]) else f"its record says {values[0]!r}"
        return _number_problem(said, values)

    def misquoted(self, quoted: Quoted) -> str:
        lines = self._text(quoted.sha256)
        if lines is None:
            return f"its text {quoted.sha256[:12]}… is not on the site, or not what its hash says"
        there = lines[quoted.line - 1] if 0 < quoted.line <= len(lines) else None
        if there is None:
            return f"its text has no line {quoted.line}"
        return "" if _same(quoted.text, there) else f"line {quoted.line} of its text is {there.strip()[:80]!r}"

    def _at(self, address: str) -> tuple[str, tuple[Any, ...]]:
        """A reason and nothing, or nothing and the value."""
        record_id, _, pointer = address.partition("#")
        if record_id not in self._records:
            self._records[record_id] = self._record(record_id)
        if self._records[record_id] is None:
            return f"its record {record_id[:12]}… is not on the site, or not what its id says", ()
        value = pointed(self._records[record_id], unquote(pointer))  # a space is %20: addresses are told apart by it
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return f"its record has neither number nor words at {pointer}", ()
        return "", (value,)

    def _record(self, record_id: str) -> Any:
        data = self._file(record_id, ".json")
        try:
            return None if data is None else msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def _text(self, sha256: str) -> list[str] | None:
        if sha256 not in self._lines:
            data = self._file(sha256, ".txt")
            self._lines[sha256] = None if data is None else lines_of(data.decode(errors="replace"))
        return self._lines[sha256]

    def _file(self, name: str, suffix: str) -> bytes | None:
        path = self._folder / f"{name}{suffix}"
        if not _HASH.fullmatch(name) or not path.is_file():
            return None
        data = path.read_bytes()
        return data if hashlib.sha256(data).hexdigest() == name else None


def lines_of(text: str) -> list[str]:
    """The lines as pages number them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")


def _number_problem(said: Said, values: list[Any]) -> str:
    if said.of != "count" and any(isinstance(value, str) for value in values):
        return "words do not add up"
    if said.of and said.of not in MADE:
        return f"{said.of[:20]!r} is nothing that can be made of numbers"
    if not said.of and len(values) > 1:
        return "names several values and not what is made of them"
    try:
        value = made(said.of, values)
    except (ArithmeticError, LookupError, ValueError) as error:
        return f"nothing can be made of its values: {error}"
    try:
        if not math.isclose(float(said.value), value, rel_tol=1e-12):
            return f"the page says {said.value}, its record {value:g}"
    except ValueError:
        return f"the page's value {said.value[:40]!r} is no number"
    return "" if shows(said.text, value) else f"does not show {value:g}"


def _same(shown: str, there: str) -> bool:
    """Equal but for white space; control characters are shown as their pictures."""
    pictured = "".join(chr(0x2400 + ord(c)) if ord(c) < 32 and c not in "\t\n" else c for c in there)
    return shown.split() in (there.split(), pictured.split())


class _Statements(HTMLParser):
    """Every ``<data data-evidence>`` and every ``data-line`` inside a ``data-excerpt``."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Said] = []
        self.quoted: list[Quoted] = []
        self._data: list[tuple[dict[str, str | None], list[str]]] = []
        self._excerpt = ""
        self._line: tuple[int, list[str]] | None = None
        self._depth = 0  # of elements inside the line

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if self._line:
            self._depth += 1
        if tag == "data":
            self._data.append((found, []))
        elif found.get("data-excerpt"):
            self._excerpt = found["data-excerpt"] or ""
        elif found.get("data-line") and self._excerpt:
            number = found["data-line"] or ""
            self._line, self._depth = (int(number) if _PLACE.fullmatch(number) else 0, []), 0

    def handle_data(self, data: str) -> None:
        for _, text in self._data:
            text.append(data)
        if self._line:
            self._line[1].append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "data" and self._data:
            attributes, text = self._data.pop()
            if attributes.get("data-evidence"):
                self.said.append(_said(attributes, "".join(text)))
        if self._line:
            if self._depth == 0:
                self.quoted.append(Quoted(sha256=self._excerpt, line=self._line[0], text="".join(self._line[1])))
                self._line = None
            self._depth -= 1


def _said(attributes: dict[str, str | None], text: str) -> Said:
    value, evidence, of = (attributes.get(name) or "" for name in ("value", "data-evidence", "data-of"))
    return Said(value=value, evidence=evidence, of=of, text=text)
