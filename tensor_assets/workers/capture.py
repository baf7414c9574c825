"""One variant of one cell: compiled in a fresh process from cold caches, its stages kept, its answers judged."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Compile, GetPlan, GetStages, Hello, Run
from tensor_worker.program import Program

from tensor_assets.contract.admission import admit
from tensor_assets.contract.arrays import save_arrays
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.progress import Progress, announce
from tensor_assets.records import Admission, Alternative, CaptureRecord, Evidence, Key, Outcome, Provenance, StageFile
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.alternatives import judge_alternatives
from tensor_assets.workers.answers import Answer, read_answer, rechecked
from tensor_assets.workers.caches import SNAPSHOT_TYPE, snapshot
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.failure import WorkerFailed, with_log
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.keeping import Keeper
from tensor_assets.workers.launch import worker_for
from tensor_assets.workers.process import DEADLINE, Worker
from tensor_assets.workers.stages import keep_stages

SEARCH_FIXTURE = "search"  # the only data a compiler's search may see
FIRST_EXECUTION = "first execution"  # the phase in which an adapter that must run while compiling says so
NOT_RUN = ("sm_90",)  # targets that are compiled for without a device


class CaptureTask(msgspec.Struct, frozen=True, kw_only=True):
    """What to capture. ``fixtures`` holds one called "search"; ``key`` is what the record is filed under."""

    adapter: AdapterFolder
    environment: Environment
    program: Program
    fixtures: tuple[BuiltFixture, ...]
    variant: str
    target: str
    key: Key
    parents: tuple[str, ...] = ()  # record ids
    deadline: float = DEADLINE  # seconds for the whole worker

    @property
    def title(self) -> str:
        return f"{self.program.workload} | {self.adapter.name} {self.variant} on {self.target}"


def capture_variant(task: CaptureTask, keeper: Keeper, scratch: Path, progress: Progress = announce) -> CaptureRecord:
    """Compile, look, run every fixture, judge. Whatever the worker does, a record with an outcome comes back.

    ``scratch`` is an empty folder for the worker's files. What was found before a failure is in the record too.
    """
    folder, found = WorkerFolder(scratch), _Findings()
    try:
        with worker_for(task.adapter, task.environment, folder, name=task.title, lifetime=task.deadline) as worker:
            _look(task, worker, folder, found, keeper, progress)
            answers = _run_fixtures(task, worker, folder, found, progress)
        if answers:
            progress(f"{task.title}: judging {len(answers)} runs")
            with found.costing("judge"):
                found.admission = admit(task.program, rechecked(answers))
        found.outcome = _verdict(found.admission)
        found.alternatives = tuple(_alternatives(task, folder, found, progress))
    except WorkerFailed as failure:
        found.outcome = failure.outcome
    if found.admission is not None and found.admission.admitted:
        found.cache = _keep_cache(folder, keeper, found)
    found.outcome = with_log(found.outcome, keeper, folder.log)
    return found.record(task)


@dataclass
class _Findings:
    """What has been found so far."""

    outcome: Outcome = field(default_factory=lambda: Outcome(status="ok"))
    capture: Capture | None = None
    stages: tuple[StageFile, ...] = ()
    plan: Plan | None = None
    fingerprint: str = ""
    admission: Admission | None = None
    rebuilds: bool = False
    alternatives: tuple[Alternative, ...] = ()
    phases: dict[str, float] = field(default_factory=dict)
    first_execution_seconds: float | None = None
    device: str = ""
    version: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    cache: Evidence | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def costing(self, phase: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - started

    def record(self, task: CaptureTask) -> CaptureRecord:
        return CaptureRecord(
            key=task.key,
            outcome=self.outcome,
            provenance=Provenance(
                created=datetime.now(UTC).isoformat(timespec="milliseconds"),
                project=version("tensor-assets"),
                packages=self.versions,
                parents=task.parents,
                seconds=self.seconds,
            ),
            capture=self.capture,
            stages=self.stages,
            plan=self.plan,
            fingerprint=self.fingerprint,
            admission=self.admission,
            alternatives=self.alternatives,
            phases=self.phases,
            first_execution_seconds=self.first_execution_seconds,
            device=self.device,
            version=self.version,
            cache=self.cache,
        )


def _look(
    task: CaptureTask, worker: Worker, folder: WorkerFolder, found: _Findings, keeper: Keeper, progress: Progress
) -> None:
    """From the greeting to the plan."""
    progress(f"{task.title}: starting")
    with found.costing("start"):
        greeting = worker.ask(Hello())
    found.version, found.versions = greeting.version, greeting.versions
    found.rebuilds = any(variant.name == task.variant and variant.rebuilds for variant in greeting.variants)
    progress(f"{task.title}: compiling")
    with found.costing("compile"):
        compiled = worker.ask(_compile_request(task, folder))
    found.phases, found.device = dict(compiled.phases), compiled.device
    found.first_execution_seconds = found.phases.pop(FIRST_EXECUTION, None)
    progress(f"{task.title}: reading stages and plan")
    with found.costing("stages"):
        found.capture = worker.ask(GetStages()).capture
        found.stages = keep_stages(found.capture.stages, folder.dump, keeper)
    with found.costing("plan"):
        planned = worker.ask(GetPlan())
    found.plan, found.fingerprint = planned.plan, planned.fingerprint


def _compile_request(task: CaptureTask, folder: WorkerFolder) -> Compile:
    search = next(fixture for fixture in task.fixtures if fixture.name == SEARCH_FIXTURE)
    path = folder.arrays / f"{SEARCH_FIXTURE}.inputs.npz"
    save_arrays(path, search.inputs)
    return Compile(
        program=task.program, variant=task.variant, target=task.target, inputs=str(path), dump_dir=str(folder.dump)
    )


def _run_fixtures(
    task: CaptureTask, worker: Worker, folder: WorkerFolder, found: _Findings, progress: Progress
) -> Sequence[Answer]:
    """The outputs of every fixture, one compiled implementation for all; nothing for a target that has no device here.

    The first exact fixture comes again at the end, invoked twice on one upload: an answer that depends on what ran
    before, or an invocation that spoils its inputs on the device, shows as a second answer.
    """
    if task.target in NOT_RUN:
        found.admission = Admission(admitted=None, reason=f"compiled for {task.target}, never run")
        return ()
    progress(f"{task.title}: running {len(task.fixtures)} fixtures")
    with found.costing("run"):
        answers = [_run_fixture(fixture, fixture.name, 1, worker, folder, found) for fixture in task.fixtures]
        again = [fixture for fixture in task.fixtures if fixture.exact][:1]
        answers += [_run_fixture(fixture, f"{fixture.name}.again", 2, worker, folder, found) for fixture in again]
        return answers


def _run_fixture(
    fixture: BuiltFixture, name: str, invocations: int, worker: Worker, folder: WorkerFolder, found: _Findings
) -> Answer:
    inputs, outputs = folder.arrays / f"{name}.inputs.npz", folder.arrays / f"{name}.outputs.npz"
    save_arrays(inputs, fixture.inputs)
    ran = worker.ask(Run(inputs=str(inputs), outputs=str(outputs), invocations=invocations))
    if found.first_execution_seconds is None:
        found.first_execution_seconds = ran.seconds
    return read_answer(fixture, inputs, outputs, ran)


def _alternatives(
    task: CaptureTask, folder: WorkerFolder, found: _Findings, progress: Progress
) -> Iterator[Alternative]:
    """The runners-up of a search, judged too, where the compiler can build them again."""
    if not (found.rebuilds and found.admission and found.admission.verdicts and found.capture and found.capture.search):
        return
    candidates, searched = found.capture.search.candidates, _compile_request(task, folder)
    with found.costing("alternatives"):
        yield from judge_alternatives(
            task, searched, found.fingerprint, candidates, folder.path / "alternatives", progress
        )


def _verdict(admission: Admission | None) -> Outcome:
    if admission is None or admission.admitted is not False:
        return Outcome(status="ok")
    return Outcome(status="rejected", reason=admission.reason or admission.boundary)


def _keep_cache(folder: WorkerFolder, keeper: Keeper, found: _Findings) -> Evidence:
    with found.costing("cache snapshot"):
        archive = folder.path / "caches.tar"
        snapshot(folder, archive)
        return keeper.put_file(archive, media_type=SNAPSHOT_TYPE, name="caches.tar", private=True)
