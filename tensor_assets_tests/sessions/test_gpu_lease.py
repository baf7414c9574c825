import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tensor_assets.commands.devices import devices
from tensor_assets.errors import LeaseDamaged, StoreUnwritable
from tensor_assets.sessions import gpu_lease
from tensor_assets.sessions.gpu_lease import GpuLease, leased_uuids

HOLD = """
import sys
from pathlib import Path
from tensor_assets.sessions.gpu_lease import GpuLease
with GpuLease(sys.argv[2], Path(sys.argv[1])).held(sys.argv[3], sys.argv[4], "run " + sys.argv[4]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def hold(tmp_path):
    started = []

    def start(session, run, uuid="GPU-1"):
        command = [sys.executable, "-c", textwrap.dedent(HOLD), str(tmp_path), uuid, session, run]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_runs_of_one_session_share_a_gpu_and_another_session_waits_for_all_of_them(tmp_path, hold):
    first, second = hold("monday", "1"), hold("monday", "2")
    lease, told, order = GpuLease("GPU-1", tmp_path), [], []

    def other():
        with lease.held("tuesday", "3", "run 3", told.append):
            order.append("tuesday")

    waiting = threading.Thread(target=other)
    waiting.start()
    for process in (first, second):
        while not told:
            time.sleep(0.01)
        assert order == []
        process.communicate("\n")
    waiting.join()
    assert order == ["tuesday"]
    assert told[0].startswith("run 3 waits for GPU-1: session monday: run 1 (process ")
    assert "run 2 (process" in told[0]
    assert lease.state().free


def test_a_killed_holder_frees_it(tmp_path, hold):
    process = hold("monday", "1")
    lease = GpuLease("GPU-1", tmp_path)
    assert not lease.reserve("tuesday", "2")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert lease.state().free
    with lease.held("tuesday", "2", "run 2", pytest.fail):
        assert lease.state().session.name == "tuesday"


def test_a_reservation_keeps_it_for_its_session_until_it_lapses(tmp_path):
    lease = GpuLease("GPU-1", tmp_path)
    assert lease.reserve("monday", "1")
    assert not lease.reserve("tuesday", "2")
    assert lease.reserve("monday", "3")
    assert "reserved for session monday (run 3)" in str(lease.state())
    lease.release("1")
    assert not lease.state().free, "another run's reservation"
    lease.release("3")
    assert lease.reserve("tuesday", "2", seconds=0.0)
    assert lease.state().free


def test_a_clock_that_is_set_back_does_not_prolong_a_reservation(tmp_path, monkeypatch):
    lease, now = GpuLease("GPU-1", tmp_path), time.time()
    assert lease.reserve("monday", "1")
    monkeypatch.setattr(time, "time", lambda: now - 24 * 3600)
    assert lease.reserve("tuesday", "2")
    assert lease.state().session.name == "tuesday"


def test_whoever_gives_up_waiting_takes_no_reservation_away(tmp_path):
    lease = GpuLease("GPU-1", tmp_path)
    lease.reserve("monday", "1")

    def cancelled(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), lease.held("tuesday", "2", "run 2", cancelled):
        pytest.fail("monday has it")
    assert lease.state().session.name == "monday"
    assert not lease.reserve("wednesday", "3")


def test_what_another_users_killed_run_left_stops_nobody(tmp_path, monkeypatch):
    """In a sticky folder only a file's owner may replace or remove it; its content is everybody's."""
    lease = GpuLease("GPU-1", tmp_path)
    assert lease.reserve("monday", "1", seconds=0.0)
    theirs = lease.folder / "session.json"
    before = theirs.stat().st_ino
    replace, unlink = Path.replace, Path.unlink

    def refused(do):
        def only_owners(path, *rest, **more):
            if theirs in (path, *rest):
                raise PermissionError(1, "Operation not permitted")
            return do(path, *rest, **more)

        return only_owners

    monkeypatch.setattr(Path, "replace", refused(replace))
    monkeypatch.setattr(Path, "unlink", refused(unlink))
    with lease.held("tuesday", "2", "run 2", pytest.fail):
        assert lease.state().session.name == "tuesday"
    assert lease.state().free
    assert lease.reserve("wednesday", "3")
    lease.release("3")
    assert lease.state().free
    assert theirs.stat().st_ino == before
    assert not list(lease.folder.glob("*.new"))


def test_a_reservation_does_not_survive_a_restart(tmp_path, monkeypatch):
    lease = GpuLease("GPU-1", tmp_path)
    lease.reserve("monday", "1")
    monkeypatch.setattr(gpu_lease, "boot_id", lambda: "another boot")
    assert lease.state().free


@pytest.mark.parametrize("content", [b"", b"{", b'{"name": 1}', b"\xff" * 99])
def test_a_damaged_file_is_told_while_it_matters(tmp_path, hold, content):
    lease, file = GpuLease("GPU-1", tmp_path), tmp_path / "gpu-GPU-1" / "session.json"
    process = hold("monday", "1")
    file.write_bytes(content)
    assert "unreadable" in str(lease.state())
    for attempt in (lambda: lease.reserve("tuesday", "2"), lease.held("monday", "2", "run 2").__enter__):
        with pytest.raises(LeaseDamaged, match=r"session.json.*remove the file"):
            attempt()
    process.communicate("\n")
    assert lease.state().free
    file.write_bytes(content)
    assert lease.reserve("tuesday", "2"), "nobody holds it: what the file says does not matter"


def test_a_missing_file_is_damage_too_while_somebody_holds_it(tmp_path, hold):
    hold("monday", "1")
    (tmp_path / "gpu-GPU-1" / "session.json").unlink()
    with pytest.raises(LeaseDamaged, match="it is missing"):
        GpuLease("GPU-1", tmp_path).reserve("tuesday", "2")


def test_an_error_inside_frees_it(tmp_path):
    lease = GpuLease("GPU-1", tmp_path)
    with pytest.raises(RuntimeError), lease.held("monday", "1", "run 1"):
        raise RuntimeError
    assert lease.state().free
    assert not (lease.folder / "session.json").exists()


def test_a_folder_that_cannot_be_used_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable, match="TENSOR_ASSETS_LEASE"):
        GpuLease("GPU-1", tmp_path / "file").reserve("monday", "1")


def test_devices_lists_gpus_and_who_has_them(tmp_path, hold, monkeypatch):
    inventory = tmp_path / "inventory.json"
    inventory.write_text('{"devices": [{"name": "NVIDIA H100", "uuid": "GPU-1", "driver": "1.2", "memory_gib": 80}]}')
    monkeypatch.setenv("TENSOR_ASSETS_INVENTORY", str(inventory))
    monkeypatch.setenv("TENSOR_ASSETS_LEASE", str(tmp_path))
    line = "simulated NVIDIA H100 (GPU-1)  driver 1.2  80 GiB  "
    assert CliRunner().invoke(devices).output == f"{line}free\n"
    hold("monday", "1")
    hold("monday", "2", "GPU-2")
    told = CliRunner().invoke(devices).output
    assert f"{line}session monday: run 1 (process " in told
    assert "GPU-2 is not there any more  session monday: run 2 (process" in told
    assert leased_uuids(tmp_path) == ("GPU-1", "GPU-2")
    as_json = CliRunner().invoke(devices, ["--json"]).output
    assert '"free": false' in as_json
    assert '"simulated": true' in as_json
