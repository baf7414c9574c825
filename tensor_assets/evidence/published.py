"""A built site, checked without the store it was built from.

The last step of a build seals the site: ``evidence/seal.json`` names every file with its hash, so an edit anywhere is
found. A number on a page says where it comes from, in a way that survives without the seal:

    <data value="7312.5" data-evidence="<record id>#/timings/0/median_ns">7.31 µs</data>

The record is on the site, under its id, as the bytes that its id is the hash of; the pointer leads to the value, and
the text a reader sees is that value, rounded, in some decimal unit.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from tensor_assets.evidence.findings import Finding, Report
from tensor_assets.evidence.key import canonical, one_line

SEAL = "evidence/seal.json"

_NUMBER = re.compile(r"[-−]?\d[\d,\u202f ]*(?:\.\d+)?(?:e[-+]?\d+)?")
_TOLERANCE = 0.006  # three significant digits


class Seal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``root`` is that of the store the site was built from (``verification.root_of``)."""

    root: str
    files: dict[str, str]  # path → SHA-256


def seal_site(site: Path, root: str) -> str:
    """Seal a built site and return the seal's hash: what to note elsewhere of a site that is published."""
    files = {path: _hash(site / path) for path in _files(site) if path != SEAL}
    data = canonical(Seal(root=root, files=files))
    (site / SEAL).parent.mkdir(exist_ok=True)
    (site / SEAL).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def verify_site(site: Path, seal: str = "") -> Report:
    """Every file against the seal, carried evidence against its names, and every number against its record.

    ``seal``: the hash that ``seal_site`` returned, where it is known.
    """
    began = time.monotonic()
    found = [*_broken_seal(site, seal), *_broken_evidence(site), *_broken_numbers(site)]
    paths = list(_files(site))
    return Report(
        url=str(site),
        files=len(paths),
        bytes=sum((site / path).stat().st_size for path in paths),
        records=len(list((site / "evidence").glob("*.json"))) - (site / SEAL).is_file(),
        root=_root(site),
        seconds=time.monotonic() - began,
        findings=tuple(found),
    )


def _broken_seal(site: Path, expected: str) -> Iterator[Finding]:
    data = (site / SEAL).read_bytes() if (site / SEAL).is_file() else b""
    if not data:
        yield Finding("missing", SEAL, "the site was never sealed, or its seal is gone")
        return
    if expected and hashlib.sha256(data).hexdigest() != expected:
        yield Finding("changed", SEAL, "not the seal that was noted")
    try:
        sealed = msgspec.json.decode(data, type=Seal).files
    except msgspec.MsgspecError as error:
        yield Finding("changed", SEAL, one_line(str(error)))
        return
    present = {path for path in _files(site) if path != SEAL}
    for path in sorted(sealed.keys() - present):
        yield Finding("missing", path, "the site was sealed with it")
    for path in sorted(present - sealed.keys()):
        yield Finding("foreign", path, "the site was sealed without it")
    for path in sorted(present & sealed.keys()):
        if _hash(site / path) != sealed[path]:
            yield Finding("changed", path, "edited since the site was sealed")


def _broken_evidence(site: Path) -> Iterator[Finding]:
    for path in sorted((site / "evidence").glob("*.txt")):
        if re.fullmatch(r"[0-9a-f]{64}", path.stem) and _hash(path) != path.stem:
            yield Finding("changed", f"evidence/{path.name}", "does not hash to its name")


def _broken_numbers(site: Path) -> Iterator[Finding]:
    records: dict[str, Any] = {}
    for path in sorted(site.rglob("*.html")):
        parser = _Numbers()
        parser.feed(path.read_text(encoding="utf-8"))
        for value, evidence, text in parser.numbers:
            problem = _problem(site, records, value, evidence, text)
            if problem:
                yield Finding("inconsistent", path.relative_to(site).as_posix(), one_line(f"{text.strip()}: {problem}"))


def _problem(site: Path, records: dict[str, Any], value: str, evidence: str, text: str) -> str:
    record_id, _, pointer = evidence.partition("#")
    if record_id not in records:
        records[record_id] = _record(site, record_id)
    if records[record_id] is None:
        return f"its record {record_id[:12]}… is not on the site, or not what its id says"
    there = _at(records[record_id], pointer)
    if isinstance(there, bool) or not isinstance(there, int | float):
        return f"its record has no number at {pointer}"
    try:
        if float(value) != float(there):
            return f"the page says {value}, its record {there}"
    except ValueError:
        return f"the page's value {value[:40]!r} is no number"
    return "" if _shows(text, float(there)) else f"does not show {there}"


def _record(site: Path, record_id: str) -> Any:
    path = site / "evidence" / f"{record_id}.json"
    if not re.fullmatch(r"[0-9a-f]{64}", record_id) or not path.is_file() or _hash(path) != record_id:
        return None
    return msgspec.json.decode(path.read_bytes())


def _at(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to, None where it leads nowhere."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return None
    return value


def _shows(text: str, value: float) -> bool:
    """Whether ``text`` is ``value`` to three digits in some decimal unit (or as a percentage)."""
    match = _NUMBER.search(text)
    if match is None:
        return False
    shown = float(re.sub(r"[,\u202f ]", "", match[0]).replace("−", "-"))
    if value == 0 or shown == 0:
        return abs(shown - value) < 0.0005
    scale = round(math.log10(abs(value / shown)))
    return scale in (-2, *range(-12, 13, 3)) and abs(shown * 10.0**scale / value - 1) <= _TOLERANCE


class _Numbers(HTMLParser):
    """Every ``<data data-evidence>``: its value, where it comes from, the text it encloses."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[tuple[str, str, str]] = []
        self._open: list[tuple[str, str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "data":
            found = dict(attrs)
            self._open.append((found.get("value") or "", found.get("data-evidence") or "", []))

    def handle_data(self, data: str) -> None:
        for _, _, text in self._open:
            text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "data" and self._open:
            value, evidence, text = self._open.pop()
            if evidence:
                self.numbers.append((value, evidence, "".join(text)))


def _root(site: Path) -> str:
    try:
        return msgspec.json.decode((site / SEAL).read_bytes(), type=Seal).root
    except (OSError, msgspec.MsgspecError):
        return ""


def _files(site: Path) -> Iterator[str]:
    return (path.relative_to(site).as_posix() for path in sorted(site.rglob("*")) if path.is_file())


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
