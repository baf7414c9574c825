"""Runs on this host, each a process of its own that is there at once: forked from one that has imported everything.

Dagster's own launcher for this host starts an interpreter for every run, which then imports Dagster and the
definitions: seconds of processor time, where most runs of this project are shorter.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from dagster import DagsterInstance, DagsterRun
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import ConfigurableClass, ConfigurableClassData, serialize_value

from tensor_assets.errors import LauncherMisconfigured
from tensor_assets.launchers import tags
from tensor_assets.launchers.nursery import Birth
from tensor_assets.launchers.processes import ProcessNote

# From an interrupt to the end of a run: its worker gets 2 s to end, its session is recorded, its log is written.
GRACE_SECONDS = 30.0


class HostRunLauncher(RunLauncher[DagsterInstance], ConfigurableClass):
    """Health and termination go by the process named in the run's tags, so any process of this host can answer."""

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        self._inst_data = inst_data
        self._lock = threading.Lock()
        self._nursery: subprocess.Popen[bytes] | None = None
        super().__init__()  # type: ignore[no-untyped-call]

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        return self._inst_data

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> HostRunLauncher:
        return cls(inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        """Raises LauncherMisconfigured if the definitions cannot be imported here."""
        run, origin = context.dagster_run, context.job_code_origin
        if origin is None:
            raise LauncherMisconfigured(f"run {run.run_id} does not say what code it runs")
        request = serialize_value(
            ExecuteRunArgs(job_origin=origin, run_id=run.run_id, instance_ref=self._instance.get_ref())
        )
        born = self._born(request)
        self._instance.add_run_tags(
            run.run_id, {tags.RUN: run.run_id, tags.PROCESS: str(ProcessNote.of(born.pid, born.started))}
        )

    def terminate(self, run_id: str) -> bool:
        """Interrupt the run; what of it is left after a grace is killed."""
        run = self._instance.get_run_by_id(run_id)
        process = _process(run) if run is not None and not run.is_finished else None
        if run is None or process is None or not process.interrupt():
            return False
        self._instance.report_run_canceling(run)
        threading.Thread(target=_kill_late, args=(process,), name=f"end of {run_id}", daemon=True).start()
        return True

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        process = _process(run)
        if process is None or not process.here:
            return CheckRunHealthResult(WorkerStatus.UNKNOWN)
        if process.alive:
            return CheckRunHealthResult(WorkerStatus.RUNNING, run_worker_id=str(process.pid))
        return CheckRunHealthResult(WorkerStatus.FAILED, f"the run's process {process.pid} is gone")

    def dispose(self) -> None:
        """The nursery ends with its stdin; runs that it started go on."""
        with self._lock:
            self._close()

    def _born(self, request: str) -> Birth:
        with self._lock:
            for _ in range(2):
                birth = self._asked(request)
                if birth.pid:
                    return birth
                self._close()
                if not birth.stale:
                    raise LauncherMisconfigured(f"no process for the run: {birth.error}")
        raise LauncherMisconfigured("no process for the run: the sources change faster than they can be imported")

    def _asked(self, request: str) -> Birth:
        if self._nursery is None or self._nursery.poll() is not None:
            self._nursery = _nursery()
        stdin, stdout = self._nursery.stdin, self._nursery.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(request.encode() + b"\n")
            answer = stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            return Birth(error=f"its nursery ended with status {self._nursery.wait()}")
        return msgspec.json.decode(answer, type=Birth)

    def _close(self) -> None:
        if self._nursery is not None:
            self._nursery.communicate()
            self._nursery = None


def _nursery() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tensor_assets.launchers.nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def _process(run: DagsterRun) -> ProcessNote | None:
    return ProcessNote.read(tags.own(run).get(tags.PROCESS, ""))


def _kill_late(process: ProcessNote) -> None:
    end = time.monotonic() + GRACE_SECONDS
    while process.alive:
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)  # workers see their stdin close, and end
            return
        time.sleep(0.2)
