"""A campaign that is stopped while captures run: back at the prompt, nobody left behind, what was finished is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.verification import verify
from tensor_assets.records import CaptureRecord
from tensor_assets.settings import ROOT
from tensor_assets.workers.process import TOKEN
from tensor_assets_tests.campaign.conftest import add_compiler

COMMAND = "from tensor_assets.cli import main; main()"
CAMPAIGN = ["campaign", "--target", "cpu", "--shape", "matrix_inspect", "--processes", "1"]
WORKLOADS = ["--workload", "gemm", "--workload", "bias", "--workload", "relu"]
# The gate is captured; who comes after it would never end, and does not end when it is asked to.
HANGS_BEHIND_THE_GATE = """
    def compile(self, request, inputs, dump_dir):
        if request.program.workload != "gemm":
            import signal, time
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(3600)
        return self.compiled(request, inputs, dump_dir)

    def compiled("""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def said(tmp_path: Path) -> Path:
    return tmp_path / "said"


@pytest.fixture
def started(tmp_path: Path, store: Path, said: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A campaign in a session of its own, as a terminal would run it, with as many captures as fit on this host."""
    adapter = add_compiler(tmp_path / "adapters", "toy") / "adapter.py"
    adapter.write_text(adapter.read_text().replace("\n    def compile(", HANGS_BEHIND_THE_GATE, 1))
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT}/adapters/worker",
        "TENSOR_ASSETS_ADAPTERS": str(tmp_path / "adapters"),
        "TENSOR_ASSETS_LEASE": str(tmp_path / "lease"),
        "TENSOR_ASSETS_STORE": str(store),
    }
    command = [sys.executable, "-c", COMMAND, *CAMPAIGN, *WORKLOADS]
    with said.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stderr=file, start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_a_campaign_that_is_stopped_while_it_captures_ends_its_workers_and_itself(started, store, said):
    working = once_somebody_compiles(started, said)
    for _ in range(3):  # an impatient user, in a terminal: all of its processes get it
        os.killpg(started.pid, signal.SIGINT)
        time.sleep(0.3)
    assert started.wait(120) == 130, said.read_text()
    assert [worker for worker in working if worker.is_running()] == []
    assert "Traceback" not in said.read_text()
    last = said.read_text().strip().splitlines()[-1]
    assert last == "tensor-assets: stopped; what was finished is kept, the same command continues"
    kept = {record.key.workload for _, record in EvidenceStore(str(store)).records(CaptureRecord)}
    assert kept == {"gemm"}
    assert verify(str(store)).sound


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_campaign_that_is_stopped_while_fixtures_are_built_leaves_nobody(started, said, sent, status):
    """The terminal is not the only one who stops it: what a batch system sends reaches it alone."""
    wait_for(started, said, lambda: "fixtures are built" in said.read_text())  # one of them, so that they are at work
    building = descendants(started)
    started.send_signal(sent)
    assert started.wait(120) == status, said.read_text()
    assert psutil.wait_procs(building, timeout=60)[1] == []


def once_somebody_compiles(campaign: subprocess.Popen[bytes], said: Path) -> list[psutil.Process]:
    """The workers and supervisors there are once a capture behind the gate compiles."""
    wait_for(
        campaign,
        said,
        lambda: any("compiling" in step and "gemm" not in step for step in said.read_text().splitlines()),
    )
    time.sleep(1.0)  # until it has settled down to it
    return [one for one in descendants(campaign) if carries_token(one)]


def carries_token(process: psutil.Process) -> bool:
    with suppress(psutil.Error):  # it is just beginning or ending
        return TOKEN in process.environ()
    return False


def wait_for(campaign: subprocess.Popen[bytes], said: Path, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert campaign.poll() is None, said.read_text()
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.02)


def descendants(campaign: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(campaign.pid).children(recursive=True)
