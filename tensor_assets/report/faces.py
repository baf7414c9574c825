"""How compilers and outcomes look, everywhere: one colour and one mark each (charts, chips, graph accents)."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from tensor_assets.records import Status

FALLBACK_COLOUR = "#7A7A7A"

MARKS: dict[Status, str] = {
    "ok": "●",
    "rejected": "✕",
    "unsupported": "⊘",
    "unavailable": "○",
    "censored": "◔",
    "crashed": "⚡\ufe0e",  # the selector asks for the sign, not the emoji
    "blocked": "‖",
}
# The same marks as drawings in a 16 × 16 box: fonts disagree about signs, and some turn one into an emoji.
SHAPES: dict[Status, str] = {
    "ok": '<circle cx="8" cy="8" r="5.5" fill="currentColor" stroke="none"/>',
    "rejected": '<path d="m3 3 10 10M13 3 3 13" stroke-width="2.4"/>',
    "unsupported": '<circle cx="8" cy="8" r="6"/><path d="m12 4-8 8"/>',
    "unavailable": '<circle cx="8" cy="8" r="5.5"/>',
    "censored": '<circle cx="8" cy="8" r="6"/><path d="M8 8V2a6 6 0 0 1 6 6z" fill="currentColor" stroke="none"/>',
    "crashed": '<path d="M9.5 1 3 9h4l-1.5 6L13 7H8.5z" fill="currentColor" stroke="none"/>',
    "blocked": '<path d="M5.5 2v12M10.5 2v12" stroke-width="2.4"/>',
}
MEANINGS: dict[Status, str] = {
    "ok": "right on every fixture that ran",
    "rejected": "wrong numbers",
    "unsupported": "the compiler cannot express or build it",
    "unavailable": "not installed here, or no device",
    "censored": "stopped at its deadline",
    "crashed": "the process ended by itself",
    "blocked": "something it needs was not ok",
}


class Face(msgspec.Struct, frozen=True, kw_only=True):
    """A compiler as readers see it."""

    name: str
    title: str
    colour: str = FALLBACK_COLOUR
    package: str = ""
    order: int = 1000  # on every page; those that do not say follow by name


def load_faces(adapters: Path) -> dict[str, Face]:
    """The face of every adapter folder that describes itself in an ``adapter.json``: title, colour, place."""
    described = (json.loads(path.read_text()) for path in sorted(adapters.glob("*/adapter.json")))
    return {face.name: face for face in (msgspec.convert(about, Face) for about in described)}


def face_of(name: str, faces: dict[str, Face]) -> Face:
    """``name``'s face; a compiler whose adapter is not here is shown by its bare name."""
    return faces.get(name) or Face(name=name, title=name)


def in_order(names: set[str], faces: dict[str, Face]) -> list[str]:
    """Compilers in the order every page uses, which their adapters state."""
    return sorted(names, key=lambda name: (face_of(name, faces).order, name))
