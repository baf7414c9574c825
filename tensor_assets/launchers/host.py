"""Runs on this host, each a process of its own that is there at once: forked from one that has imported everything.

Dagster's own launcher for this host starts an interpreter for every run, which then imports Dagster and the
definitions: seconds of processor time, where most runs of this project are shorter. Where the process to fork from does
not answer, a run is started that way here too.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
import psutil
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
# For one answer of a nursery, the first of which includes all its imports, from a cold disk on a busy host.
ANSWER_SECONDS = 180.0
ENDING_SECONDS = 10.0

_log = logging.getLogger("tensor_assets.launchers")


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
        if born.error:
            self._instance.report_engine_event(
                f"Started without the process that runs are forked from: {born.error}", run
            )
        self._instance.add_run_tags(
            run.run_id, {tags.RUN: run.run_id, tags.PROCESS: str(ProcessNote.of(born.pid, born.started))}
        )

    def terminate(self, run_id: str) -> bool:
        """Interrupt the run; what of it is left after a grace is killed."""
        run = self._instance.get_run_by_id(run_id)
        process = _process(run) if run is not None and not run.is_finished else None
        if run is None or process is None or not cancelled(self._instance, run, process):
            return False
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
        """The run's process; ``error`` says why it was not forked, where it was not."""
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
        answer = _answer(self._nursery, request)
        if answer is not None:
            return msgspec.json.decode(answer, type=Birth)
        trouble = _trouble(self._nursery)
        self._close()
        _log.warning("%s; the run is started without it", trouble)
        return _started(request, trouble)

    def _close(self) -> None:
        if self._nursery is not None:
            assert self._nursery.stdin is not None
            self._nursery.stdin.close()
            _ended(self._nursery)
            self._nursery = None


def _answer(nursery: subprocess.Popen[bytes], request: str) -> bytes | None:
    """One line, or None from a nursery that ended, or that did not answer in time and is therefore ended."""
    stdin, stdout = nursery.stdin, nursery.stdout
    assert stdin is not None
    assert stdout is not None
    line, until = b"", time.monotonic() + ANSWER_SECONDS
    try:
        stdin.write(request.encode() + b"\n")
        while not line.endswith(b"\n"):
            if not select.select([stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                nursery.kill()  # what it has forked goes on; what it said meanwhile is read below
            if not (part := os.read(stdout.fileno(), 1 << 16)):
                return None
            line += part
    except BrokenPipeError:
        return None
    return line


def _trouble(nursery: subprocess.Popen[bytes]) -> str:
    status = _ended(nursery)
    if status == -signal.SIGKILL:
        return f"it did not answer within {ANSWER_SECONDS:.0f} s, or was killed"
    return f"it ended with status {status}"


def _ended(nursery: subprocess.Popen[bytes]) -> int:
    """Its status; one that does not end by itself is killed."""
    try:
        return nursery.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        nursery.kill()
        return nursery.wait()


def _started(request: str, why: str) -> Birth:
    """A process of its own for the run, as Dagster starts one in a container."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dagster", "api", "execute_run", request],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name=f"reaper of {process.pid}", daemon=True).start()
    return Birth(pid=process.pid, started=psutil.Process(process.pid).create_time(), error=why)


def cancelled(instance: DagsterInstance, run: DagsterRun, process: ProcessNote) -> bool:
    """Have the run end itself as cancelled; False if its process is not there to be interrupted."""
    if not process.here or not process.alive:
        return False
    # Before it is interrupted: a run that finds nobody has asked for its end calls it a failure, and may be repeated.
    instance.report_run_canceling(run)
    return process.interrupt()


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
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(process.pid, signal.SIGKILL)  # workers see their stdin close, and end
            return
        time.sleep(0.2)
