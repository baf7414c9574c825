"""From records to the view: what ``view.py`` promises, drawn from one configuration's records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from tensor_worker.artifacts import Capture, Launch, Plan, Search

from tensor_assets.claims.code import Code, family_of, matrix_opcodes
from tensor_assets.claims.view import (
    ActivityView,
    AdmissionView,
    AlternativeView,
    BufferView,
    CandidateView,
    DecisionView,
    Document,
    GraphView,
    JudgedView,
    KernelView,
    NodeView,
    RoundingView,
    SearchView,
    StageView,
    TimingView,
    TrialView,
)
from tensor_assets.records import Admission, EffortRecord, Evidence, ProfileRecord, Timing, Trial, Verdict
from tensor_assets.report.reading import Configuration
from tensor_assets.sessions.effort import paired_ratios

ReadText = Callable[[Evidence], str | None]

_SILENT = ("input", "constant", "output", "other")  # roles that compute nothing


def document_of(configuration: Configuration, efforts: Iterable[EffortRecord], read: ReadText) -> Document:
    """The view of ``configuration``. ``read`` gives a stage's text, or None where it is not to be had."""
    record, capture = configuration.capture, configuration.capture.capture
    plan, key = record.plan, record.key
    stages = _stages(configuration, read)
    buffers = _buffers(plan) if plan else None
    levels = _levels(efforts)
    intermediates = tuple(b for b in buffers if b.role == "intermediate") if buffers is not None else None
    return Document(
        workload=key.workload,
        shape=key.shape,
        compiler=key.compiler,
        variant=key.variant,
        device=key.target,
        version=record.version,
        packages=configuration.environment.freeze if configuration.environment else {},
        outcome=record.outcome.status,
        reason=record.outcome.reason,
        graph=_graph(capture),
        stages=stages,
        activities=tuple(_planned(launch) for launch in plan.launches) if plan else None,
        kernels=_kernels(plan, Code(stages)) if plan else None,
        buffers=buffers,
        intermediates=intermediates,
        storage_bytes=2 * sum(b.bytes for b in intermediates) if intermediates is not None else None,
        roundings=_roundings(plan) if plan else None,
        decisions=_decisions(capture),
        notes=plan.notes if plan else (),
        search=_search(capture.search) if capture and capture.search else None,
        alternatives=tuple(
            AlternativeView(candidate=a.candidate, outcome=a.outcome.status, distinct=a.distinct, fixtures=a.fixtures)
            for a in record.alternatives
        ),
        admission=_admission(record.admission) if record.admission else None,
        compile_seconds=record.phases.get("compile"),
        timings=_timings(configuration.timings),
        timeline=_timeline(configuration.profile),
        effort=levels.get(key.variant),
        levels=levels or None,
    )


def _graph(capture: Capture | None) -> GraphView | None:
    if capture is None or capture.graph is None:
        return None
    graph = capture.graph
    ops = {node.id: node.op for node in graph.nodes}
    nodes = tuple(
        NodeView(
            op=node.op,
            role=node.role,
            shape=node.shape,
            dtype=node.dtype,
            computes=node.program_ops,
            inputs=tuple(ops[edge.source] for edge in graph.edges if edge.target == node.id and edge.source in ops),
        )
        for node in graph.nodes
    )
    computing = tuple(node.op for node in nodes if node.role not in _SILENT)
    return GraphView(stage=graph.stage, nodes=nodes, ops=computing, incomplete=graph.incomplete)


def _stages(configuration: Configuration, read: ReadText) -> dict[str, StageView]:
    return {
        stage.name: StageView(
            level=stage.level, language=stage.language, produced_by=stage.produced_by, text=read(file.text)
        )
        for stage, file in configuration.stage_files()
    }


def _planned(launch: Launch) -> ActivityView:
    size = launch.parameters.get("bytes")
    return ActivityView(
        kind=launch.kind,
        name=launch.name,
        bytes=size if isinstance(size, int) else None,
        grid=launch.grid,
        block=launch.block,
        threads=prod(launch.block) if launch.block else None,
        registers=launch.registers,
        shared_bytes=launch.shared_bytes,
    )


def _buffers(plan: Plan) -> tuple[BufferView, ...] | None:
    """None for a plan without any: what it reads and writes lies somewhere, so its adapter does not report memory."""
    return tuple(BufferView(name=b.name, role=b.role, bytes=b.bytes) for b in plan.buffers) or None


def _kernels(plan: Plan, code: Code) -> tuple[KernelView, ...]:
    return tuple(
        _kernel(position, launch, plan, code)
        for position, launch in enumerate(plan.launches)
        if launch.kind in ("kernel", "library")
    )


def _kernel(position: int, launch: Launch, plan: Plan, code: Code) -> KernelView:
    sass, opcodes = code.machine(launch)
    return KernelView(
        position=position,
        kind=launch.kind,
        name=launch.name,
        grid=launch.grid,
        block=launch.block,
        threads=prod(launch.block) if launch.block else None,
        registers=launch.registers,
        shared_bytes=launch.shared_bytes,
        parameters=launch.parameters,
        computes=launch.computes,
        rounds=tuple(r.boundary for r in plan.roundings if r.launch == position),
        instruction=launch.instruction,
        family=None if opcodes is None else family_of(opcodes),
        matrix_opcodes=None if opcodes is None else matrix_opcodes(opcodes),
        opcodes=opcodes,
        sass=sass,
        ptx=code.ptx(launch),
    )


def _roundings(plan: Plan) -> tuple[RoundingView, ...]:
    return tuple(
        RoundingView(boundary=r.boundary, kernel=r.launch, evidence=r.evidence, certain=r.certain)
        for r in plan.roundings
    )


def _decisions(capture: Capture | None) -> tuple[DecisionView, ...]:
    return tuple(
        DecisionView(**{field: getattr(decision, field) for field in DecisionView.__struct_fields__})
        for decision in (capture.decisions if capture else ())
    )


def _search(search: Search) -> SearchView:
    candidates = tuple(
        CandidateView(
            name=c.name,
            chosen=c.chosen,
            parameters=c.parameters,
            predicted_us=_microseconds(c.predicted_ns),
            measured_us=_microseconds(c.measured_ns),
            refused=c.refused,
        )
        for c in search.candidates
    )
    return SearchView(
        scope=search.scope,
        tried=search.tried,
        untimed=search.untimed,
        seconds=search.seconds,
        censored=search.censored,
        candidates=candidates,
    )


def _admission(admission: Admission) -> AdmissionView:
    return AdmissionView(
        admitted=admission.admitted,
        boundary=admission.boundary,
        reason=admission.reason,
        exact=_judged([v for v in admission.verdicts if v.kind == "exact"]),
        interval=_judged([v for v in admission.verdicts if v.kind == "interval"]),
        tolerance=_judged([v for v in admission.verdicts if v.kind == "tolerance"]),
    )


def _judged(verdicts: list[Verdict]) -> JudgedView | None:
    if not verdicts:
        return None
    mismatches: dict[str, int] = {}
    differences: dict[str, float] = {}
    for verdict in verdicts:
        mismatches[verdict.fixture] = max(mismatches.get(verdict.fixture, 0), verdict.mismatches)
        differences[verdict.fixture] = max(differences.get(verdict.fixture, 0.0), verdict.worst)
    return JudgedView(
        passed=all(v.passed for v in verdicts),
        mismatches=mismatches,
        differences=differences,
        worst=max(differences.values()),
    )


def _timings(timings: tuple[Timing, ...]) -> dict[str, TimingView]:
    return {
        timing.clock: TimingView(
            medians_us=(medians := tuple(series.median_ns / 1e3 for series in timing.series)),
            median_us=timing.median_ns / 1e3,
            low_us=min(medians),
            high_us=max(medians),
            noise=timing.noise,
            verdict=timing.comparison.verdict if timing.comparison else "",
        )
        for timing in timings
        if (timing.cache, timing.data) == ("warm", "random") and timing.median_ns is not None and timing.series
    }


def _timeline(profile: ProfileRecord | None) -> tuple[ActivityView, ...] | None:
    if profile is None or not profile.kernels:
        return None
    return tuple(
        ActivityView(
            kind=kernel.kind,
            name=kernel.name,
            bytes=kernel.bytes,
            grid=kernel.grid,
            block=kernel.block,
            threads=prod(kernel.block),
            registers=kernel.registers,
            shared_bytes=kernel.shared_bytes,
            duration_us=kernel.duration_ns / 1e3,
            family=None if (opcodes := profile.opcodes.get(kernel.name)) is None else family_of(opcodes),
            opcodes=opcodes,
        )
        for kernel in sorted(profile.kernels, key=lambda kernel: kernel.position)
    )


def _levels(efforts: Iterable[EffortRecord]) -> dict[str, tuple[TrialView, ...]]:
    found: dict[str, tuple[TrialView, ...]] = {}
    for effort in efforts:
        ratios = paired_ratios(effort)
        for trial in effort.trials:
            of_default = ratios[trial.variant][trial.block] if trial.variant in ratios else None
            found[trial.variant] = (*found.get(trial.variant, ()), _trial(trial, of_default))
    return found


def _trial(trial: Trial, of_default: float | None) -> TrialView:
    return TrialView(
        block=trial.block,
        outcome=trial.outcome.status,
        reason=trial.outcome.reason,
        tried=trial.search.tried if trial.search else None,
        untimed=trial.search.untimed if trial.search else None,
        compile_seconds=trial.compile_seconds,
        median_us=trial.series.median_ns / 1e3 if trial.series else None,
        of_default=of_default,
    )


def _microseconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e3
