"""Search effort: default, original and expanded search of one compiler, in paired blocks on one allocation.

Every trial is a fresh process with cold caches, so what a search chose may differ from block to block: a block's trials
are compared with each other and never pooled. Three blocks establish no significance, and none is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import msgspec
from tensor_worker.artifacts import Search
from tensor_worker.candidates import read_candidates, read_untimed
from tensor_worker.messages import Compile, GetPlan, GetStages, Run
from tensor_worker.program import Program

from tensor_assets.contract.arrays import save_arrays
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.progress import announce
from tensor_assets.records import Allocation, Block, EffortRecord, Key, Outcome, Provenance, Series, Trial
from tensor_assets.sessions.allocation import current_allocation, device_of
from tensor_assets.sessions.floors import floor_of
from tensor_assets.sessions.lease import Lease
from tensor_assets.sessions.method import Axis, Method, method_for
from tensor_assets.sessions.nvml import Gpu
from tensor_assets.sessions.participants import Contender, Participant
from tensor_assets.sessions.preparing import pin
from tensor_assets.sessions.recheck import recheck
from tensor_assets.sessions.rounds import Stopwatch, time_axis
from tensor_assets.sessions.schedule import balanced_rounds
from tensor_assets.sessions.series import summarize_samples
from tensor_assets.sessions.session import chosen_fixtures, keep_logs
from tensor_assets.settings import load_settings
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.keeping import Keeper
from tensor_assets.workers.scratch import scratch_folder

BLOCKS = 3  # the documents' number of paired blocks
DEADLINE = 600.0  # seconds for one compilation with its search, the documents' limit
CENSORED_SCOPE = "candidates that were timed or refused before the search was ended"
HOST = Axis("host")


def compare_effort(
    program: Program,
    fixtures: Sequence[BuiltFixture],
    contenders: Sequence[Contender],
    *,
    target: str,
    blocks: int = BLOCKS,
    deadline: float = DEADLINE,
    seed: int = 0,
    key: Key | None = None,
    parents: tuple[str, ...] = (),
    method: Method | None = None,
    lease: Lease | None = None,
    granted: str = "",
    gpu: Gpu | None = None,
    keeper: Keeper | None = None,
) -> EffortRecord:
    """Compile and time every contender (variants of one compiler that start cold) once a block, in shuffled order.

    Searches time candidates on the device, so compilations run one at a time and hold the host exclusively. A search
    that passes ``deadline`` seconds is ``censored`` and keeps what it had tried and what was waiting for its turn.
    Raises as ``run_session`` does.
    """
    method = msgspec.structs.replace(method or method_for(target), axes=(HOST,), processes=1)
    key = key or Key(workload=program.workload, shape=program.shape, target=target, method=method.hash)
    with ExitStack() as stack:
        device = gpu or stack.enter_context(device_of(target))
        allocation = current_allocation(target, granted, device)
        folder = stack.enter_context(scratch_folder(load_settings().cache, "effort-"))
        comparison = _Comparison(program, fixtures, target, method, seed, deadline, allocation, device, folder)
        with (lease or Lease()).exclusive(f"comparing search effort for {program.workload}"):
            for number, order in enumerate(balanced_rounds(range(len(contenders)), blocks, seed)):
                comparison.run_block(number, [contenders[place] for place in order], keeper)
    described = method.described() | {"deadline_seconds": deadline, "paired_blocks": blocks}
    return comparison.record(key, parents, allocation, described)


def paired_ratios(record: EffortRecord, baseline: str = "default") -> dict[str, tuple[float | None, ...]]:
    """Variant → its median over the baseline's, block by block; None where either was not timed."""
    medians = {(trial.block, trial.variant): trial.series.median_ns for trial in record.trials if trial.series}
    numbers = sorted({trial.block for trial in record.trials})
    variants = dict.fromkeys(trial.variant for trial in record.trials if trial.variant != baseline)
    return {
        variant: tuple(_ratio(medians.get((n, variant)), medians.get((n, baseline))) for n in numbers)
        for variant in variants
    }


def quickest(search: Search | None) -> int | None:
    """Place of the candidate with the least time by the compiler's own timer, whichever kernel it was for."""
    times = {place: c.measured_ns for place, c in enumerate(search.candidates) if c.measured_ns} if search else {}
    return min(times, key=lambda place: times[place], default=None)


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other is not None else None


class _Found(NamedTuple):
    """What compiling one trial told."""

    compile_seconds: float | None = None
    phases: dict[str, float] = {}
    search: Search | None = None
    first_execution_seconds: float | None = None


class _Comparison:
    def __init__(
        self,
        program: Program,
        fixtures: Sequence[BuiltFixture],
        target: str,
        method: Method,
        seed: int,
        deadline: float,
        allocation: Allocation,
        device: Gpu | None,
        folder: Path,
    ) -> None:
        search, timed, self.check = chosen_fixtures(fixtures)
        self.program, self.target, self.deadline, self.folder = program, target, deadline, folder
        self.data = {name: folder / f"{name}.npz" for name in ("search", "random", "check")}
        for name, fixture in zip(self.data, (search, timed, self.check), strict=True):
            save_arrays(self.data[name], fixture.inputs)
        floor = floor_of(program, allocation)
        state = device.state if device else lambda: None
        self.watch = Stopwatch(method, seed, self.data, {"warm": floor} if floor else {}, state)
        self.trials: list[Trial] = []
        self.blocks: list[Block] = []

    def run_block(self, number: int, contenders: Sequence[Contender], keeper: Keeper | None) -> None:
        """Compile one after the other, time all that are right in interleaved blocks, take them down."""
        start = len(self.trials)
        participants = [
            Participant(start + place, contender, number, self.folder / f"trial-{start + place}")
            for place, contender in enumerate(contenders)
        ]
        with ExitStack() as workers:
            found = [self._search(one, workers) for one in participants]
            for one in participants:
                recheck(one, self.program, self.check, self.data["check"], "before any timing")
            pin([one for one in participants if one.alive])
            blocks = time_axis(participants, HOST, self.watch._replace(seed=self.watch.seed + number))
            for one in participants:
                recheck(one, self.program, self.check, self.data["check"])
        keep_logs(participants, keeper)
        self.blocks += blocks
        for place, (one, told) in enumerate(zip(participants, found, strict=True)):
            self.trials.append(_trial(number, place, one, told, _series(one, blocks)))

    def record(
        self, key: Key, parents: tuple[str, ...], allocation: Allocation, described: dict[str, float | int | str]
    ) -> EffortRecord:
        """Of all blocks that were run; ``described`` is how."""
        return EffortRecord(
            key=key,
            outcome=self._outcome(),
            provenance=Provenance(
                created=datetime.now(UTC).isoformat(timespec="milliseconds"),
                project=version("tensor-assets"),
                parents=parents,
            ),
            allocation=allocation,
            seed=self.watch.seed,
            trials=tuple(self.trials),
            blocks=tuple(self.blocks),
            method=described,
        )

    def _outcome(self) -> Outcome:
        if any(trial.series for trial in self.trials):
            return Outcome(status="ok")
        troubled = next((trial.outcome for trial in self.trials if trial.outcome.status != "ok"), None)
        return troubled or Outcome(status="blocked", reason="no variant was given to compare")

    def _search(self, one: Participant, workers: ExitStack) -> _Found:
        what = f"{one.contender.label}, block {one.replicate + 1}"
        announce(f"{self.program.workload}: compiling and searching {what}")
        dump = one.folder / "search-dump"
        dump.mkdir(parents=True)
        found, started = _Found(), perf_counter()
        try:
            one.worker = workers.enter_context(one.contender.start(one.folder))
            compiled = one.worker.ask(self._request(one, dump), self.deadline)
            found = found._replace(compile_seconds=perf_counter() - started, phases=compiled.phases)
            one.fingerprint = one.worker.ask(GetPlan()).fingerprint
            found = found._replace(search=one.worker.ask(GetStages()).capture.search)
            ran = one.worker.ask(Run(inputs=str(self.data["random"]), outputs=str(one.folder / "first.npz")))
            return found._replace(first_execution_seconds=ran.seconds)
        except WorkerFailed as failure:
            one.outcome = failure.outcome
            return found._replace(search=found.search or _tried_so_far(dump, perf_counter() - started, failure))

    def _request(self, one: Participant, dump: Path) -> Compile:
        return Compile(
            program=self.program,
            variant=one.contender.variant,
            target="cpu" if self.target == "cpu" else "cuda",
            inputs=str(self.data["search"]),
            dump_dir=str(dump),
        )


def _tried_so_far(dump: Path, seconds: float, failure: WorkerFailed) -> Search | None:
    tried, untimed = read_candidates(dump), read_untimed(dump)
    if not (tried or untimed):
        return None
    return Search(
        scope=CENSORED_SCOPE,
        tried=len(tried),
        untimed=len(untimed),
        seconds=seconds,
        candidates=(*tried, *untimed),
        censored=failure.outcome.reason,
    )


def _trial(number: int, place: int, one: Participant, told: _Found, series: Series | None) -> Trial:
    return Trial(
        block=number,
        position=place,
        variant=one.contender.variant,
        outcome=one.outcome,
        fingerprint=one.fingerprint,
        compile_seconds=told.compile_seconds,
        phases=told.phases,
        first_execution_seconds=told.first_execution_seconds,
        search=told.search,
        recheck=one.recheck,
        series=series if one.recheck else None,
    )


def _series(one: Participant, blocks: Sequence[Block]) -> Series | None:
    samples = [b.elapsed_ns / b.invocations for b in blocks if b.process == one.index and not b.invalid]
    return summarize_samples(one.index, one.replicate, samples) if samples else None
