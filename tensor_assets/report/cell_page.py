"""What a cell's page shows of one configuration, gathered for its template."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape
from tensor_worker.artifacts import INFERRED, Plan
from tensor_worker.program import Program

from tensor_assets.claims.code import matrix_opcodes
from tensor_assets.records import Admission, Record, Timing, Verdict
from tensor_assets.report.faces import Face, face_of, in_order
from tensor_assets.report.highlight import Highlighter
from tensor_assets.report.matrix import configuration_page, target_title, workload_page
from tensor_assets.report.memory import memory_uses
from tensor_assets.report.older_words import told_decisions
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.quantities import extents
from tensor_assets.report.reading import Configuration, PublicStore, Snapshot, is_run_target, matrix_instruction
from tensor_assets.report.stages import Pane, op_hues, program_pane, stage_panes
from tensor_assets.report.tables import intermediate_bytes, process_range

# What a verdict is called on the page, the deciding one first.
KINDS = {"exact": "bit for bit", "form": "form", "interval": "outer interval", "tolerance": "tolerance"}
MOST_OPCODES = 14  # about three lines of a pane; matrix instructions are shown beyond it
# Parts that are there in part: what is missing is some of them.
_IN_PART = {"activities"}


def cell_context(
    snapshot: Snapshot,
    configuration: Configuration,
    faces: dict[str, Face],
    store: PublicStore,
    files: PublicFiles,
    highlighter: Highlighter,
) -> dict[str, Any]:
    """Everything ``cell.html`` needs. Puts the evidence it names on the site."""
    key, capture = configuration.key, configuration.capture
    program = snapshot.program(key.workload, key.shape)
    _add_texts(configuration, files)
    panes = ([program_pane(program)] if program else []) + stage_panes(configuration, store, highlighter)
    return {
        "c": configuration,
        "key": key,
        "face": face_of(key.compiler, faces),
        "program": program,
        "question": snapshot.question(key.workload),
        "target_title": target_title(snapshot, key.target),
        "run_target": is_run_target(key.target),
        "panes": panes,
        "compared": snapshot.names.compared[configuration.capture_id],
        "hues": op_hues(program),
        "workload_page": workload_page(key.workload),
        "siblings": _siblings(snapshot, configuration, faces),
        "variants": _variants(snapshot, configuration),
        "verdicts": _verdict_groups(capture.admission),
        "judged": _judged(capture.admission),
        "place": _placer(panes),
        "instruction": matrix_instruction,
        "process_range": process_range,
        "lower_cold": lower_cold(configuration.timings),
        "medians_of": medians_of,
        "opcodes_at": opcodes_at,
        "telling_opcodes": telling_opcodes,
        "records": _records(snapshot, configuration, files),
        "session": snapshot.sessions.get(configuration.benchmark.session) if configuration.benchmark else None,
        "limits": _limits(snapshot, configuration),
        **_plan_context(configuration, program),
    }


def _plan_context(configuration: Configuration, program: Program | None) -> dict[str, Any]:
    """What the page tells of the selected plan; empty where there is none."""
    plan, captured = configuration.capture.plan or Plan(launches=()), configuration.capture.capture
    return {
        "memory": memory_uses(plan, program),
        "decisions": told_decisions(captured.decisions, plan) if captured else [],
        "intermediate": intermediate_bytes(plan),
        "inferred": any(note.startswith(INFERRED) for note in plan.notes),
        "fusion": fusion_map(plan, list(op_hues(program))) if plan.launches else [],
        "geometry": [(extents(launch.grid), extents(launch.block)) for launch in plan.launches],
        "apart": any(map(configuration.loaded_registers, range(len(plan.launches)))),
    }


def _add_texts(configuration: Configuration, files: PublicFiles) -> None:
    for _, file in configuration.stage_files():
        files.add(file.text)
    if configuration.capture.outcome.log:
        files.add(configuration.capture.outcome.log)


def medians_of(timing: Timing, at: str) -> list[str]:
    """JSON pointers of the process medians of the timing at ``at``."""
    return [f"{at}/series/{number}/median_ns" for number in range(len(timing.series))]


def lower_cold(timings: Sequence[Timing]) -> list[str]:
    """Clocks by which random data took less with a flushed cache than with a warm one: medians, no verdict."""
    found = {(t.clock, t.cache): t.median_ns for t in timings if t.data == "random" and t.median_ns is not None}
    clocks = dict.fromkeys(clock for clock, _ in found)
    return [c for c in clocks if found.get((c, "cold"), math.inf) < found.get((c, "warm"), 0.0)]


def opcodes_at(kernel: str, opcode: str) -> str:
    """JSON pointer of an opcode's count in a profile record."""
    return "/opcodes/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in (kernel, opcode))


def telling_opcodes(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every matrix instruction, then the most frequent of the rest, ``MOST_OPCODES`` in all unless the first are more.

    A tensor-core product has dozens of opcodes, and its matrix instruction stands in it less often than its moves.
    """
    matrix = matrix_opcodes(counts)
    often = sorted(counts.items(), key=lambda item: (item[0] not in matrix, -item[1], item[0]))
    return often[: max(MOST_OPCODES, len(matrix))]


def fusion_map(plan: Plan, ops: list[str]) -> list[tuple[str, list[str]]]:
    """For each program op, what each launch does with it: ``computes``, ``computes, rounds`` or nothing."""
    rounded = {(rounding.boundary, rounding.launch) for rounding in plan.roundings}
    return [
        (
            op,
            [
                "" if op not in launch.computes else "computes, rounds" if (op, number) in rounded else "computes"
                for number, launch in enumerate(plan.launches)
            ],
        )
        for op in ops
    ]


def _siblings(snapshot: Snapshot, configuration: Configuration, faces: dict[str, Face]) -> list[dict[str, Any]]:
    """The same workload through every compiler, each by the configuration nearest to this one."""
    key = configuration.key
    compilers = in_order({c.key.compiler for c in snapshot.configurations if c.key.workload == key.workload}, faces)
    rows = []
    for name in compilers:
        own = snapshot.of_cell(key.workload, name)
        near = next((c for c in own if (c.key.target, c.key.shape) == (key.target, key.shape)), own[0])
        here = name == key.compiler
        shown = configuration if here else near
        rows.append(
            {"face": face_of(name, faces), "page": configuration_page(snapshot, shown), "c": shown, "here": here}
        )
    return rows


def _variants(snapshot: Snapshot, configuration: Configuration) -> list[dict[str, Any]]:
    """The cell's configurations, each called by what tells it from the others."""
    own = snapshot.of_cell(configuration.key.workload, configuration.key.compiler)
    telling = [part for part in ("variant", "target", "shape") if len({getattr(c.key, part) for c in own}) > 1]
    return [
        {
            "c": other,
            "page": configuration_page(snapshot, other),
            "label": " · ".join(getattr(other.key, part) for part in telling),
            "here": other is configuration,
        }
        for other in own
    ]


def _verdict_groups(admission: Admission | None) -> list[dict[str, Any]]:
    """One line per kind of judgement: how many fixtures passed, and the worst of the rest."""
    rows = []
    for kind, title in KINDS.items():
        own = [v for v in admission.verdicts if v.kind == kind] if admission else []
        if own:
            worst = max(own, key=_badness)
            rows.append(
                {"title": title, "kind": kind, "passed": sum(v.passed for v in own), "of": len(own), "worst": worst}
            )
    return rows


def _judged(admission: Admission | None) -> list[dict[str, Any]]:
    """One row for each run of an output on a fixture, with its judgements side by side and the first one as ``any``."""
    rows: list[dict[str, Any]] = []
    for verdict in admission.verdicts if admission else ():
        subject = (verdict.fixture, verdict.output)
        if not rows or rows[-1]["subject"] != subject or rows[-1][verdict.kind]:
            # A fixture that ran twice is judged twice.
            rows.append({"subject": subject, "any": verdict, **dict.fromkeys(KINDS)})
        rows[-1][verdict.kind] = verdict
        rows[-1]["reasons"] = "; ".join(dict.fromkeys(v.reason for kind in KINDS if (v := rows[-1][kind]) and v.reason))
    return rows


def _badness(verdict: Verdict) -> tuple[bool, int]:
    return not verdict.passed, verdict.mismatches


def _placer(panes: list[Pane]) -> Callable[[str], Markup]:
    """Shows ``legalized:12-20`` as a link to those lines, or as its words where this page does not hold them."""
    shown = {pane.id: pane for pane in panes} | {pane.stage: pane for pane in reversed(panes) if pane.stage}
    numbers = {pane.id: {line.number for line in pane.lines} for pane in panes}

    def place(text: str) -> Markup:
        stage, _, lines = text.partition(":")
        first = lines.partition("-")[0]
        if stage not in shown:
            return escape(text)
        id = shown[stage].id
        anchor = f"{id}-{first}" if first.isdigit() and int(first) in numbers[id] else f"stage-{id}"
        return Markup('<a href="#{}">{}</a>').format(anchor, text)

    return place


def _records(snapshot: Snapshot, configuration: Configuration, files: PublicFiles) -> list[dict[str, Any]]:
    """The records behind this page, each put on the site."""
    found: list[tuple[str, str, Record | None]] = [
        ("capture", configuration.capture_id, configuration.capture),
        ("environment", configuration.environment_id, configuration.environment),
        ("benchmark", configuration.benchmark_id, configuration.benchmark),
        ("profile", configuration.profile_id, configuration.profile),
    ]
    if configuration.benchmark and configuration.benchmark.session in snapshot.sessions:
        session = configuration.benchmark.session
        found.append(("session", session, snapshot.sessions[session]))
    key = configuration.key
    if (key.workload, key.shape) in snapshot.fixtures:
        found.append(("fixtures", *snapshot.fixtures[key.workload, key.shape]))
    rows = []
    for kind, record_id, record in found:
        if record is not None:
            files.add_record(record_id, record, f"{kind} record")
            rows.append({"kind": kind, "id": record_id, "record": record})
    return rows


def _gaps_of(configuration: Configuration) -> Iterator[str]:
    """What a capture that came through does not hold."""
    shown = {stage.level for stage, _ in configuration.stage_files()}
    missing = [level for level in ("semantic", "scheduled", "code", "machine") if level not in shown]
    if missing:
        yield f"No stage of this level was captured: {', '.join(missing)}."
    captured = configuration.capture.capture
    if captured and captured.graph and captured.graph.incomplete:
        yield f"The graph is incomplete: {captured.graph.incomplete}."
    if configuration.unseen:
        yield f"The plan is incomplete: no activity is known to compute {', '.join(configuration.unseen)}."


def _missing(part: str, why: str) -> str:
    """Says of a part of a profile why it is not there; a reason that begins with the part's name says it alone."""
    if why.lower().startswith(part.lower()):
        return f"{why}."
    return f"{'Not all' if part in _IN_PART else 'No'} {part}: {why}."


def _limits(snapshot: Snapshot, configuration: Configuration) -> list[str]:
    """What this page cannot say, from what its records lack."""
    capture, says = configuration.capture, []
    if not is_run_target(configuration.key.target):
        says.append("The code was compiled for this target and never ran: nothing here was judged or timed.")
    if capture.outcome.status in ("ok", "rejected"):
        says += _gaps_of(configuration)
    if configuration.apart:
        says.append(f"A timing of this cell exists and is not shown: {configuration.apart}.")
    if configuration.profile_apart:
        says.append(f"A profile of this cell exists and is not shown: {configuration.profile_apart}.")
    if configuration.profile:
        says += [_missing(part, why) for part, why in configuration.profile.missing.items()]
    if configuration.headline and not (configuration.profile and configuration.profile.kernels):
        says.append("No device timeline and no counters were recorded: how the time divides is not known.")
    if capture.device and configuration.key.target == "cpu":
        says.append("Times of a general-purpose processor say nothing about a GPU.")
    return says
