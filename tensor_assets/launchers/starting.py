"""Runs that die before they start. Dagster asks about the health of started runs alone and lets the others time out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunsFilter
from dagster._core.launcher import RunLauncher, WorkerStatus

from tensor_assets.launchers import tags
from tensor_assets.sessions.gpu_lease import GpuLease

POLL_SECONDS = 1.0

_log = logging.getLogger("tensor_assets.launchers")


class StartWatch:
    """Looks at every launched run of the instance that has not started, whoever launched it, until there is none.

    Where the process that launched a run dies, the next launch or health check, in whichever process, looks after it.
    """

    def __init__(self, instance: DagsterInstance, launcher_of: Callable[[DagsterRun], RunLauncher[Any]]) -> None:
        self._instance, self._launcher_of = instance, launcher_of
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._asked = False  # since the thread looked last

    def watch(self) -> None:
        """Keep looking, in the background, as long as a run is starting."""
        with self._lock:
            self._asked = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="start watch", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if thread := self._thread:
            thread.join(POLL_SECONDS * 5)

    def sweep(self) -> int:
        """Fail the runs whose worker is known to have died before it started; returns how many are still starting.

        A run is "starting" for Dagster before its launcher was asked: that one knows nothing of it yet, or knows the
        run that it repeats, so nothing it says counts.
        """
        starting = self._instance.get_runs(filters=RunsFilter(statuses=[DagsterRunStatus.STARTING]))
        return sum(self._is_starting(run) for run in starting if run.tags.get(tags.LAUNCHED) == run.run_id)

    def _look(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            self._asked = False
            try:
                found = self.sweep()
            except Exception:
                # A database that is busy, a cluster that does not answer: the next look may succeed.
                _log.exception("could not look after starting runs")
                continue
            with self._lock:
                if not found and not self._asked:
                    self._thread = None
                    return

    def _is_starting(self, run: DagsterRun) -> bool:
        launcher = self._launcher_of(run)
        if not launcher.supports_check_run_worker_health:
            return False  # its server reports a child that dies by itself
        found = launcher.check_run_worker_health(run)
        if found.status not in (WorkerStatus.FAILED, WorkerStatus.NOT_FOUND):
            return True
        now = self._instance.get_run_by_id(run.run_id)
        if now is not None and now.status == DagsterRunStatus.STARTING:
            self._fail(run, found.msg or found.status.value, launcher)
        return False

    def _fail(self, run: DagsterRun, why: str, launcher: RunLauncher[Any]) -> None:
        more = launcher.get_run_worker_debug_info(run)
        message = f"The run's worker died before the run started: {why}" + (f"\n{more}" if more else "")
        self._instance.report_run_failed(run, message)
        if uuid := tags.own(run).get(tags.DEVICE):
            GpuLease(uuid).release(run.run_id)
