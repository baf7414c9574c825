"""NumPy in a worker's place on a device that is simulated, and whatever misbehaviour a test asks one cell for.

A file in ``TOY_CONTROL`` named "compiler|workload" holds the name of a behaviour; the worker's pid, and its child's,
are written beside it once it is about to do it.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
from tensor_worker.messages import Greeting, Variant

from .reference import NumpyAdapter, NumpyImplementation

CONTROL = Path(os.environ["TOY_CONTROL"])
NAME = Path(__file__).resolve().parent.name


def hang(cell):
    told(cell)
    time.sleep(3600)


def hang_deaf(cell):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hang(cell)


def hang_with_child(cell):
    """A grandchild in a session of its own, that ignores polite signals."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    child.stdout.readline()
    told(cell, child.pid)
    if child.wait() < 0:
        raise RuntimeError("the child was killed")


def kill_run(cell):
    """The process of the run that asks, which is the one that started this worker's supervisor."""
    told(cell)
    run = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
    os.kill(int(run), signal.SIGKILL)
    time.sleep(3600)


def linger(cell):
    """Long enough for a test to look."""
    told(cell)
    while (CONTROL / cell).exists():
        time.sleep(0.05)


BEHAVIOURS = {function.__name__: function for function in (hang, hang_deaf, hang_with_child, kill_run, linger)}


def told(cell, *more):
    path = CONTROL / f"{cell}.pids"
    path.with_suffix(".new").write_text(" ".join(map(str, (os.getpid(), *more))))
    path.with_suffix(".new").rename(path)


class ToyAdapter(NumpyAdapter):
    name = NAME

    def greeting(self) -> Greeting:
        default = Variant(name="default", summary="rounds at every boundary", targets=("cpu", "cuda"))
        return msgspec.structs.replace(super().greeting(), compiler=NAME, variants=(default,))

    def compile(self, request, inputs, dump_dir):
        cell = f"{NAME}|{request.program.workload}"
        if (CONTROL / cell).exists():
            BEHAVIOURS[(CONTROL / cell).read_text()](cell)
        return NumpyImplementation(request, dump_dir)


ADAPTER = ToyAdapter
