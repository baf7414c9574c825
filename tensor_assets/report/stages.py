"""Captured stages as panes of a cell's page: which lines are shown, and which op of the program each belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from markupsafe import Markup
from tensor_worker.artifacts import Lines, Stage
from tensor_worker.program import Op, Program

from tensor_assets.errors import SiteBroken
from tensor_assets.records import StageFile
from tensor_assets.report.differences import Difference, difference
from tensor_assets.report.highlight import Highlighter
from tensor_assets.report.reading import Configuration, PublicStore
from tensor_assets.report.slugs import unique_slugs

# A pane keeps a page below its budget: the head of the text and what other parts of the page point at.
HEAD_LINES = 240
MOST_LINES = 700
MOST_BYTES = 150_000  # of a pane's lines as HTML: ten panes make a page
AROUND = 12

# What begins an id of a cell's page that no stage gave: of the program's pane, a launch, a stage's section, an arrow.
NUMBERED = frozenset({"program", "launch", "stage", "arrow"})

# Hues of program ops, apart from each other also for colour-blind eyes when neighbours; never a compiler's colour.
HUES = (212, 38, 150, 285, 8, 185, 62, 325)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """``number`` 0 is a gap; ``html`` then says how many lines it stands for."""

    number: int
    html: Markup
    ops: tuple[str, ...] = ()
    guess: bool = False


class Pane(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    level: str
    language: str
    stage: str = ""  # its name in the capture
    lines: tuple[Line, ...]
    total: int
    produced_by: str = ""
    sha256: str = ""
    bytes: int = 0
    note: str = ""
    graph: bool = False
    since: Difference | None = None  # what it changed of the stage before it


def op_hues(program: Program | None) -> dict[str, int]:
    """A hue for each op of the program, the same on every page of its workload."""
    ops = program.ops if program else ()
    return {op.name: HUES[number % len(HUES)] for number, op in enumerate(ops)}


def program_pane(program: Program) -> Pane:
    """The workload as one line per value, which is what the manifest says."""
    inputs = [
        Line(number=number, html=Markup("{} <span class=c>{}</span>").format(f"{v.name:<4}", f"input, {_type(v)}"))
        for number, v in enumerate(program.inputs, 1)
    ]
    ops = [
        Line(number=number, html=_op_line(op), ops=(op.name,)) for number, op in enumerate(program.ops, len(inputs) + 1)
    ]
    returned = Line(
        number=len(inputs) + len(ops) + 1,
        html=Markup("<span class=k>return</span> {}").format(", ".join(program.outputs)),
    )
    lines = (*inputs, *ops, returned)
    return Pane(id="program", title="Program", level="program", language="manifest", lines=lines, total=len(lines))


def stage_panes(configuration: Configuration, store: PublicStore, highlighter: Highlighter) -> list[Pane]:
    """A pane for every captured stage, in pipeline order."""
    panes: list[Pane] = []
    earlier: tuple[Stage, str] | None = None  # None too where it is not shown
    files = configuration.stage_files()
    for id, (stage, file) in zip(_ids(stage for stage, _ in files), files, strict=True):
        why, text = _text(file, store)
        pane = _pane(configuration, stage, id, text, file.text.sha256, highlighter)
        panes.append(
            msgspec.structs.replace(pane, since=_since(earlier, (stage, text)) if earlier and not why else None)
        )
        earlier = None if why else (stage, text)
    return panes


def stage_id(configuration: Configuration, name: str) -> str:
    """The id of a captured stage's pane on its cell's page. Raises SiteBroken where there is none of that name."""
    stages = [stage for stage, _ in configuration.stage_files()]
    for stage, id in zip(stages, _ids(stages), strict=True):
        if stage.name == name:
            return id
    raise SiteBroken(f"{configuration.key.workload}|{configuration.key.compiler} has no stage {name!r}")


def _ids(stages: Iterable[Stage]) -> list[str]:
    """A pane's id and a number are a line's: no other element's id may read like that."""
    return unique_slugs((stage.name for stage in stages), taken=lambda id: id.partition("-")[0] in NUMBERED)


def _since(earlier: tuple[Stage, str], later: tuple[Stage, str]) -> Difference:
    (old, old_text), (new, new_text) = earlier, later
    return difference(old.name, old.title, (old_text, new_text), (old.language, new.language))


def _text(file: StageFile, store: PublicStore) -> tuple[str, str]:
    """Why it is not shown, and what is shown: the stage's text, or that reason."""
    why = store.why_private(file.text)
    return why, f"not shown: {why}" if why else store.read(file.text).decode(errors="replace")


def stage_pane(configuration: Configuration, name: str, store: PublicStore, highlighter: Highlighter) -> Pane:
    """The pane of one captured stage. Raises SiteBroken where there is none of that name."""
    for stage, file in configuration.stage_files():
        if stage.name == name:
            id = stage_id(configuration, name)
            return _pane(configuration, stage, id, _text(file, store)[1], file.text.sha256, highlighter)
    raise SiteBroken(f"{configuration.key.workload}|{configuration.key.compiler} has no stage {name!r}")


def _pane(
    configuration: Configuration, stage: Stage, id: str, text: str, sha256: str, highlighter: Highlighter
) -> Pane:
    rendered = highlighter.lines(text, stage.language)
    marks = _marks(configuration, stage.name)
    shown = _affordable(_shown(len(rendered), set(marks)), rendered, set(marks))
    lines: list[Line] = []
    for number in shown:
        if lines and number != lines[-1].number + 1:
            lines.append(_gap(number - lines[-1].number - 1))
        ops, guess = marks.get(number, ((), False))
        lines.append(Line(number=number, html=Markup(rendered[number - 1]), ops=ops, guess=guess))
    if shown and shown[-1] < len(rendered):
        lines.append(_gap(len(rendered) - shown[-1]))
    graph = configuration.capture.capture and configuration.capture.capture.graph
    return Pane(
        id=id,
        stage=stage.name,
        title=stage.title,
        level=stage.level,
        language=stage.language,
        lines=tuple(lines),
        total=len(rendered),
        produced_by=stage.produced_by,
        sha256=sha256,
        bytes=len(text.encode()),
        note=_note(stage),
        graph=bool(graph and graph.stage == stage.name),
    )


def _note(stage: Stage) -> str:
    compared = (
        f"Beside another capture's it is compared in another form: {stage.compared.reason}" if stage.compared else ""
    )
    if stage.excerpt is None:
        return compared
    ranges = ", ".join(f"{first}–{last}" for first, last in stage.excerpt.lines)
    return (
        f"Excerpt: lines {ranges} of a file of {stage.excerpt.bytes:,} bytes (sha256 {stage.excerpt.sha256[:12]}…). "
        f"{stage.excerpt.reason}{'. ' if compared else ''}{compared}"
    )


def _marks(configuration: Configuration, stage: str) -> dict[int, tuple[tuple[str, ...], bool]]:
    """Line → the ops it belongs to, and whether that link is inferred."""
    capture = configuration.capture.capture
    marks: dict[int, tuple[tuple[str, ...], bool]] = {}
    if capture is None:
        return marks
    links: list[tuple[Lines, tuple[str, ...], bool]] = [
        (c.lines, (c.program_op,), c.certain) for c in capture.correspondences if c.stage == stage
    ]
    if capture.graph and capture.graph.stage == stage:
        links += [(n.lines, n.program_ops, n.certain) for n in capture.graph.nodes if n.lines and n.program_ops]
    for (first, last), ops, certain in links:
        for number in range(first, min(last, first + MOST_LINES) + 1):
            known, guess = marks.get(number, ((), False))
            marks[number] = tuple(dict.fromkeys(known + ops)), guess or not certain
    return marks


def _shown(total: int, referenced: set[int]) -> list[int]:
    if total <= MOST_LINES:
        return list(range(1, total + 1))
    wanted = set(range(1, HEAD_LINES + 1))
    for number in sorted(referenced):
        if len(wanted) >= MOST_LINES:
            break
        wanted.update(range(max(1, number - AROUND), min(total, number + AROUND) + 1))
    return sorted(wanted)


def _affordable(numbers: list[int], rendered: Sequence[str], referenced: set[int]) -> list[int]:
    """Of these lines, those that a page can carry; what something points at before the rest."""
    left, kept = MOST_BYTES, []
    for number in sorted(numbers, key=lambda number: (number not in referenced, number)):
        if (size := len(rendered[number - 1])) <= left:
            left -= size
            kept.append(number)
    return sorted(kept)


def _gap(hidden: int) -> Line:
    return Line(number=0, html=Markup("{} lines are not shown here; the evidence has them").format(f"{hidden:,}"))


def _op_line(op: Op) -> Markup:
    operands = ", ".join(str(value) for value in op.of)
    comment = f"{_type(op)}, " + ("rounded here" if op.dtype == "f16" else "not rounded")
    return Markup("{} = <span class=f>{}</span>({}) <span class=c>{}</span>").format(
        f"{op.name:<4}", op.op, operands, comment
    )


def _type(value: object) -> str:
    shape = "×".join(map(str, getattr(value, "shape", ())))
    return f"{getattr(value, 'dtype', '')}[{shape}]"
