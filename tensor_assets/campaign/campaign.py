"""Many cells on one device, in one go and without Dagster: preflight, gate, capture, timing, profile, teardown."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

import msgspec

from tensor_assets.campaign.benchmark import benchmark_cell
from tensor_assets.campaign.capture import GATE, capture_cell
from tensor_assets.campaign.effort import effort_of, searched
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.fixtures import fixture_records
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.profile import profile_cell
from tensor_assets.campaign.session import time_workload
from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.together import C, T, all_of
from tensor_assets.campaign.workspace import Workspace, worker_target
from tensor_assets.progress import announce
from tensor_assets.records import BenchmarkRecord, CampaignRecord, CaptureRecord, Key, Outcome, Phase
from tensor_assets.sessions.allocation import current_allocation
from tensor_assets.sessions.effort import DEADLINE
from tensor_assets.sessions.preparing import at_once
from tensor_assets.workers.process import left_behind

# Seconds: below this nobody held the host before a session.
NOTICED = 0.1
# Programs that a profile may want; their absence is a finding, not a failure.
PROFILERS = ("ncu", "nsys", "nvdisasm", "cuobjdump", "nvcc")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. ``variants`` adds searched variants to single workloads; ``profiled`` names who is looked into."""

    workloads: tuple[str, ...]
    compilers: tuple[str, ...]
    options: Options
    variants: Mapping[str, tuple[str, ...]] = {}  # workload → variants beyond the routine ones
    profiled: tuple[str, ...] = ()  # workloads
    efforts: tuple[tuple[str, str], ...] = ()  # (workload, compiler) whose search levels are compared
    search_seconds: float = DEADLINE  # for one search


def run_campaign(space: Workspace, request: Request) -> Stored[CampaignRecord]:
    """Run every phase and file what was found; a cell's trouble is its outcome. Raises DeviceRefused, SettingsError."""
    return _Campaign(space, request).run()


class _Cell(NamedTuple):
    workload: str
    compiler: str

    def __str__(self) -> str:
        return f"{self.workload} | {self.compiler}"


class _Campaign:
    def __init__(self, space: Workspace, request: Request) -> None:
        self._space, self._request, self._options = space, request, request.options
        self._phases: list[Phase] = []
        self._captures: list[Stored[CaptureRecord]] = []
        self._benchmarks: list[Stored[BenchmarkRecord]] = []

    def run(self) -> Stored[CampaignRecord]:
        target = self._options.target
        allocation = current_allocation(target)
        with self._phase("preflight", idle=True):
            found = self._preflight()
            for _, compiler in self._request.efforts:  # before the work, not after it
                searched(self._space, compiler, target)
        with self._phase("fixtures", idle=True):
            self._fixtures()
        with self._phase("gate and capture", idle=True):
            self._capture()
        for workload in self._request.workloads:
            self._time(workload)
        for workload in self._request.profiled:
            with self._phase(f"profile {workload}"):
                self._profile(workload)
        for workload, compiler in self._request.efforts:
            with self._phase(f"search effort {workload} {compiler}"):
                effort_of(self._space, workload, compiler, self._options, self._request.search_seconds)
        record = CampaignRecord(
            key=Key(target=target, environment=allocation.id, method=_asked(self._request)),
            outcome=Outcome(status="ok"),
            provenance=provenance((*(c.id for c in self._captures), *(b.id for b in self._benchmarks))),
            allocation=allocation,
            preflight=found,
            phases=tuple(self._phases),
            teardown=teardown(),
            outcomes={_title(stored.record.key): stored.record.outcome.status for stored in self._captures},
        )
        return file(self._space.store, record)

    def _preflight(self) -> dict[str, str]:
        target = self._options.target
        ready = self._all_of(self._request.compilers, lambda name: environment_record(self._space, name, target))
        environments = {name: one.stored.record for name, one in ready.items()}
        return {
            "host": f"{platform.system()} {platform.release()}, {os.cpu_count()} processors",
            "python": platform.python_version(),
            **{name: (shutil.which(name) and "installed") or "not installed" for name in PROFILERS},
            **{
                name: record.version if record.outcome.status == "ok" else record.outcome.reason
                for name, record in environments.items()
            },
        }

    def _fixtures(self) -> None:
        for stored in fixture_records(self._space, self._request.workloads, self._options.shape):
            announce(f"{stored.record.key.workload}: fixtures at {stored.record.key.shape}")

    def _capture(self) -> None:
        """A compiler's other workloads begin once its own gate is through, and wait for nobody else's."""
        workloads = sorted(self._request.workloads, key=lambda name: name != GATE)
        cells = [_Cell(workload, compiler) for workload in workloads for compiler in self._request.compilers]
        gates = {cell.compiler: cell for cell in cells if cell.workload == GATE}
        captured = self._all_of(
            cells, self._capture_one, lambda cell: None if cell.workload == GATE else gates.get(cell.compiler)
        )
        self._captures += chain.from_iterable(captured.values())

    def _capture_one(self, cell: _Cell) -> list[Stored[CaptureRecord]]:
        workload, compiler = cell
        more = self._request.variants.get(workload, ())
        options = msgspec.structs.replace(self._options, variants=self._offered(compiler, more))
        return capture_cell(self._space, workload, compiler, options)

    def _offered(self, compiler: str, more: Sequence[str]) -> tuple[str, ...]:
        """Of ``more``, what this compiler has for this target, beside what every cell gets."""
        record = environment_record(self._space, compiler, self._options.target).stored.record
        target = worker_target(self._options.target)
        wanted = [v for v in record.variants if target in v.targets and (v.name in more or not v.keeps_contract)]
        return tuple(variant.name for variant in wanted) if more else ()

    def _time(self, workload: str) -> None:
        announce(f"{workload}: timing session")
        session = time_workload(self._space, workload, self._options)
        # What another campaign spent on a session that is taken up again is no cost of this one.
        spent = {} if session.reused else dict(session.record.provenance.seconds)
        idle, waiting = spent.pop("compile", 0.0), spent.pop("wait", 0.0)
        compiling = idle + spent.pop("search", 0.0)  # a search times candidates on the device
        self._phases.append(Phase(name=f"compile {workload}", seconds=compiling, idle_seconds=idle))
        self._phases.append(Phase(name=f"time {workload}", seconds=sum(spent.values())))
        if waiting >= NOTICED:
            self._phases.append(Phase(name=f"wait for the host {workload}", seconds=waiting, idle_seconds=waiting))
        for compiler in self._request.compilers:
            self._benchmarks += benchmark_cell(self._space, workload, compiler, self._options)

    def _profile(self, workload: str) -> None:
        """Profilers start and compile side by side; the lease lets one at a time look at the device."""
        mine = {
            f"{_title(stored.record.key)} ({stored.id[:12]})": stored
            for stored in self._benchmarks
            if stored.record.key.workload == workload and stored.record.outcome.status == "ok"
        }

        def profiled(title: str) -> None:
            compiler = mine[title].record.key.compiler
            profile_cell(self._space, workload, compiler, self._options, [mine[title]])

        self._all_of(tuple(mine), profiled)

    def _all_of(
        self, cells: Sequence[C], work: Callable[[C], T], after: Callable[[C], C | None] = lambda _: None
    ) -> dict[C, T]:
        """This process is alone on its host: as many at once as fit."""
        return all_of(self._space, cells, work, at_once(), after)

    @contextmanager
    def _phase(self, name: str, *, idle: bool = False) -> Iterator[None]:
        announce(name)
        began = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            self._phases.append(Phase(name=name, seconds=seconds, idle_seconds=seconds if idle else 0.0))


def teardown() -> dict[str, str]:
    """What a campaign left behind on this host: nothing, if all is well. Others' workers are none of it."""
    return {"workers still running": str(len(left_behind()))}


def _asked(request: Request) -> str:
    """What tells two campaigns on one allocation apart: the same request again takes the place of its earlier run."""
    return hashlib.sha256(msgspec.json.encode(request, order="deterministic")).hexdigest()[:16]


def _title(key: Key) -> str:
    return f"{key.workload} | {key.compiler} {key.variant}"
