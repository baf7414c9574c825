"""A session: fresh processes of every configuration, compiled together, timed alone, checked again, taken down."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import msgspec
import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.arrays import save_arrays
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.errors import SettingsError
from tensor_assets.records import Allocation, Block, Key, Outcome, Provenance, SessionRecord
from tensor_assets.sessions.allocation import current_allocation, device_of
from tensor_assets.sessions.floors import floor_of
from tensor_assets.sessions.lease import Lease
from tensor_assets.sessions.method import Method, method_for
from tensor_assets.sessions.nvml import Gpu
from tensor_assets.sessions.participants import Contender, Participant
from tensor_assets.sessions.preparing import Start, enlist, pin, prepare
from tensor_assets.sessions.recheck import recheck
from tensor_assets.sessions.rounds import Stopwatch, time_axis
from tensor_assets.settings import load_settings
from tensor_assets.workers.failure import with_log
from tensor_assets.workers.keeping import Keeper
from tensor_assets.workers.scratch import scratch_folder

SEARCH_FIXTURE = "search"  # the only data a search may see
TIMED_FIXTURE = "random"


def run_session(
    program: Program,
    fixtures: Sequence[BuiltFixture],
    contenders: Sequence[Contender],
    *,
    target: str,
    method: Method | None = None,
    seed: int = 0,
    key: Key | None = None,
    parents: tuple[str, ...] = (),
    lease: Lease | None = None,
    granted: str = "",
    gpu: Gpu | None = None,
    keeper: Keeper | None = None,
) -> SessionRecord:
    """Time all ``contenders`` (admitted configurations of one workload) in interleaved blocks on one allocation.

    ``fixtures`` hold ``search``, ``random`` (what is timed) and another one for the check afterwards. ``granted`` names
    whoever leased the device to us; ``gpu`` replaces NVML's; ``keeper`` gets the logs of workers in trouble. A worker's
    trouble ends in its process record, never the session. Raises DeviceRefused, StoreUnwritable, SettingsError.
    """
    method = method or method_for(target)
    key = key or Key(workload=program.workload, shape=program.shape, target=target, method=method.hash)
    with ExitStack() as stack:
        device = gpu or stack.enter_context(device_of(target))
        allocation = current_allocation(target, granted, device)
        if not contenders:
            blocked = Outcome(status="blocked", reason="no configuration of this workload was admitted")
            return SessionRecord(
                key=key, outcome=blocked, provenance=_provenance(parents, {}), allocation=allocation, seed=seed,
                processes=(), blocks=(), method=method.described(),
            )  # fmt: skip
        session = _Session(program, fixtures, target, method, seed, allocation, device, lease or Lease())
        return session.run(contenders, key, parents, keeper)


class _Session:
    def __init__(
        self,
        program: Program,
        fixtures: Sequence[BuiltFixture],
        target: str,
        method: Method,
        seed: int,
        allocation: Allocation,
        device: Gpu | None,
        lease: Lease,
    ) -> None:
        self.program, self.target, self.method, self.seed = program, target, method, seed
        self.allocation, self.device, self.lease = allocation, device, lease
        self.search, self.timed, self.check = chosen_fixtures(fixtures)
        caches = {axis.cache for axis in method.axes}
        floors = {cache: floor_of(program, allocation, cache) for cache in caches}
        self.floors = {cache: floor for cache, floor in floors.items() if floor}
        self.tenants = device.tenants() if device else 0
        self.seconds: dict[str, float] = {}

    def run(
        self, contenders: Sequence[Contender], key: Key, parents: tuple[str, ...], keeper: Keeper | None
    ) -> SessionRecord:
        what = f"{self.program.workload} on {self.allocation.device}"
        with scratch_folder(load_settings().cache, "session-") as folder:
            data = self._write_inputs(folder)
            participants = enlist(contenders, self.method.processes, folder)
            with ExitStack() as workers:
                start = Start(self.program, self.target, data["search"], data["random"])
                with self._holding(self.lease.shared(f"compiling {what}")), self._phase("compile"):
                    prepare([one for one in participants if not one.contender.searches], start, workers)
                if searching := [one for one in participants if one.contender.searches]:
                    with self._holding(self.lease.exclusive(f"searching {what}")), self._phase("search"):
                        prepare(searching, start, workers, together=1)
                with self._holding(self.lease.exclusive(f"timing {what}")):
                    blocks, core, load = self._time(participants, data)
                closing = perf_counter()
            self.seconds["teardown"] = perf_counter() - closing
            keep_logs(participants, keeper)
        return SessionRecord(
            key=key,
            outcome=session_outcome(participants, blocks),
            provenance=_provenance(parents, self.seconds),
            allocation=self.allocation,
            seed=self.seed,
            processes=tuple(one.record() for one in participants),
            blocks=tuple(blocks),
            load=load,
            method=self._described(core),
        )

    def _time(
        self, participants: Sequence[Participant], data: Mapping[str, Path]
    ) -> tuple[list[Block], int, tuple[float, float]]:
        ready = [one for one in participants if one.alive]
        for one in ready:
            one.holds = "random"
        core, before = pin(ready), os.getloadavg()[0]
        state = self.device.state if self.device else lambda: None
        watch = Stopwatch(self.method, self.seed, data, self.floors, state)
        blocks: list[Block] = []
        with self._phase("timing"):
            for axis in (axis for axis in self.method.axes if not axis.traced):
                blocks += time_axis(ready, axis, watch)
        after = os.getloadavg()[0]
        with self._phase("recheck"):
            for one in ready:
                recheck(one, self.program, self.check, data["check"])
        # Last, because a profiler stays in the process: what it costs, or breaks, touches no other clock.
        with self._phase("tracing"):
            for axis in (axis for axis in self.method.axes if axis.traced):
                blocks += time_axis(ready, axis, watch)
        return blocks, core, (before, after)

    def _described(self, core: int) -> dict[str, float | int | str]:
        limits = {f"floor_{cache}_ns": floor.ns for cache, floor in self.floors.items()}
        sources = {f"floor_{cache}_limit": floor.limit for cache, floor in self.floors.items()}
        chosen: dict[str, float | int | str] = {"core": core, "timed": self.timed.name, "checked": self.check.name}
        others = {"gpu_processes_before": self.tenants} if self.device else {}
        return {**self.method.described(), **limits, **sources, **chosen, **others}

    def _write_inputs(self, folder: Path) -> dict[str, Path]:
        zeros = {name: np.zeros_like(array) for name, array in self.timed.inputs.items()}
        arrays = {
            "search": self.search.inputs,
            "random": self.timed.inputs,
            "zeros": zeros,
            "check": self.check.inputs,
        }
        files = {name: folder / f"{name}.npz" for name in arrays}
        for name, path in files.items():
            save_arrays(path, arrays[name])
        return files

    @contextmanager
    def _holding(self, lease: AbstractContextManager[None]) -> Iterator[None]:
        """The lease, with the time it took to get it counted as waiting, not as work."""
        began = perf_counter()
        with lease:
            self.seconds["wait"] = self.seconds.get("wait", 0.0) + perf_counter() - began
            yield

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = perf_counter() - started


def chosen_fixtures(fixtures: Sequence[BuiltFixture]) -> tuple[BuiltFixture, BuiltFixture, BuiltFixture]:
    """The search fixture, the one that is timed (random data), the one that outputs are checked on afterwards.

    The check prefers an exact fixture. Raises SettingsError if one is missing: it must not see the timed values again.
    """
    by_name = {fixture.name: fixture for fixture in fixtures}
    search, timed = by_name.get(SEARCH_FIXTURE), by_name.get(TIMED_FIXTURE)
    others = [fixture for fixture in fixtures if fixture not in (search, timed)]
    check = max(others, key=lambda fixture: (fixture.exact, fixture.name.startswith("exact-")), default=None)
    if search is None or timed is None or check is None:
        have = ", ".join(by_name) or "none"
        raise SettingsError(
            f"a session needs fixtures {SEARCH_FIXTURE!r}, {TIMED_FIXTURE!r} and another (have: {have})"
        )
    return search, timed, check


def keep_logs(participants: Sequence[Participant], keeper: Keeper | None) -> None:
    """Put the logs of those in trouble into the store, once their workers have ended."""
    for one in participants:
        if keeper and one.worker and not one.alive:
            one.outcome = with_log(one.outcome, keeper, one.worker.log_path)


def session_outcome(participants: Sequence[Participant], blocks: Sequence[Block]) -> Outcome:
    """``ok`` if anything usable was timed in a process that was right afterwards, else their commonest trouble."""
    right = {one.index for one in participants if one.recheck}
    if any(not block.invalid and block.process in right for block in blocks):
        return Outcome(status="ok")
    if troubled := [one.outcome for one in participants if not one.alive]:
        status, count = Counter(outcome.status for outcome in troubled).most_common(1)[0]
        example = next(outcome for outcome in troubled if outcome.status == status)
        reason = f"none of {len(participants)} processes could be timed; {count} {status}: {example.reason}"
        return msgspec.structs.replace(example, reason=reason)
    return Outcome(status="rejected", reason=blocks[0].invalid if blocks else "no block was timed")


def _provenance(parents: tuple[str, ...], seconds: Mapping[str, float]) -> Provenance:
    return Provenance(
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        project=version("tensor-assets"),
        packages={"numpy": np.__version__},
        parents=parents,
        seconds=dict(seconds),
    )
