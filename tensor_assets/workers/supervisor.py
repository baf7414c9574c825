"""Runs one command and outlives it just long enough to leave nothing of it behind.

``python -I -S supervisor.py REPORT_FD GRACE COMMAND…``: the command inherits stdin, stdout and stderr and gets a
session of its own; its process id is written to REPORT_FD. As a child subreaper this process inherits every descendant,
also one that left the session, and kills them all when the command ends or when the other end of stdin closes (the
orchestrator has finished, was interrupted, or was itself killed). Then it ends as the command did: same status, same
signal.

A file of its own with nothing but the standard library: it starts in milliseconds and can be read in one sitting.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36
_KILL_SECONDS = 10.0  # a process in uninterruptible sleep must not hold the orchestrator for ever


def main(arguments: list[str]) -> int:
    report, grace, command = int(arguments[0]), float(arguments[1]), arguments[2:]
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    awake = _awake_on_signals()
    try:
        child = subprocess.Popen(command, start_new_session=True).pid
    except OSError as error:
        os.write(report, f"cannot start {command[0]}: {error.strerror}".encode())
        return 127
    os.write(report, str(child).encode())
    os.close(report)
    # From here the worker alone holds its stdout, so that its end is seen.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    status = _watch(child, awake, grace)
    _kill_descendants()
    return _end_alike(status)


def _awake_on_signals() -> int:
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return reading


def _watch(child: int, awake: int, grace: float) -> int | None:
    """The child's wait status, or None if it had to be ended because nobody listens any more."""
    poll = select.poll()
    poll.register(0, 0)  # asks for nothing: only the hang-up of the other end is reported
    poll.register(awake, select.POLLIN)
    while True:
        events = dict(poll.poll())
        signals = set(os.read(awake, 4096)) if awake in events else set()
        if (status := _reap(child)) is not None:
            return status
        if 0 in events or signals - {signal.SIGCHLD}:
            _ask_to_end(child, grace)
            return None


def _reap(child: int) -> int | None:
    """Collect every ended child; the status of ``child`` if it is one of them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                found = status
            if pid == 0:
                break
    return found


def _ask_to_end(child: int, grace: float) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and _reap(child) is None:
        time.sleep(0.01)


def _kill_descendants() -> None:
    deadline = time.monotonic() + _KILL_SECONDS
    while (descendants := _descendants(os.getpid())) and time.monotonic() < deadline:
        for pid in descendants:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _reap(0)
        time.sleep(0.005)


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                children.setdefault(_parent(entry.path), []).append(int(entry.name))
    found = list(children.get(root, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def _parent(process: str) -> int:
    fd = os.open(f"{process}/stat", os.O_RDONLY)
    try:
        # "pid (command) state ppid …": the command may hold anything, also parentheses.
        return int(os.read(fd, 4096).rpartition(b")")[2].split()[1])
    finally:
        os.close(fd)


def _end_alike(status: int | None) -> int:
    if status is None:
        return 1
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
