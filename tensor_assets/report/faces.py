"""How compilers and outcomes look, everywhere: one colour and one mark each (charts, chips, graph accents)."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from tensor_assets.records import Status

ORDER = ("tinygrad", "luminal", "max", "inductor", "tvm", "eager", "triton")

# Colour-blind safe (Okabe and Ito) on light and dark; an adapter says its own in adapter.json.
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


def load_faces(adapters: Path) -> dict[str, Face]:
    """The face of every adapter folder that describes itself in an ``adapter.json``."""
    described = (json.loads(path.read_text()) for path in sorted(adapters.glob("*/adapter.json")))
    return {face.name: face for face in (msgspec.convert(about, Face, strict=False) for about in described)}


def face_of(name: str, faces: dict[str, Face]) -> Face:
    """``name``'s face; a compiler whose adapter is not here is shown by its bare name."""
    return faces.get(name) or Face(name=name, title=name)


def in_order(names: set[str]) -> list[str]:
    """Compilers in the order every page uses; unknown ones follow by name."""
    return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
