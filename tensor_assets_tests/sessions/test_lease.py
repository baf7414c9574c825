import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from tensor_assets.errors import StoreUnwritable
from tensor_assets.sessions.lease import Lease, default_folder

HOLD = """
import sys, time
from pathlib import Path
from tensor_assets.sessions.lease import Lease
with getattr(Lease(Path(sys.argv[1])), sys.argv[2])(sys.argv[3]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def hold(tmp_path):
    started = []

    def start(mode, purpose):
        command = [sys.executable, "-c", textwrap.dedent(HOLD), str(tmp_path), mode, purpose]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ends(process):
    process.stdin.write("\n")
    process.stdin.flush()
    process.wait()


def test_shared_holders_do_not_wait_for_each_other(tmp_path, hold):
    hold("shared", "compiling a")
    with Lease(tmp_path).shared("compiling b"):
        assert {holder.purpose for holder in Lease(tmp_path).holders()} == {"compiling a", "compiling b"}


def test_exclusive_waits_for_another_process_and_says_for_whom(tmp_path, hold):
    other = hold("shared", "compiling a")
    told = []

    def tell(waiting):
        told.append(waiting)
        ends(other)

    with Lease(tmp_path).exclusive("timing b", tell):
        assert [holder.mode for holder in Lease(tmp_path).holders()] == ["exclusive"]
    assert len(told) == 1
    assert told[0].startswith("timing b waits for this host's lease: compiling a (process ")
    assert str(other.pid) in told[0]
    assert Lease(tmp_path).holders() == ()


def test_a_killed_holder_frees_the_lease_and_its_note(tmp_path, hold):
    other = hold("exclusive", "timing a")
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    with Lease(tmp_path).exclusive("timing b"):
        assert [holder.purpose for holder in Lease(tmp_path).holders()] == ["timing b"]


def test_newcomers_queue_behind_an_exclusive_waiter(tmp_path, hold):
    first = hold("shared", "compiling a")
    order = []

    def take(mode, name):
        with getattr(Lease(tmp_path), mode)(name, lambda _: order.append(f"{name} waits")):
            order.append(name)

    timing = threading.Thread(target=take, args=("exclusive", "timing"))
    timing.start()
    while "timing waits" not in order:
        time.sleep(0.01)
    late = threading.Thread(target=take, args=("shared", "late"))
    late.start()
    time.sleep(0.5)
    assert "late" not in order
    ends(first)
    timing.join()
    late.join()
    assert [name for name in order if not name.endswith("waits")] == ["timing", "late"]


def test_an_error_inside_frees_the_lease(tmp_path):
    with pytest.raises(RuntimeError), Lease(tmp_path).exclusive("timing"):
        raise RuntimeError
    with Lease(tmp_path).exclusive("timing again"):
        pass


def test_the_folder_is_named_by_one_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSOR_ASSETS_LEASE", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("TENSOR_ASSETS_LEASE")
    assert default_folder().name == "tensor_assets"


def test_a_careful_umask_shuts_no_other_user_out(tmp_path):
    before = os.umask(0o077)
    try:
        with Lease(tmp_path / "lease").exclusive("timing"):
            modes = {path.name.split("-")[0]: path.stat().st_mode & 0o777 for path in (tmp_path / "lease").iterdir()}
    finally:
        os.umask(before)
    assert modes == {"gate": 0o644, "lease": 0o644, "holder": 0o644}


def test_a_lock_that_cannot_be_opened_is_one_clear_line(tmp_path):
    (tmp_path / "gate").mkdir()
    with pytest.raises(StoreUnwritable, match=r"gate: Is a directory; name another folder in TENSOR_ASSETS_LEASE$"):
        Lease(tmp_path).exclusive("timing").__enter__()


def test_a_note_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlib.Path.rename", full)
    with pytest.raises(StoreUnwritable, match="No space left on device"):
        Lease(tmp_path).exclusive("timing").__enter__()
    assert {path.name for path in tmp_path.iterdir()} == {"gate", "lease"}


def test_an_unusable_folder_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreUnwritable, match="TENSOR_ASSETS_LEASE"),
        Lease(tmp_path / "file" / "x").shared("compiling"),
    ):
        pass
