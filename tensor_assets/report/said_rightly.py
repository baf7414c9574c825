"""Eight things that must not be said with right numbers: looked for in a built site, against the records it carries.

Each number on a page names its record and the place in it, so what a sentence or a table's cell says about it can be
held against what it is: whose it is, which clock, which kind of launch, whether it was counted in code or in a run.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from tensor_assets.evidence.shown import without_listings

BLOCKS = {"p", "li", "td", "dd", "dt", "th", "figcaption", "caption", "h1", "h2", "h3"}
INTERVAL = re.compile(r"confidence|95\s*%|\bCI\b", re.IGNORECASE)
NEGATED = re.compile(r"not an? (interval|confidence)[^.]*|no interval[^.]*", re.IGNORECASE)
RATE = re.compile(r"FLOP/?s|\bflops\b|operations (a|per) second", re.IGNORECASE)
SPEED = re.compile(r"\b(faster|slower|quicker|speed-?up)\b", re.IGNORECASE)
DYNAMIC = re.compile(r"\b(executed|executions|dynamic|times it runs)\b", re.IGNORECASE)
TILE = re.compile(r"\btiles?\b", re.IGNORECASE)
TILE_PARAMETER = re.compile(r"^(block_?[mnk]|tile.*|block shape)$", re.IGNORECASE)
MEAN = re.compile(r"\b(on average|averages?|geometric mean|arithmetic mean)\b", re.IGNORECASE)
COVERAGE = re.compile(r"\b\d+\s+of\s+\d+\b|\bof all \d+\b")


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """Where one shown value comes from; several places where it was made of several."""

    places: tuple[tuple[str, str], ...]  # record id, JSON pointer
    of: str


class Block(msgspec.Struct, kw_only=True):
    """A paragraph, an item or a table's cell with the head of its column."""

    text: str = ""
    numbers: list[Number] = []


class Page(msgspec.Struct, kw_only=True):
    """``about`` is the workload, shape and target of a cell's page; empty on others."""

    about: dict[str, str]
    blocks: list[Block]


def wrong_sayings(site: Path) -> list[str]:
    """One sentence for each thing that a page or a chart of the built ``site`` must not say."""
    records = _Records(site / "evidence")
    found = [f"{name}: {problem}" for name, chart in _charts(site) for problem in _of_chart(chart)]
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        if "data-evidence" not in text:
            continue
        page = read_blocks(text)
        name = path.relative_to(site).as_posix()
        found += [f"{name}: {problem}" for problem in dict.fromkeys(_of_page(page, records))]
    return found


def read_blocks(text: str) -> Page:
    parser = _Blocks()
    parser.feed(without_listings(text))
    return Page(about=parser.about, blocks=parser.blocks)


def _of_page(page: Page, records: _Records) -> Iterator[str]:
    for block in page.blocks:
        for number in block.numbers:
            for record_id, pointer in number.places:
                record = records[record_id]
                if record is not None:
                    yield from _elsewhere(page.about, record)
                    for check in CHECKS:
                        if problem := check(block.text, record, pointer):
                            yield f"{problem}: {_short(block.text)}"
        yield from _across(block, records)


def _elsewhere(about: dict[str, str], record: dict[str, Any]) -> Iterator[str]:
    """Another workload's, shape's or device's evidence under a cell."""
    key = record.get("key", {})
    for part, here in about.items():
        if key.get(part) and key[part] != here:
            yield f"shows evidence of {part} {key[part]} under {part} {here}"
    device = (record.get("allocation") or {}).get("device", "")
    target = about.get("target", "")
    if device and target and target != "cpu" and device != target:
        yield f"shows evidence of device {device} under {target}"


def _interval(text: str, record: dict[str, Any], pointer: str) -> str:
    said = NEGATED.sub("", text)
    is_range = re.search(r"/series/\d+/(median|p10|p90)_ns$", pointer)
    return "calls a range of process medians an interval of confidence" if is_range and INTERVAL.search(said) else ""


def _counts(text: str, record: dict[str, Any], pointer: str) -> str:
    counted = pointer.startswith("/opcodes/")
    return "calls static opcode counts dynamic" if counted and DYNAMIC.search(text) else ""


def _tile(text: str, record: dict[str, Any], pointer: str) -> str:
    launch = re.match(r"/plan/launches/(\d+)/", pointer)
    if not launch:
        return ""
    known = record["plan"]["launches"][int(launch[1])]
    if known.get("kind") != "library":
        return ""
    named = pointer.endswith(("/name", "/parameters/device kernel", "/parameters/device%20kernel"))
    reported = any(TILE_PARAMETER.match(name) for name in known.get("parameters", {}))
    said = TILE.search(text) and named and not reported
    return "reads a tile from a library kernel's name" if said else ""


def _rate(text: str, record: dict[str, Any], pointer: str) -> str:
    timing = re.match(r"/timings/(\d+)/", pointer)
    host = timing and record["timings"][int(timing[1])].get("clock") == "host"
    return "divides host latency into operations a second" if host and RATE.search(text) else ""


def _speed(text: str, record: dict[str, Any], pointer: str) -> str:
    count = pointer in ("/plan/launches/#", "/plan/launches") or re.fullmatch(r"/plan/launches/\d+/kind", pointer)
    return "shows a count of launches as a speed" if count and SPEED.search(text) else ""


# What one shown place must not be called: text, record and JSON pointer in, complaint or nothing out.
CHECKS: tuple[Callable[[str, dict[str, Any], str], str], ...] = (_interval, _counts, _tile, _rate, _speed)


def _across(block: Block, records: _Records) -> Iterator[str]:
    """What several records say together."""
    used = {record_id: records[record_id] for number in block.numbers for record_id, _ in number.places}
    if MEAN.search(block.text) and len(used) > 1 and not COVERAGE.search(block.text):
        yield f"averages over {len(used)} records without saying of how many: {_short(block.text)}"
    allocations = {
        (record.get("allocation") or {}).get("id", "") for record in used.values() if record and "timings" in record
    } - {""}
    if len(allocations) > 1 and "allocation" not in block.text:
        yield f"sets times of {len(allocations)} allocations beside each other without saying so: {_short(block.text)}"


def _of_chart(chart: dict[str, Any]) -> Iterator[str]:
    heading = chart.get("title", {})
    subtitle = heading.get("subtitle", "")
    words = " ".join([str(heading.get("text", "")), *([subtitle] if isinstance(subtitle, str) else subtitle)])
    rows = chart.get("datasets", {}).get("rows", [])
    allocations = {row["allocation"] for row in rows if row.get("allocation")}
    if len(allocations) > 1 and "allocation" not in words:
        yield f"holds times of {len(allocations)} allocations without saying so"
    if any("low" in row and "high" in row for row in rows) and INTERVAL.search(NEGATED.sub("", words)):
        yield "calls a range of process medians an interval of confidence"
    if re.search(r'"aggregate": ?"(mean|average)"', json.dumps(chart)) and not COVERAGE.search(words):
        yield "averages without saying over how many"
    if RATE.search(words) and "host" in words:
        yield "divides host latency into operations a second"


def _charts(site: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((site / "charts").glob("*.json")):
        yield path.relative_to(site).as_posix(), msgspec.json.decode(path.read_bytes())


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 120 else f"{words[:119]}…"


class _Records:
    """The records a site carries, each read once; None for one that it lacks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, Any] | None] = {}

    def __getitem__(self, record_id: str) -> dict[str, Any] | None:
        if record_id not in self._known:
            path = self._folder / f"{record_id}.json"
            self._known[record_id] = msgspec.json.decode(path.read_bytes()) if path.is_file() else None
        return self._known[record_id]


class _Blocks(HTMLParser):
    """The blocks that hold numbers. A table's cell gets the words of its column's head."""

    def __init__(self) -> None:
        super().__init__()
        self.about: dict[str, str] = {}
        self.blocks: list[Block] = []
        self._open: list[Block] = []
        self._heads: dict[int, str] = {}  # by column; a head may begin with an empty cell that is none
        self._column = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if "data-cell" in found:
            self.about = json.loads(html.unescape(found["data-cell"]))
        if tag in ("table", "thead"):
            self._heads = {}
        elif tag == "tr":
            self._column = 0
        if tag in BLOCKS:
            self._open.append(Block(text=self._head() if tag == "td" else "", numbers=[]))
        if tag == "data" and found.get("data-evidence") and self._open:
            self._open[-1].numbers.append(_number(found))

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].text += data

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS and self._open:
            block = self._open.pop()
            if tag == "th":
                self._heads.setdefault(self._column, block.text)  # the head of a row names no column
            if tag in ("td", "th"):
                self._column += 1
            if block.numbers:
                self.blocks.append(block)

    def _head(self) -> str:
        return self._heads[self._column] + ": " if self._column in self._heads else ""


def _number(found: dict[str, str]) -> Number:
    places = (address.partition("#") for address in found["data-evidence"].split())
    return Number(places=tuple((record_id, pointer) for record_id, _, pointer in places), of=found.get("data-of", ""))
