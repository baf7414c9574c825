"""A process that has imported everything a run needs, and forks one process for each run.

``python -m tensor_assets.launchers.nursery``: reads one line of JSON a request from stdin, answers each with one line
on stdout, and ends when its stdin does; the runs it started go on. A run is ``dagster api execute_run``, as in a
container, only without the seconds that importing Dagster and the definitions takes every time.

It has one thread and opens no instance, so that nothing but memory is inherited. What was imported may change on disk:
then it says so and ends, and whoever asked starts another one.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import msgspec
import psutil

from tensor_assets.settings import ROOT, load_settings


class Birth(msgspec.Struct, frozen=True):
    """A run that now has a process, or why there is none. ``stale``: ask a fresh nursery."""

    pid: int = 0
    started: float = 0.0  # Unix time, as the kernel has it
    stale: bool = False
    error: str = ""


def main() -> None:
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever prints, prints to the log
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asks; stdin's end is for us
    signal.signal(signal.SIGCHLD, _reap)
    loaded: dict[Path, int] = {}
    for line in _lines():
        os.write(answers, msgspec.json.encode(_answer(line, loaded, answers)) + b"\n")


def _lines() -> Iterator[str]:
    buffer = b""
    while chunk := os.read(0, 1 << 16):
        *lines, buffer = (buffer + chunk).split(b"\n")
        yield from (line.decode() for line in lines)


def _answer(request: str, loaded: dict[Path, int], answers: int) -> Birth:
    """``loaded``: the files that this process was made from, and when they were changed last."""
    try:
        _preload(request)
        if not loaded:
            loaded.update(_changed(_modules() | _partitions()))
            gc.freeze()  # what is here stays: collecting in a child would copy all of it
        elif loaded != _changed(set(loaded) | _partitions()):
            return Birth(stale=True)
        return _fork(request, answers)
    except Exception as error:
        return Birth(error=f"{type(error).__name__}: {error}")


def _preload(request: str) -> None:
    from dagster._grpc.types import ExecuteRunArgs
    from dagster._serdes import deserialize_value
    from dagster._utils.hosted_user_process import recon_repository_from_origin

    origin = deserialize_value(request, ExecuteRunArgs).job_origin
    recon_repository_from_origin(origin.repository_origin).get_definition()


def _modules() -> set[Path]:
    """Files of this checkout that are imported."""
    files = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
    return {Path(file) for file in files if file and Path(file).is_relative_to(ROOT)}


def _partitions() -> set[Path]:
    """What the definitions read as they are made: one file a workload, one a compiler."""
    settings = load_settings()
    workloads = (path for folder in settings.workloads for path in folder.glob("*.json"))
    return {*workloads, *settings.adapters.glob("*/adapter.json")}


def _changed(paths: set[Path]) -> dict[Path, int]:
    found = {}
    for path in paths:
        with suppress(FileNotFoundError):
            found[path] = path.stat().st_mtime_ns
    return found


def _fork(request: str, answers: int) -> Birth:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # not reaped before its start time is read
    pid = os.fork()
    if pid == 0:
        os.close(answers)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _run(request)
    try:
        return Birth(pid=pid, started=psutil.Process(pid).create_time())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(request: str) -> NoReturn:
    """The child: a session of its own, Dagster's own command, its exit status."""
    from dagster._cli.api import execute_run_command

    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["dagster", "api", "execute_run", request]  # what its records say it was started as
        execute_run_command.main([request], standalone_mode=False)
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException as error:
        print(f"run: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _reap(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
