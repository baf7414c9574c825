"""The main job: every asset of the asked cells, one Dagster run per partition, on one instance, in one process."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import msgspec
from dagster._core.errors import DagsterExecutionInterruptedError

from tensor_assets.campaign.capture import GATE, default_capture
from tensor_assets.campaign.recorded import import_recorded
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.commands.instance import dagster_home
from tensor_assets.commands.request import Request
from tensor_assets.errors import TensorAssetsError
from tensor_assets.partitions import Cell
from tensor_assets.progress import announce
from tensor_assets.settings import Settings, require_writable

Ops = dict[str, dict[str, Any]]  # op → its config


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What a report run leaves: the outcome of every cell, the page to open, the cost by step in seconds."""

    outcomes: dict[str, str]
    page: Path
    seconds: dict[str, float]

    def lines(self) -> list[str]:
        cells = [f"  {cell:<32} {outcome}" for cell, outcome in self.outcomes.items()]
        cost = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in self.seconds.items())
        return ["outcomes", *cells, f"cost    {cost}", f"site    {self.page}"]


def materialize(space: Workspace, request: Request) -> Made:
    """Run every step for every asked partition. A cell's trouble is its outcome; only broken infrastructure raises."""
    require_writable(space.settings)
    import_recorded(space)
    runner = Runner(space, request)
    workloads = sorted(request.workloads, key=lambda name: name != GATE)
    cells = [Cell(workload, compiler) for workload in workloads for compiler in request.compilers]
    for compiler in request.compilers:
        runner.run(("environment",), compiler, f"{compiler}: environment", {"environment": runner.targeted()})
    for workload in workloads:
        runner.run(("fixtures",), workload, f"{workload}: fixtures", {"fixtures": runner.shaped()})
    for cell in cells:
        runner.run(
            ("semantic_ir", "selected_plan"), cell.partition, f"{cell.title}: capture", {"capture": runner.cell()}
        )
    if request.timed:
        _time(runner, workloads, cells)
    runner.run(("results", "claims", "charts", "pages", "site"), None, "report", {})
    outcomes = {cell.title: _outcome(space, request, cell) for cell in cells}
    return Made(outcomes=outcomes, page=space.settings.site / "index.html", seconds=runner.seconds)


def _time(runner: Runner, workloads: Sequence[str], cells: Sequence[Cell]) -> None:
    for workload in workloads:
        runner.run(("timing_session",), workload, f"{workload}: timing session", {"timing_session": runner.session()})
    for cell in cells:
        runner.run(("benchmark",), cell.partition, f"{cell.title}: benchmark", {"benchmark": runner.cell()})


@contextmanager
def exclusive(settings: Settings) -> Iterator[None]:
    """One report at a time on an instance; a second one waits, saying for whom."""
    path = dagster_home(settings) / "report.flock"
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            announce(f"waiting for the report of process {lock.read().strip() or 'unknown'} to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield


class Runner:
    """Runs selections of the one asset job, and adds up what each kind of step cost."""

    def __init__(self, space: Workspace, request: Request) -> None:
        from tensor_assets.definitions import defs

        self._space, self._request = space, request
        self._job = defs.resolve_implicit_global_asset_job_def()
        # Every event at DEBUG would drown the progress; the events themselves stay in the instance for the UI.
        logging.getLogger("dagster").setLevel(logging.ERROR)
        self._instance = dg.DagsterInstance.get()
        self.seconds: dict[str, float] = {}

    def targeted(self) -> dict[str, Any]:
        return {"target": self._request.target, "force": self._request.force}

    def shaped(self) -> dict[str, Any]:
        return {"shape": self._request.shape, "force": self._request.force}

    def cell(self) -> dict[str, Any]:
        return {**self.shaped(), **self.targeted()}

    def session(self) -> dict[str, Any]:
        return {**self.cell(), "processes": self._request.processes}

    def run(self, assets: tuple[str, ...], partition: str | None, title: str, ops: Ops) -> None:
        announce(title)
        began = time.monotonic()
        result = self._executed(assets, partition, ops)
        if not result.success:
            raise TensorAssetsError(f"{title} failed; run {result.run_id} has the log (`make ui`)")
        step = title.rpartition(": ")[2]
        self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - began

    def _executed(self, assets: tuple[str, ...], partition: str | None, ops: Ops) -> dg.ExecuteInProcessResult:
        try:
            return self._job.execute_in_process(
                asset_selection=[dg.AssetKey(name) for name in assets],
                partition_key=partition,
                instance=self._instance,
                run_config={
                    "ops": {op: {"config": config} for op, config in ops.items()},
                    "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
                },
            )
        except DagsterExecutionInterruptedError:
            # Dagster's own name for Ctrl-C, once it has recorded the run as ended.
            raise KeyboardInterrupt from None


def _outcome(space: Workspace, request: Request, cell: Cell) -> str:
    record = default_capture(space, cell.workload, cell.compiler, request.target, request.shape)
    if record is None:
        return "not captured"
    outcome = record.record.outcome
    return f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status
