"""Misbehaves as the variant says: each way in which a compiler has taken its process down, or could."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from tensor_worker.adapter import Adapter, Implementation, Unavailable, Unsupported
from tensor_worker.messages import PROTOCOL, Compile, Greeting


def hang() -> None:
    time.sleep(3600)


def hang_in_native_code() -> None:
    """Holds the interpreter's lock: no Python thread of this process runs any more."""
    ctypes.PyDLL(None).sleep(3600)


def ignore_terminate() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang()


def segfault() -> None:
    ctypes.string_at(0)


def abort() -> None:
    os.abort()


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    os._exit(7)


def exit_politely() -> None:
    sys.exit("no thank you")


def raise_an_error() -> None:
    raise ValueError("a tile of 3 does not divide 8")


def express_it_not() -> None:
    raise Unsupported("this compiler has no rsqrt")


def miss_a_tool() -> None:
    raise Unavailable("g++ is not installed", "apt-get install -y g++")


def flood_the_log() -> None:
    """More on stdout and stderr than the log keeps, from Python and from below it, then a crash."""
    line = b"x" * 1023 + b"\n"
    for _ in range(6 * 1024):
        os.write(1, line)
        os.write(2, line)
    os.write(1, b"the last words\n")
    segfault()


def leave_a_child_behind() -> None:
    """A grandchild in its own session, in the background, that ignores polite signals; then the worker dies."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(3600)"
    child = subprocess.Popen(["setsid", sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    child.stdout.readline()
    segfault()


def leave_children_and_hang() -> None:
    subprocess.Popen(["setsid", "sleep", "3600"])
    subprocess.Popen(["sh", "-c", "(setsid sleep 3600 &) ; exit 0"]).wait()
    hang()


MISBEHAVIOURS: dict[str, Callable[[], None]] = {
    name: value for name, value in globals().items() if callable(value) and getattr(value, "__module__", "") == __name__
}


class BrokenAdapter(Adapter):
    name = "broken"

    def greeting(self) -> Greeting:
        return Greeting(protocol=PROTOCOL, compiler="broken", version="0", versions={}, toolchain={}, variants=())

    def compile(self, request: Compile, inputs: Mapping[str, np.ndarray], dump_dir: Path) -> Implementation:
        print("about to", request.variant)
        MISBEHAVIOURS[request.variant]()
        raise AssertionError("misbehaviours do not return")


ADAPTER = BrokenAdapter
