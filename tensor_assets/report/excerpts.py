"""A few lines of a captured stage, found by what stands in them, quoted so that ``verify`` finds them again."""

from __future__ import annotations

import re

import msgspec
from markupsafe import Markup
from tensor_worker.artifacts import Stage

from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.shown import lines_of
from tensor_assets.records import StageFile
from tensor_assets.report.highlight import Highlighter
from tensor_assets.report.matrix import configuration_page
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import Configuration, PublicStore, Snapshot
from tensor_assets.report.stages import stage_id


class QuotedLine(msgspec.Struct, frozen=True, kw_only=True):
    """``why`` says what a deciding line decides; empty for the lines around it."""

    number: int
    html: Markup
    why: str = ""
    gap: bool = False  # lines before it are left out


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    language: str
    sha256: str
    page: str  # of the configuration, at the stage
    lines: tuple[QuotedLine, ...]
    total: int


class Excerpts:
    """Cuts excerpts out of the stages of configurations."""

    def __init__(self, snapshot: Snapshot, store: PublicStore, files: PublicFiles, highlighter: Highlighter) -> None:
        self._snapshot, self._store, self._files, self._highlighter = snapshot, store, files, highlighter

    def cut(self, configuration: Configuration, stage: str, deciding: dict[str, str], around: int = 0) -> Excerpt:
        """The first line that each pattern of ``deciding`` finds, after the one before it, with ``around`` others.

        ``deciding`` maps a regular expression to what its line decides. Raises SiteBroken where the stage was not
        captured, its text is not public, or nothing in it fits a pattern.
        """
        found, file = _stage(configuration, stage)
        text, place = self._text(configuration, file), configuration_page(self._snapshot, configuration)
        lines = lines_of(text)
        marked = _marked(lines, deciding, f"{_named(configuration)}: stage {stage}")
        wanted = sorted({n for hit in marked for n in range(max(0, hit - around), min(len(lines), hit + around + 1))})
        html = self._highlighter.lines(text, found.language)
        return Excerpt(
            title=found.title,
            language=found.language,
            sha256=file.text.sha256,
            page=f"{place}#stage-{stage_id(configuration, stage)}",
            lines=tuple(
                QuotedLine(
                    number=n + 1,
                    html=Markup(html[n]),
                    why=marked.get(n, ""),
                    gap=position > 0 and wanted[position - 1] != n - 1,
                )
                for position, n in enumerate(wanted)
            ),
            total=len(lines),
        )

    def _text(self, configuration: Configuration, file: StageFile) -> str:
        placed = self._files.add(file.text)
        if not placed.href:
            raise SiteBroken(f"{_named(configuration)}: {file.stage} is quoted and {placed.why}")
        return self._store.read(file.text).decode(errors="replace")


def _stage(configuration: Configuration, name: str) -> tuple[Stage, StageFile]:
    for stage, file in configuration.stage_files():
        if stage.name == name:
            return stage, file
    have = ", ".join(stage.name for stage, _ in configuration.stage_files())
    raise SiteBroken(f"{_named(configuration)} has no stage {name!r} (have: {have})")


def _marked(lines: list[str], deciding: dict[str, str], place: str) -> dict[int, str]:
    marked: dict[int, str] = {}
    after = -1
    for pattern, why in deciding.items():
        expression = re.compile(pattern)
        hit = next((n for n, line in enumerate(lines) if n > after and expression.search(line)), None)
        if hit is None:
            raise SiteBroken(f"{place} has no line like {pattern!r}" + (f" after line {after + 1}" if marked else ""))
        marked[hit], after = why, hit
    return marked


def _named(configuration: Configuration) -> str:
    key = configuration.key
    return f"{key.workload}|{key.compiler} ({key.variant}, {key.target})"
