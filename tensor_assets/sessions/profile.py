"""A timed configuration looked into: device timeline, counters, machine code, occupancy, place under the roofline.

Nothing here is timed for comparison. Every profiler has a process of its own, and what another implementation than the
timed one did is refused, never attached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, Protocol, overload

from tensor_worker.loaded import MODULES
from tensor_worker.messages import Compile, Compiled, GetPlan, PlanReply, Ran, Run, Time, Timed, Trace, Traced
from tensor_worker.program import Program

from tensor_assets.contract.arrays import save_arrays
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.errors import AllocationMismatch
from tensor_assets.progress import announce
from tensor_assets.records import (
    Allocation,
    BenchmarkRecord,
    Evidence,
    KernelProfile,
    Outcome,
    ProfileRecord,
    Provenance,
)
from tensor_assets.sessions.allocation import current_allocation, device_of, require_fingerprint, require_same
from tensor_assets.sessions.ceilings import ceilings_of
from tensor_assets.sessions.lease import Lease
from tensor_assets.sessions.loaded import NotRead, loaded_opcodes
from tensor_assets.sessions.nsight import (
    Counted,
    CountersMissing,
    Watcher,
    by_kernel,
    by_position,
    compute_watcher,
    read_launches,
    systems_watcher,
)
from tensor_assets.sessions.nvml import Gpu
from tensor_assets.sessions.roofline import placed
from tensor_assets.sessions.sass import opcode_counts
from tensor_assets.sessions.session import chosen_fixtures
from tensor_assets.sessions.timeline import Invocation, busy_ns, kernel_profiles, median, regular, span_ns
from tensor_assets.settings import load_settings
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.keeping import Keeper
from tensor_assets.workers.scratch import scratch_folder

INVOCATIONS = 10  # the documents' range of warmed invocations
COUNTED_INVOCATIONS = 3  # under Nsight Compute, which runs every launch again and again until all counters are read
WARMUPS = 10
COUNTED = "with warm caches"
NSYS_TYPE = "application/x-nsight-systems"


class ProfiledWorker(Protocol):
    """What is asked of a worker that is looked into."""

    @overload
    def ask(self, request: Compile, deadline: float | None = ...) -> Compiled: ...
    @overload
    def ask(self, request: Run, deadline: float | None = ...) -> Ran: ...
    @overload
    def ask(self, request: GetPlan, deadline: float | None = ...) -> PlanReply: ...
    @overload
    def ask(self, request: Time, deadline: float | None = ...) -> Timed: ...
    @overload
    def ask(self, request: Trace, deadline: float | None = ...) -> Traced: ...


# Starts a fresh worker in a folder, with what goes before its command and what is added to its environment.
Start = Callable[[Path, Sequence[str], Mapping[str, str]], AbstractContextManager[ProfiledWorker]]


class Subject(NamedTuple):
    """The configuration to look into: its benchmark, and how a worker of it is started from its cache snapshot."""

    program: Program
    fixtures: Sequence[BuiltFixture]
    benchmark_id: str
    benchmark: BenchmarkRecord
    start: Start
    sass: Mapping[str, str] = {}  # stage → text, of what was captured
    searches: bool = False  # compiling it times candidates: nothing else may run meanwhile


def profile_configuration(
    subject: Subject,
    *,
    target: str,
    keeper: Keeper,
    lease: Lease | None = None,
    granted: str = "",
    gpu: Gpu | None = None,
) -> ProfileRecord:
    """Look into one timed configuration. It always returns a record; each part that is not there says why.

    Raises AllocationMismatch on another allocation than the benchmark's, DeviceRefused where there is no device.
    """
    benchmark, parts = subject.benchmark, _Parts()
    if benchmark.outcome.status != "ok":
        reason = f"its benchmark was {benchmark.outcome.status}: {benchmark.outcome.reason}"
        return parts.record(subject, benchmark.allocation, Outcome(status="blocked", reason=reason))
    with ExitStack() as stack:
        device = gpu or stack.enter_context(device_of(target))
        allocation = current_allocation(target, granted, device)
        require_same(f"profile of {benchmark.key.compiler}", allocation, benchmark.allocation)
        parts.opcodes = _opcodes(subject, parts)
        if device is None:
            return parts.record(
                subject, allocation, Outcome(status="unavailable", reason="profiles are made on GPUs only")
            )
        look = _Look(subject, keeper, lease or Lease(), parts)
        look.at_timeline(device.name)
        look.at_counters()
        look.at_system()
    _place(parts, device.name)
    return parts.record(subject, allocation, _outcome(parts))


@dataclass
class _Parts:
    """What has been found so far."""

    timeline: tuple[Invocation, ...] = ()
    kernels: tuple[KernelProfile, ...] = ()
    busy_ns: float | None = None
    span_ns: float | None = None
    launches: list[Counted] = field(default_factory=list)
    counters: dict[str, dict[str, float]] = field(default_factory=dict)
    opcodes: dict[str, dict[str, int]] = field(default_factory=dict)
    loaded: tuple[str, ...] = ()
    ceilings: dict[str, str] = field(default_factory=dict)
    files: list[Evidence] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    remedy: str = ""

    def record(self, subject: Subject, allocation: Allocation | None, outcome: Outcome) -> ProfileRecord:
        return ProfileRecord(
            key=subject.benchmark.key,
            outcome=outcome,
            provenance=Provenance(
                created=datetime.now(UTC).isoformat(timespec="milliseconds"),
                project=version("tensor-assets"),
                parents=(subject.benchmark_id,),
            ),
            session=subject.benchmark.session,
            allocation=allocation,
            fingerprint=subject.benchmark.fingerprint,
            timeline=self.timeline,
            kernels=self.kernels,
            busy_ns=self.busy_ns,
            span_ns=self.span_ns,
            counters=self.counters,
            counted=COUNTED,
            opcodes=self.opcodes,
            loaded=self.loaded,
            ceilings=self.ceilings,
            files=tuple(self.files),
            missing=self.missing,
        )


class _Look(NamedTuple):
    subject: Subject
    keeper: Keeper
    lease: Lease
    parts: _Parts

    def at_timeline(self, device: str) -> None:
        """Activities, gaps and occupancy, from CUPTI inside the worker."""
        with self._part("timeline"), scratch_folder(load_settings().cache, "profile-") as folder:
            traced = self._traced(folder, None)
            if not any(traced.invocations):
                raise CountersMissing(f"CUPTI recorded no activity in {len(traced.invocations)} invocations")
            self._at_loaded(traced)
            same = regular([invocation for invocation in traced.invocations if invocation])
            self.parts.timeline = traced.invocations
            self.parts.kernels = kernel_profiles(same, device)
            self.parts.busy_ns, self.parts.span_ns = median(map(busy_ns, same)), median(map(span_ns, same))
            if traced.dropped:
                self.parts.missing["activities"] = f"CUPTI dropped {traced.dropped} records"
            elif len(same) < len(traced.invocations):
                rest = len(traced.invocations) - len(same)
                self.parts.missing["activities"] = f"{rest} of {len(traced.invocations)} invocations did others"

    def _at_loaded(self, traced: Traced) -> None:
        """Opcodes of what the driver loaded, in place of those of the captured listing."""
        kernels = {one.name for invocation in traced.invocations for one in invocation if one.kind == "kernel"}
        try:
            found = loaded_opcodes(traced.modules)
        except NotRead as error:
            self.parts.missing["loaded code"] = str(error)
            return
        if unseen := sorted(kernels - set(found)):
            self.parts.missing["loaded code"] = f"no single module was seen to be loaded for {', '.join(unseen)}"
        elif found:
            self.parts.missing.pop("machine code", None)
        self.parts.opcodes |= found
        self.parts.loaded = tuple(sorted(found))

    def at_counters(self) -> None:
        """Performance counters, from Nsight Compute around the worker."""
        with self._part("counters"), scratch_folder(load_settings().cache, "profile-") as folder:
            if (watcher := compute_watcher(folder)) is None:
                raise CountersMissing("Nsight Compute (ncu) is not installed")
            self._traced(folder, watcher, COUNTED_INVOCATIONS)
            text = watcher.output.read_text(errors="replace") if watcher.output.exists() else ""
            self.parts.files.append(
                self.keeper.put_bytes(text.encode(), media_type="text/csv", name="ncu.csv", private=True)
            )
            self.parts.launches = read_launches(text)
            self.parts.counters = by_kernel(self.parts.launches)

    def at_system(self) -> None:
        """Nsight Systems' own report, kept for whoever wants to open it."""
        with self._part("nsight systems"), scratch_folder(load_settings().cache, "profile-") as folder:
            if (watcher := systems_watcher(folder)) is None:
                raise CountersMissing("Nsight Systems (nsys) is not installed")
            self._traced(folder, watcher)
            if not watcher.output.exists():
                raise CountersMissing("Nsight Systems wrote no report")
            self.parts.files.append(
                self.keeper.put_file(watcher.output, media_type=NSYS_TYPE, name=watcher.output.name, private=True)
            )

    @contextmanager
    def _part(self, name: str) -> Iterator[None]:
        """Whatever goes wrong inside is why ``name`` is missing."""
        try:
            yield
        except WorkerFailed as failure:
            self.parts.missing[name] = failure.outcome.reason
            self.parts.remedy = self.parts.remedy or failure.outcome.remedy
        except CountersMissing as missing:
            self.parts.missing[name] = str(missing)
            self.parts.remedy = self.parts.remedy or missing.remedy
        except AllocationMismatch as mismatch:
            self.parts.missing[name] = str(mismatch)

    def _traced(self, folder: Path, watcher: Watcher | None, invocations: int = INVOCATIONS) -> Traced:
        """Warmed invocations of a fresh process that runs the timed implementation; the worker has ended after."""
        what = f"{self.subject.benchmark.key.compiler}: {watcher.name if watcher else 'device timeline'}"
        announce(f"{self.subject.program.workload} | {what}")
        home = folder / "worker"
        home.mkdir()
        prefix, variables = (watcher.prefix, watcher.variables) if watcher else ((), {MODULES: str(home)})
        with self.subject.start(home, prefix, variables) as worker:
            compiling = self.lease.exclusive if self.subject.searches else self.lease.shared
            with compiling(f"compiling for a profile of {what}"):
                self._ready(worker, home)
            with self.lease.exclusive(f"profiling {what}"):
                worker.ask(Time(invocations=WARMUPS))  # here, as it may have waited long for its turn
                return worker.ask(Trace(invocations=invocations))

    def _ready(self, worker: ProfiledWorker, home: Path) -> None:
        subject, key = self.subject, self.subject.benchmark.key
        search, timed, _ = chosen_fixtures(subject.fixtures)
        files = {"search": search.inputs, "timed": timed.inputs}
        for name, arrays in files.items():
            save_arrays(home / f"{name}.npz", arrays)
        (home / "profile-dump").mkdir()
        worker.ask(
            Compile(
                program=subject.program,
                variant=key.variant,
                target="cuda",
                inputs=str(home / "search.npz"),
                dump_dir=str(home / "profile-dump"),
                capture=False,
            )
        )
        require_fingerprint("this profiling process", subject.benchmark.fingerprint, worker.ask(GetPlan()).fingerprint)
        worker.ask(Run(inputs=str(home / "timed.npz"), outputs=str(home / "outputs.npz")))


def _opcodes(subject: Subject, parts: _Parts) -> dict[str, dict[str, int]]:
    """Of every captured SASS stage; a nameless listing is filed under its stage."""
    if not subject.sass:
        parts.missing["machine code"] = "the capture holds no SASS"
    found: dict[str, dict[str, int]] = {}
    for stage, text in subject.sass.items():
        found |= {kernel or stage: counts for kernel, counts in opcode_counts(text).items()}
    return found


def _place(parts: _Parts, device: str) -> None:
    """Attach counted work to the traced kernels."""
    if (ceilings := ceilings_of(device)) is None:
        parts.missing["roofline"] = f"no ceilings are declared for {device}"
        return
    parts.ceilings = {"compute": ceilings.flops_source} | {level.name: level.source for level in ceilings.levels}
    if not parts.counters or not parts.kernels:
        parts.missing["roofline"] = "it needs both the timeline and the counters"
        return
    counted = iter(by_position(parts.launches, [one.name for one in parts.kernels if one.kind == "kernel"]))
    parts.kernels = tuple(
        placed(one, next(counted), ceilings) if one.kind == "kernel" else one for one in parts.kernels
    )
    uncounted = [kernel.name for kernel in parts.kernels if kernel.kind == "kernel" and kernel.operations is None]
    if uncounted:
        parts.missing["roofline"] = f"not counted: {', '.join(dict.fromkeys(uncounted))}"


def _outcome(parts: _Parts) -> Outcome:
    """``ok`` where either view of the device is there; ``missing`` tells of the rest."""
    if parts.timeline or parts.counters:
        return Outcome(status="ok")
    reason = f"timeline: {parts.missing['timeline']}; counters: {parts.missing['counters']}"
    return Outcome(status="unavailable", reason=reason, remedy=parts.remedy)
