"""Who takes part in a session: configurations that were captured, and the processes started of each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, overload

from tensor_worker.messages import Compile, Compiled, GetPlan, GetStages, PlanReply, Ran, Run, Stages, Time, Timed

from tensor_assets.records import Outcome, Process


class TimingWorker(Protocol):
    """What a session asks of a worker; ``workers.process.Worker`` is one, tests simulate others."""

    pid: int
    log_path: Path

    @overload
    def ask(self, request: Compile, deadline: float | None = ...) -> Compiled: ...
    @overload
    def ask(self, request: Run, deadline: float | None = ...) -> Ran: ...
    @overload
    def ask(self, request: GetStages, deadline: float | None = ...) -> Stages: ...
    @overload
    def ask(self, request: GetPlan, deadline: float | None = ...) -> PlanReply: ...
    @overload
    def ask(self, request: Time, deadline: float | None = ...) -> Timed: ...

    def close(self, *, orderly: bool = ...) -> None: ...


class Contender(NamedTuple):
    """One configuration: what its capture found, and how a fresh worker of it is started in a folder of its own."""

    compiler: str
    variant: str
    fingerprint: str  # of the capture
    start: Callable[[Path], AbstractContextManager[TimingWorker]]
    arm: str = ""  # "old" or "new" where two environments of one compiler are compared
    cache: str = ""  # SHA-256 of the snapshot that ``start`` restores, empty where it starts cold
    processes: int = 0  # how many of it; 0 for as many as the method says
    searches: bool = False  # compiling it times candidates on the device: nothing else may run meanwhile

    @property
    def label(self) -> str:
        return configuration(self.compiler, self.variant, self.arm)


@dataclass
class Participant:
    """One process of a session while it lives."""

    index: int
    contender: Contender
    replicate: int
    folder: Path
    worker: TimingWorker | None = None
    fingerprint: str = ""
    outcome: Outcome = field(default_factory=lambda: Outcome(status="ok"))
    holds: str = ""  # which data its inputs hold
    first_seconds: float = 0.0  # its first run took
    spent_seconds: float = 0.0  # on what was timed so far
    core: int | None = None
    threads: int | None = None
    recheck: bool | None = None
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        return self.outcome.status == "ok"

    @property
    def asked(self) -> TimingWorker:
        assert self.worker is not None, "a participant is asked only after it was started"
        return self.worker

    def record(self) -> Process:
        return Process(
            index=self.index,
            compiler=self.contender.compiler,
            variant=self.contender.variant,
            arm=self.contender.arm,
            replicate=self.replicate,
            fingerprint=self.fingerprint,
            outcome=self.outcome,
            core=self.core,
            threads=self.threads,
            recheck=self.recheck,
            captured=self.contender.fingerprint,
            cache=self.contender.cache,
            refused=dict(self.refused),
        )


def configuration(compiler: str, variant: str, arm: str = "") -> str:
    """``inductor/tuned``, or ``inductor/tuned@new`` where environments are compared."""
    return f"{compiler}/{variant}@{arm}" if arm else f"{compiler}/{variant}"
