"""What pages say of records: each number and word with the record and the place in it that ``verify`` finds again.

A template asks for a place in a record; what is not there ends the build.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.shown import made, pointed, shows
from tensor_assets.report import quantities
from tensor_assets.report.public import PublicFiles

FORMS: dict[str, Callable[[float], str]] = {
    "duration": lambda value: str(quantities.duration(value)),
    "size": lambda value: str(quantities.size(int(value))),
    "percent": quantities.percent,
    "noise": lambda value: f"±{quantities.percent(value)}",
    "count": lambda value: f"{int(value):,}",
    "plain": lambda value: f"{int(value)}",
    "significant": quantities.significant,
    "times": lambda value: f"{quantities.significant(value)}×",
    "seconds": lambda value: f"{quantities.significant(value)}\u202fs",
    "difference": lambda value: f"{value:.3g}",
    "exact": repr,
}


class Quotes:
    """Says what the records on a site hold. ``page`` is named where something is missing."""

    def __init__(self, files: PublicFiles, page: str) -> None:
        self._files = files
        self._page = page

    def number(self, record_id: str, *pointers: str, form: str = "count", of: str = "", unit: str = "") -> Markup:
        """The number at a JSON pointer, or what ``of`` (``shown.MADE``) makes of several.

        ``unit`` fixes the unit of a duration that a column's head names. Raises SiteBroken for a place that holds no
        number.
        """
        values = [self._value(record_id, pointer) for pointer in pointers]
        for value, pointer in zip(values, pointers, strict=True):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise SiteBroken(f"{self._page}: record {record_id[:12]}… holds no number at {pointer}")
        value = made(of, values) if of else values[0]
        text = quantities.duration_in(value, unit) if unit else FORMS[form](value)
        if not shows(text, float(value)):
            raise SiteBroken(f"{self._page}: {text!r} does not show {value!r} ({record_id[:12]}…{pointers[0]})")
        return self._data(record_id, pointers, value, text, of)

    def counted(self, record_id: str, pointers: Sequence[str]) -> Markup:
        """How many there are, each by its place."""
        if not pointers:
            return Markup("0")
        for pointer in pointers:
            if not isinstance(self._value(record_id, pointer), str | int | float):
                raise SiteBroken(f"{self._page}: record {record_id[:12]}… holds nothing to count at {pointer}")
        return self._data(record_id, pointers, len(pointers), f"{len(pointers):,}", "count")

    def words(self, record_id: str, pointer: str) -> Markup:
        """The words at a JSON pointer, as they stand there. Raises SiteBroken where there are none."""
        value = self._value(record_id, pointer)
        if not isinstance(value, str) or not value:
            raise SiteBroken(f"{self._page}: record {record_id[:12]}… holds no words at {pointer}")
        return self._data(record_id, (pointer,), value, value)

    def extent(self, record_id: str, pointer: str) -> Markup:
        """A launch geometry or a shape, each of its numbers quoted: ``8×16×1``."""
        values = self._value(record_id, pointer)
        if not isinstance(values, list) or not values:
            raise SiteBroken(f"{self._page}: record {record_id[:12]}… holds no extent at {pointer}")
        places = (f"{pointer}/{axis}" for axis in range(len(values)))
        return Markup("×").join(self.number(record_id, place, form="plain") for place in places)

    def _value(self, record_id: str, pointer: str) -> Any:
        return pointed(self._files.read_record(record_id), pointer)

    def _data(self, record_id: str, pointers: Sequence[str], value: Any, text: str, of: str = "") -> Markup:
        if self._files[record_id].why:  # cleaned: what its id is the hash of is not on the site
            return Markup(escape(text))
        evidence = " ".join(f"{record_id}#{quote(pointer, safe='/#~:,+')}" for pointer in pointers)
        how = Markup(' data-of="{}"').format(of) if of else ""
        return Markup('<data value="{}" data-evidence="{}"{}>{}</data>').format(value, evidence, how, text)
