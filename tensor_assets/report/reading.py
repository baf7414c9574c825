"""What the report knows: the latest records of a store, joined into configurations.

Two records are joined only if they speak of the same implementation: a benchmark belongs to a capture when their keys
agree and their fingerprints are equal, and a profile stands beside times only if one allocation ran both. One that does
not agree is kept apart with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
from tensor_worker.artifacts import Launch, Stage
from tensor_worker.program import Program

from tensor_assets.errors import AllocationMismatch
from tensor_assets.records import (
    BenchmarkRecord,
    CaptureRecord,
    EffortRecord,
    EGraphRecord,
    EnvironmentRecord,
    Evidence,
    FixtureRecord,
    Key,
    ProfileRecord,
    Record,
    SessionRecord,
    StageFile,
    Status,
    Timing,
)
from tensor_assets.releases.accepted import environments_not_accepted
from tensor_assets.report.names import Names, names_of
from tensor_assets.report.older_words import told_stage
from tensor_assets.sessions.joining import require_joinable

SIMULATED_TARGETS = ("sm_",)  # prefixes of targets that code is compiled for and never run on
CLOCK_ORDER = ("device", "graph", "host")  # the closest to the kernels first

R = TypeVar("R", bound=Record)


class Records(Protocol):
    """Where the tables read from: the latest record of every key, by type."""

    def records(self, record_type: type[R], *, history: bool = False) -> Iterator[tuple[str, R]]: ...


class PublicStore(Records, Protocol):
    """Where the pages read from: ``evidence.public.PublicView`` and whatever is as careful."""

    def get(self, record_id: str) -> Record: ...

    def read(self, evidence: Evidence) -> bytes: ...

    def record_bytes(self, record_id: str) -> bytes: ...

    def why_private(self, evidence: Evidence) -> str: ...

    def note_clean(self, folder: Path) -> None: ...


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """A cell under one variant, target and shape, with every record that speaks of it."""

    capture_id: str
    capture: CaptureRecord
    environment_id: str = ""
    environment: EnvironmentRecord | None = None
    benchmark_id: str = ""
    benchmark: BenchmarkRecord | None = None
    apart: str = ""  # why the newest benchmark is not joined
    profile_id: str = ""
    profile: ProfileRecord | None = None
    profile_apart: str = ""  # why the newest profile is not joined
    unseen: tuple[str, ...] = ()  # matrix products that no launch of the plan is known to compute

    @property
    def key(self) -> Key:
        return self.capture.key

    @property
    def status(self) -> Status:
        return self.capture.outcome.status

    @property
    def device(self) -> str:
        """The GPU that it was compiled on, as its driver calls it; elsewhere what the compiler calls its target."""
        return self.capture.allocation.device if self.capture.allocation else self.capture.device

    @property
    def timings(self) -> tuple[Timing, ...]:
        return self.benchmark.timings if self.benchmark else ()

    @property
    def headline(self) -> Timing | None:
        """The timing to show where there is room for one: warm, on random data, by the closest clock measured."""
        usable = [timing for timing in self.timings if timing.median_ns is not None]
        return min(usable, key=_headline_rank, default=None)

    @property
    def untraced_ns(self) -> float | None:
        """A whole invocation on the host's clock, warm and on random data, as a profile's are; None where not timed."""
        host = (t for t in self.timings if (t.clock, t.cache, t.data) == ("host", "warm", "random"))
        return next((timing.median_ns for timing in host), None)

    def loaded_registers(self, launch: int) -> int | None:
        """A thread's registers in the kernel that ran, where a trace saw other ones than the plan has; else None.

        A driver that is asked for machine code apart may compile it otherwise than what it loads. It allocates no fewer
        than 16, whatever the code asks for.
        """
        plan, traced = self.capture.plan, self.profile.kernels if self.profile else ()
        if plan is None or len(traced) != len(plan.launches) or plan.launches[launch].kind != "kernel":
            return None
        planned, loaded = plan.launches[launch].registers, traced[launch].registers
        return loaded if planned is not None and loaded != max(planned, 16) else None

    @property
    def stretched(self) -> bool:
        """Whether the traced activities lie wider apart than a whole invocation takes that nobody traces.

        Then the gaps between them are the tracer's, which slows every launch down, and say nothing of the program.
        """
        span = self.profile.span_ns if self.profile else None
        return bool(span and self.untraced_ns and span > self.untraced_ns)

    def stage_files(self) -> list[tuple[Stage, StageFile]]:
        """Captured stages that have their text in the store, in pipeline order."""
        if self.capture.capture is None:
            return []
        files = {file.stage: file for file in self.capture.stages}
        return [(told_stage(stage), files[stage.name]) for stage in self.capture.capture.stages if stage.name in files]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything the report shows, read once. Dictionaries are keyed as their names say."""

    configurations: tuple[Configuration, ...]
    fixtures: dict[tuple[str, str], tuple[str, FixtureRecord]]  # (workload, shape)
    sessions: dict[str, SessionRecord]  # record id
    efforts: dict[str, EffortRecord] = {}  # record id
    egraphs: dict[str, tuple[str, EGraphRecord]] = {}  # workload; of our own, no compiler's

    def program(self, workload: str, shape: str) -> Program | None:
        found = self.fixtures.get((workload, shape))
        return found[1].program if found else None

    def question(self, workload: str) -> str:
        return next((record.question for (name, _), (_, record) in self.fixtures.items() if name == workload), "")

    def workloads(self) -> list[str]:
        """The simplest first: by contractions, then ops, then name."""
        names = {workload for workload, _ in self.fixtures} | {c.key.workload for c in self.configurations}
        return sorted(names, key=lambda name: (*self._size(name), name))

    def targets(self) -> list[str]:
        """Real devices first, then the host's processor, then targets nothing ran on."""
        return sorted({c.key.target for c in self.configurations}, key=_target_rank)

    def of_cell(self, workload: str, compiler: str) -> list[Configuration]:
        """Every configuration of a cell, the one that stands for it first."""
        return list(self._cells.get((workload, compiler), ()))

    @cached_property
    def _cells(self) -> dict[tuple[str, str], list[Configuration]]:
        """Ranked once: every link to a cell asks which of its configurations stands for it."""
        found: dict[tuple[str, str], list[Configuration]] = {}
        for c in sorted(self.configurations, key=self._configuration_rank):
            found.setdefault((c.key.workload, c.key.compiler), []).append(c)
        return found

    @cached_property
    def _main_shapes(self) -> dict[tuple[str, str], str]:
        return {}

    @cached_property
    def names(self) -> Names:
        return names_of({c.capture_id: c.key for c in self.configurations}, self.targets(), self.workloads())

    def main_shape(self, workload: str, target: str = "") -> str:
        """The shape with the most input elements, of those that were tried (on ``target``, if it is given).

        An inspection size stands for the workload only where nothing larger was tried.
        """
        if (workload, target) not in self._main_shapes:
            self._main_shapes[workload, target] = self._largest(workload, target)
        return self._main_shapes[workload, target]

    def _largest(self, workload: str, target: str) -> str:
        own = [c.key for c in self.configurations if c.key.workload == workload]
        shapes = {key.shape for key in own if target in ("", key.target)}
        shapes = shapes or {shape for name, shape in self.fixtures if name == workload}
        return max(shapes, key=lambda shape: (self._elements(workload, shape), shape), default="")

    def _size(self, workload: str) -> tuple[int, int]:
        program = self.program(workload, self.main_shape(workload))
        ops = program.ops if program else ()
        return sum(op.op == "matmul" for op in ops), len(ops)

    def _elements(self, workload: str, shape: str) -> int:
        program = self.program(workload, shape)
        return sum(_product(value.shape) for value in program.inputs) if program else 0

    def _configuration_rank(self, configuration: Configuration) -> tuple[object, ...]:
        key = configuration.key
        return (
            configuration.status not in ("ok", "rejected"),  # one with something to see stands for its cell
            _target_rank(key.target),
            key.shape != self.main_shape(key.workload, key.target),
            key.variant != "default",
            key.shape,
            key.variant,
        )


def every_configuration(store: Records, *, newest: bool = False) -> tuple[Configuration, ...]:
    """The latest capture of every key, so one for each version of a compiler; or only the newest of them all."""
    held = environments_not_accepted(store)
    captures = (
        pair
        for pair in store.records(CaptureRecord)
        if (pair[1].key.compiler, pair[1].key.environment) not in held  # a release on trial is no cell's yet
    )
    return _configurations(store, _latest(captures) if newest else captures)


def configurations_of(store: PublicStore, captures: Iterable[str]) -> tuple[Configuration, ...]:
    """These captures, by record id, whether or not their release was accepted and whatever came after them."""
    found = ((record_id, store.get(record_id)) for record_id in dict.fromkeys(captures))
    return _configurations(store, [(i, record) for i, record in found if isinstance(record, CaptureRecord)])


def read_snapshot(store: Records) -> Snapshot:
    """The latest record of every configuration, fixture and session of ``store``."""
    fixtures = {(r.key.workload, r.key.shape): (i, r) for i, r in _latest(store.records(FixtureRecord))}
    return Snapshot(
        configurations=tuple(
            msgspec.structs.replace(one, unseen=_unseen(one, fixtures.get((one.key.workload, one.key.shape))))
            for one in every_configuration(store, newest=True)
        ),
        fixtures=fixtures,
        sessions=dict(store.records(SessionRecord)),
        efforts=dict(store.records(EffortRecord)),
        egraphs={record.key.workload: (i, record) for i, record in _latest(store.records(EGraphRecord))},
    )


def is_run_target(target: str) -> bool:
    """Whether code for ``target`` is ever executed."""
    return not target.startswith(SIMULATED_TARGETS)


def matrix_instruction(launch: Launch) -> str:
    """What it multiplies matrices with. HFMA2.MMA is no such thing but a packed multiply-add of two values."""
    return "" if launch.instruction.startswith("HFMA2") else launch.instruction


def _unseen(configuration: Configuration, found: tuple[str, FixtureRecord] | None) -> tuple[str, ...]:
    """What a plan that ran must do and is not seen to: its launches are then fewer than those that ran."""
    plan = configuration.capture.plan
    if found is None or plan is None or configuration.status not in ("ok", "rejected"):
        return ()
    mistaken = [launch for launch in plan.launches if launch.instruction != matrix_instruction(launch)]
    computed = {name for launch in plan.launches if launch not in mistaken for name in launch.computes}
    return tuple(op.name for op in found[1].program.ops if op.op == "matmul" and op.name not in computed)


def _configurations(store: Records, captures: Iterable[tuple[str, CaptureRecord]]) -> tuple[Configuration, ...]:
    environments = dict(store.records(EnvironmentRecord))
    benchmarks = list(store.records(BenchmarkRecord))
    profiles = list(store.records(ProfileRecord))
    return tuple(_configuration(*capture, environments, benchmarks, profiles) for capture in captures)


def _configuration(
    capture_id: str,
    capture: CaptureRecord,
    environments: dict[str, EnvironmentRecord],
    benchmarks: list[tuple[str, BenchmarkRecord]],
    profiles: list[tuple[str, ProfileRecord]],
) -> Configuration:
    environment_id, environment = _environment(capture, environments)
    benchmark_id, benchmark, apart = _join(capture, benchmarks)
    profile_id, profile, profile_apart = _join_profile(capture, benchmark, profiles)
    return Configuration(
        capture_id=capture_id,
        capture=capture,
        environment_id=environment_id,
        environment=environment,
        benchmark_id=benchmark_id,
        benchmark=benchmark,
        apart=apart,
        profile_id=profile_id,
        profile=profile,
        profile_apart=profile_apart,
    )


def _environment(
    capture: CaptureRecord, environments: dict[str, EnvironmentRecord]
) -> tuple[str, EnvironmentRecord | None]:
    own = [
        (record_id, record)
        for record_id, record in environments.items()
        if (record.key.compiler, record.key.environment) == (capture.key.compiler, capture.key.environment)
    ]
    return max(own, key=_created) if own else ("", None)


J = TypeVar("J", BenchmarkRecord, ProfileRecord)


def _join(capture: CaptureRecord, records: list[tuple[str, J]]) -> tuple[str, J | None, str]:
    """The newest record of this configuration that measured this implementation, or why there is none.

    One that measured nothing says why, whatever it would have measured.
    """
    own = [pair for pair in records if _identity(pair[1].key) == _identity(capture.key)]
    same = [pair for pair in own if pair[1].fingerprint == capture.fingerprint or pair[1].outcome.status != "ok"]
    if same:
        record_id, record = max(same, key=_created)
        return record_id, record, ""
    if own:
        return "", None, "the timed implementation has another fingerprint than the captured one"
    return "", None, ""


def _join_profile(
    capture: CaptureRecord, benchmark: BenchmarkRecord | None, profiles: list[tuple[str, ProfileRecord]]
) -> tuple[str, ProfileRecord | None, str]:
    """As ``_join``; beside times, only a profile of the same allocation and implementation."""
    own = [pair for pair in profiles if _identity(pair[1].key) == _identity(capture.key)]
    if benchmark is None or benchmark.outcome.status != "ok" or not own:
        return _join(capture, own)
    apart = {record_id: _apart(benchmark, profile) for record_id, profile in own}
    found = _join(capture, [pair for pair in own if not apart[pair[0]]])
    return found if found[1] else ("", None, apart[max(own, key=_created)[0]])


def _apart(benchmark: BenchmarkRecord, profile: ProfileRecord) -> str:
    """Why a profile cannot stand beside these times; empty where it can, or where it measured nothing."""
    if profile.outcome.status != "ok":
        return ""
    try:
        require_joinable(benchmark, profile)
    except AllocationMismatch as mismatch:
        return str(mismatch)
    return ""


def _identity(key: Key) -> tuple[str, ...]:
    return key.workload, key.shape, key.compiler, key.variant, key.target, key.environment, key.patch


def _latest(pairs: Iterable[tuple[str, R]]) -> list[tuple[str, R]]:
    """One record per configuration, whichever environment or method made it: the newest.

    A compiler with a patched source is another one: it stands for its configuration only where nothing else does.
    """
    newest: dict[tuple[str, ...], tuple[str, R]] = {}
    for pair in pairs:
        key = pair[1].key
        place = key.workload, key.shape, key.compiler, key.variant, key.target
        if place not in newest or _standing(pair) > _standing(newest[place]):
            newest[place] = pair
    return list(newest.values())


def _standing(pair: tuple[str, Record]) -> tuple[bool, str]:
    return not pair[1].key.patch, _created(pair)


def _created(pair: tuple[str, Record | None]) -> str:
    return pair[1].provenance.created if pair[1] else ""


def _headline_rank(timing: Timing) -> tuple[int, bool, bool]:
    return CLOCK_ORDER.index(timing.clock), timing.cache != "warm", timing.data != "random"


def _target_rank(target: str) -> tuple[int, str]:
    if target == "cpu":
        return 1, target
    return (0 if is_run_target(target) else 2), target


def _product(shape: tuple[int, ...]) -> int:
    product = 1
    for extent in shape:
        product *= extent
    return product
