"""Numbers as people read them. Values and units stay apart, so that a column can carry the unit in its head."""

from __future__ import annotations

import math

import msgspec

_TIME_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_BYTE_UNITS = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


class Quantity(msgspec.Struct, frozen=True):
    """A value with the unit it is written in."""

    text: str
    unit: str

    def __str__(self) -> str:
        return f"{self.text}\u202f{self.unit}"


def duration(nanoseconds: float) -> Quantity:
    """Three significant digits in the unit that keeps the value between 1 and 1000."""
    scale, unit = next(((s, u) for s, u in _TIME_UNITS if abs(nanoseconds) >= s), _TIME_UNITS[-1])
    return Quantity(significant(nanoseconds / scale), unit)


def duration_in(nanoseconds: float, unit: str) -> str:
    """The value alone, in a unit that a column head names."""
    return significant(nanoseconds / {u: s for s, u in _TIME_UNITS}[unit])


def size(count: int) -> Quantity:
    """Bytes in binary units; exact counts below 1 KiB."""
    for scale, unit in _BYTE_UNITS:
        if count >= scale:
            return Quantity(significant(count / scale), unit)
    return Quantity(str(count), "B")


def percent(share: float) -> str:
    """A share as per cent, without pretending to more than two digits."""
    if share == 0 or not math.isfinite(share):
        return f"{share:.0f}\u202f%" if share == 0 else "–"
    value = 100 * share
    return f"{value:.0f}\u202f%" if abs(value) >= 10 else f"{value:.2g}\u202f%"


def significant(value: float, digits: int = 3) -> str:
    """``digits`` significant digits, thousands grouped, never in exponent form."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def count(value: int) -> str:
    """Thousands grouped."""
    return f"{value:,}"


def extents(extent: tuple[int, ...] | None) -> str:
    """A launch geometry or an array shape, e.g. ``8×16×1``."""
    return "×".join(map(str, extent)) if extent else "–"
