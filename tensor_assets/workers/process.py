"""One worker process: spawned, asked, and ended with everything it started."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self, overload

import msgspec
import psutil
from tensor_worker.messages import (
    Bye,
    Compile,
    Compiled,
    Failed,
    GetPlan,
    GetStages,
    Greeting,
    Hello,
    PlanReply,
    Progress,
    Ran,
    Reply,
    Request,
    Run,
    Shutdown,
    Stages,
    Time,
    Timed,
    Trace,
    Traced,
)

from tensor_assets.progress import announce
from tensor_assets.workers.failure import WorkerFailed, censored, crashed, ended, said, sentence, wrong_version
from tensor_assets.workers.log import LogPump
from tensor_assets.workers.pipes import Ended, LinePipes, TooLong

DEADLINE = 600.0  # seconds for one request: the experiment report's limit
GRACE = 2.0  # seconds between asking a worker to end and killing it
CLOSING = 10.0  # seconds for an orderly shutdown
# All replies to one request together, progress included. The largest honest one (every stage, graph node and candidate
# of a searched capture; native text travels in files) is a few MiB.
REPLY_BYTES = 64 * 1024 * 1024
TOKEN = "TENSOR_WORKER_TOKEN"  # in the environment of a worker and all its descendants, and of an installation
_SUPERVISOR = Path(__file__).with_name("supervisor.py")

_ANSWERS: dict[type[Request], type[Reply]] = {
    Hello: Greeting, Compile: Compiled, Run: Ran, GetStages: Stages, GetPlan: PlanReply, Time: Timed, Trace: Traced,
    Shutdown: Bye,
}  # fmt: skip
_started: set[str] = set()  # tokens of this process's workers
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Reply)


class Worker:
    """A context manager; leaving it ends the process and whatever it started, however it is doing.

    ``deadline`` is for one request, ``lifetime`` for all of them together, both in seconds. A worker that greets with
    another ``version`` than the one asked for, if one is, is unavailable.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        log_path: Path,
        *,
        cwd: Path,
        name: str = "",
        deadline: float = DEADLINE,
        lifetime: float | None = None,
        version: str = "",
    ) -> None:
        self.name = name or Path(command[0]).name
        self.log_path, self.deadline, self._version = log_path, deadline, version
        self.pid = 0  # of the worker itself: its main thread is the one that times
        self._command, self._cwd = tuple(command), cwd
        self._token = uuid.uuid4().hex
        _started.add(self._token)
        self._variables = {**variables, TOKEN: self._token}
        self._lifetime = lifetime if lifetime is not None else float("inf")
        self._expires = time.monotonic() + self._lifetime
        self._over: WorkerFailed | None = None
        self._closed = False

    def __enter__(self) -> Self:
        report_reading, report_writing = os.pipe()
        with os.fdopen(report_reading, "rb") as report:
            try:
                self._spawn(report_writing)
            finally:
                os.close(report_writing)
            try:
                answer = report.read()
            except BaseException:  # an interrupt: nobody will leave this context
                self.close(orderly=False)
                raise
        if answer.isdigit():
            self.pid = int(answer)
        else:
            self._over = crashed(answer.decode(errors="replace") or f"the supervisor of {self.name} did not start")
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        self.close(orderly=kind is None)

    @overload
    def ask(self, request: Hello, deadline: float | None = ...) -> Greeting: ...
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
    @overload
    def ask(self, request: Trace, deadline: float | None = ...) -> Traced: ...

    def ask(self, request: Request, deadline: float | None = None) -> Reply:
        """The answer to ``request``. Raises WorkerFailed; after one that is not ``alive`` the process is gone."""
        if self._over is not None:
            raise self._over
        try:
            return self._exchange(request, str(request.__struct_config__.tag), deadline or self.deadline)
        except WorkerFailed as failure:
            if not failure.alive:
                self._over = failure
                self.close(orderly=False)
            raise

    def close(self, *, orderly: bool = True) -> None:
        """End the process and everything it started; never raises for what the worker does."""
        if self._closed:
            return
        self._closed = True
        if orderly and self._over is None:
            with contextlib.suppress(WorkerFailed):
                self._exchange(Shutdown(), "shutdown", CLOSING)
                self._wait(CLOSING)
        self._pipes.close_writing()  # the supervisor sees it and ends what is left
        self._wait(GRACE + CLOSING)
        self._kill_survivors()
        self._log.finish()
        self._pipes.close()

    def _spawn(self, report: int) -> None:
        supervisor = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(report), str(GRACE)]
        self._process = subprocess.Popen(
            [*supervisor, *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._variables,
            cwd=self._cwd,
            pass_fds=(report,),
            start_new_session=True,
            bufsize=0,
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._pipes = LinePipes(_taken(stdin), _taken(stdout))
        self._log = LogPump(_taken(stderr), self.log_path)

    def _exchange(self, request: Request, what: str, seconds: float) -> Reply:
        until, room = min(time.monotonic() + seconds, self._expires), REPLY_BYTES
        try:
            self._pipes.write_line(_ENCODER.encode(request), until)
            while True:
                line = self._pipes.read_line(until, room)
                room -= len(line) + 1
                reply = _decoded(line, what)
                if not isinstance(reply, Progress):
                    return self._wanted(_checked(reply, request, what))
                announce(f"{self.name}: {sentence(reply.step)}")
        except TimeoutError:
            limit = f"the {self._lifetime:g} s of its worker" if until == self._expires else f"{seconds:g} s"
            raise censored(what, limit) from None
        except TooLong:
            raise crashed(f"the worker sent more than {REPLY_BYTES >> 20} MiB in answer to {what}") from None
        except Ended:
            raise ended(what, self._wait(GRACE)) from None

    def _wanted(self, reply: Reply) -> Reply:
        """A worker fits one version of its compiler; another one's answers would be filed under the wrong name."""
        if isinstance(reply, Greeting) and self._version and reply.version != self._version:
            raise wrong_version(self.name, reply.version, self._version)
        return reply

    def _wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def _kill_survivors(self) -> None:
        """What the supervisor could not end, because it was itself killed or held up."""
        if self._process.poll() is None:
            self._process.kill()
        kill_all(self._token)
        self._process.wait()


def kill_all(token: str) -> None:
    """Every process whose environment carries ``token``, and does not end on its own."""
    for process in processes_of(token):
        with contextlib.suppress(psutil.Error):
            process.kill()


def left_behind() -> list[psutil.Process]:
    """Every process that a worker of this process started, and that has outlived it."""
    return processes_of(*_started)


def processes_of(*tokens: str) -> list[psutil.Process]:
    """Every process whose environment carries one of ``tokens``."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(TOKEN) in tokens:
                found.append(process)
    return found


def end_workers() -> None:
    """End every worker that this process has, as if each had been asked to and had not obeyed; their askers see it.

    Installations too: their askers see that they failed.
    """
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.Error, OSError):
            if TOKEN in process.environ():
                process.terminate()


def _taken(stream: object) -> int:
    """The descriptor of a stream of Popen, duplicated so that closing it is ours alone."""
    fd = os.dup(stream.fileno())  # type: ignore[attr-defined]
    stream.close()  # type: ignore[attr-defined]
    return fd


def _decoded(line: bytes, what: str) -> Reply:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        start = line[:60].decode(errors="replace")
        raise crashed(f"the worker answered {what} with what is no reply: {error} in {start!r}") from None


def _checked(reply: Reply, request: Request, what: str) -> Reply:
    if isinstance(reply, Failed):
        raise said(reply)
    expected = _ANSWERS[type(request)]
    if type(reply) is not expected:
        raise crashed(f"the worker answered {what} with {type(reply).__name__}, not {expected.__name__}")
    return reply
