"""The kit on its own, without the orchestrator that usually watches over it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import msgspec
import psutil
import pytest
from tensor_worker.arrays import load_arrays, save_arrays
from tensor_worker.dump import write_stage
from tensor_worker.messages import Bye, Compile, Failed, Greeting, Hello, Reply, Shutdown

from tensor_assets.workers.adapters import KIT
from tensor_assets_tests.workers.programs import WEIGHT_VIEW, inputs

HANGING = """
    import subprocess, sys, time
    from tensor_worker.adapter import Adapter
    from tensor_worker.messages import Greeting
    class Hanging(Adapter):
        name = "hanging"
        def greeting(self):
            return Greeting(protocol=1, compiler="hanging", version="", versions={}, toolchain={}, variants=())
        def compile(self, request, inputs, dump_dir):
            assert sys.stdin.read() == "", "nothing of the protocol reaches what a compiler reads"
            subprocess.Popen(["sleep", "3600"])
            print("compiling", file=sys.stderr, flush=True)
            time.sleep(3600)
    ADAPTER = Hanging
"""


class Kit:
    """The kit's process and its two pipes."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensor_worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(KIT)},
            start_new_session=True,
        )

    def send(self, line: bytes) -> None:
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, request: object) -> Reply:
        self.send(request if isinstance(request, bytes) else msgspec.json.encode(request))
        return msgspec.json.decode(self.process.stdout.readline(), type=Reply)


@pytest.fixture
def kit(tmp_path):
    started: list[Kit] = []

    def start(source: str) -> Kit:
        folder = tmp_path / "adapter"
        folder.mkdir()
        (folder / "adapter.py").write_text(textwrap.dedent(source))
        started.append(Kit(folder))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


def test_it_ends_with_its_parent_while_it_compiles_and_takes_its_children_along(kit, tmp_path):
    worker = kit(HANGING)
    save_arrays(tmp_path / "inputs.npz", inputs())
    request = Compile(
        program=WEIGHT_VIEW,
        variant="default",
        target="cpu",
        inputs=str(tmp_path / "inputs.npz"),
        dump_dir=str(tmp_path),
    )
    worker.send(msgspec.json.encode(request))
    assert worker.process.stderr.readline() == b"compiling\n"
    (child,) = psutil.Process(worker.process.pid).children()
    worker.process.stdin.close()
    assert worker.process.wait(5) == -signal.SIGKILL
    gone = time.monotonic() + 60
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < gone


def test_a_line_that_is_no_request_is_answered_and_the_next_one_served(kit):
    worker = kit(HANGING)
    for line in (b"rubbish", b'{"type": "dance"}', b'{"type": "hello", "and": 1}'):
        reply = worker.ask(line)
        assert isinstance(reply, Failed)
        assert "not a request" in reply.reason
    assert isinstance(worker.ask(Hello()), Greeting)
    assert isinstance(worker.ask(Shutdown()), Bye)
    assert worker.process.wait(5) == 0


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import no_such_compiler", "ModuleNotFoundError: No module named 'no_such_compiler'"),
        ("ADAPTER = dict", "TypeError: adapter/adapter.py has no ADAPTER"),
        ("this is no Python", "SyntaxError"),
    ],
)
def test_an_adapter_that_cannot_be_loaded_is_told_in_the_protocol(kit, source, says):
    reply = kit(source).ask(Hello())
    assert isinstance(reply, Failed)
    assert reply.status == "crashed"
    assert reply.reason.startswith(says)
    assert "Traceback" in reply.traceback


def test_a_reply_that_cannot_be_encoded_is_told_in_the_protocol(kit):
    worker = kit(HANGING.replace('version=""', "version=object()"))
    reply = worker.ask(Hello())
    assert isinstance(reply, Failed)
    assert reply.reason == "TypeError: Encoding objects of type object is unsupported"
    assert isinstance(worker.ask(Shutdown()), Bye)


def test_a_folder_without_an_adapter_is_a_usage_error(tmp_path):
    done = subprocess.run([sys.executable, "-m", "tensor_worker", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 2
    assert "usage: python -m tensor_worker FOLDER" in done.stderr


def test_arrays_keep_names_that_savez_cannot(tmp_path):
    arrays = inputs() | {"file": inputs()["x"]}
    save_arrays(tmp_path / "a.npz", arrays)
    loaded = load_arrays(tmp_path / "a.npz")
    assert list(loaded) == list(arrays)
    assert all((loaded[name] == array).all() for name, array in arrays.items())


def test_a_stage_is_written_byte_for_byte_below_the_dump_folder(tmp_path):
    text = "a\r\nb\n× \udcff"
    stage = write_stage(tmp_path, "ir-1", "IR", "scheduled", "mlir", text, "pass")
    assert stage.path == "stages/ir-1.mlir"
    assert (tmp_path / stage.path).read_bytes() == b"a\r\nb\n\xc3\x97 \xff"


@pytest.mark.parametrize("name", ["", ".hidden", "../up", "a/b", "a b"])
def test_a_stage_name_that_is_no_file_name_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="no stage name"):
        write_stage(tmp_path, name, "T", "code", "c", "", "x")
