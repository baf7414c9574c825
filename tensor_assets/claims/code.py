"""A kernel's own machine code among the texts of a capture: what instructions stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tensor_worker.artifacts import Launch

from tensor_assets.claims.view import StageView
from tensor_assets.sessions.sass import opcode_counts

# The families of matrix instructions, the strongest first; then plain multiply-add, which multiplies without them.
MATRIX = ("HGMMA", "QGMMA", "IGMMA", "BGMMA", "HMMA", "DMMA", "IMMA", "QMMA", "BMMA")
PLAIN = ("FFMA", "HFMA2", "DFMA")
_SASS_KERNEL = re.compile(r"^\s*(?:Function : |\.text\.)(\S+?):?\s*$", re.MULTILINE)
_PTX_KERNEL = re.compile(r"^\s*(?:\.visible\s+)?\.entry\s+(\w+)", re.MULTILINE)


class Code:
    """The machine code of a capture, by kernel."""

    def __init__(self, stages: Mapping[str, StageView]) -> None:
        self._sass = dict(_sections(stages, "sass", _SASS_KERNEL))
        self._ptx = dict(_sections(stages, "ptx", _PTX_KERNEL))

    def machine(self, launch: Launch) -> tuple[str | None, dict[str, int] | None]:
        """SASS of the launch's kernel and its opcode counts, or None where the capture has none of its name."""
        text = self._sass.get(launch.name)
        if text is None:
            return None, None
        counts = opcode_counts(text)
        return text, counts.get(launch.name) or counts.get("", {})

    def ptx(self, launch: Launch) -> str | None:
        return self._ptx.get(launch.name)


def matrix_opcodes(opcodes: Mapping[str, int]) -> dict[str, int]:
    return {opcode: count for opcode, count in opcodes.items() if opcode.partition(".")[0] in MATRIX}


def family_of(opcodes: Mapping[str, int]) -> str:
    """HGMMA, HMMA, … where there is one, else what multiplies and adds; empty where nothing does."""
    stems = {opcode.partition(".")[0] for opcode in opcodes}
    return next((family for family in (*MATRIX, *PLAIN) if family in stems), "")


def _sections(stages: Mapping[str, StageView], language: str, heading: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    for stage in stages.values():
        if stage.language == language and stage.text is not None:
            found = list(heading.finditer(stage.text))
            ends = [match.start() for match in found[1:]] + [len(stage.text)]
            for match, end in zip(found, ends, strict=True):
                yield match[1], stage.text[match.start() : end]
