"""A session of real worker processes: the NumPy adapter, on this machine's CPU."""

import os
import signal
import sys
from pathlib import Path

import msgspec
import psutil
import pytest

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.progress import listening
from tensor_assets.sessions.lease import Lease
from tensor_assets.sessions.method import CPU
from tensor_assets.sessions.participants import Contender
from tensor_assets.sessions.session import run_session
from tensor_assets.workers.adapters import KIT
from tensor_assets.workers.isolation import WorkerFolder, worker_variables
from tensor_assets.workers.process import Worker

ADAPTER = Path(__file__).parents[1] / "workers" / "adapters" / "numpy_reference"
QUICK = msgspec.structs.replace(CPU, name="quick", processes=2, block_seconds=0.001, blocks=6)
# The fingerprint is whatever the worker says; this stands for a capture that saw another implementation.
OTHER = "0" * 64


@pytest.fixture
def contender():
    pids = []

    def contender(variant):
        def start(path):
            folder = WorkerFolder(path)
            command = (sys.executable, "-m", "tensor_worker", str(ADAPTER))
            worker = Worker(command, worker_variables(folder, KIT, {}), folder.log, cwd=folder.path, name=variant)
            return _noting(worker, pids)

        return Contender("numpy_reference", variant, OTHER, start)

    contender.pids = pids
    return contender


def _noting(worker, pids):
    class Noting:
        def __enter__(self):
            worker.__enter__()
            pids.append(worker.pid)
            return worker

        def __exit__(self, *exception):
            return worker.__exit__(*exception)

    return Noting()


def run(program, fixtures, contenders, folder, **options):
    return run_session(program, fixtures, contenders, target="cpu", method=QUICK, lease=Lease(folder), **options)


def test_real_processes_are_timed_checked_and_gone(program, fixtures, contender, tmp_path):
    record = run(program, fixtures, [contender("default"), contender("unrounded")], tmp_path)
    assert record.outcome.status == "ok"
    default, unrounded = record.processes[0::2], record.processes[1::2]
    assert [process.outcome.status for process in default] == ["ok", "ok"]
    assert [process.recheck for process in unrounded] == [False, False]  # breaks the contract, and the recheck sees it
    assert len({process.fingerprint for process in default}) == 1
    assert default[0].fingerprint != unrounded[0].fingerprint
    assert {process.core for process in record.processes} == {max(os.sched_getaffinity(0))}
    assert all(block.elapsed_ns > 0 and not block.invalid for block in record.blocks)
    assert record.load[0] > 0
    assert record.method["floor_warm_ns"] > 0
    assert len(contender.pids) == 4
    assert not any(psutil.pid_exists(pid) for pid in contender.pids)


def test_a_process_killed_while_timed_becomes_its_outcome_with_its_log(program, fixtures, contender, tmp_path):
    def kill(step):
        if "round 3" in step:
            os.kill(contender.pids[0], signal.SIGKILL)

    store = EvidenceStore(tmp_path / "store")
    with listening(kill):
        record = run(program, fixtures, [contender("default")], tmp_path / "lease", keeper=store)
    killed, spared = sorted(record.processes, key=lambda process: process.outcome.status)
    assert killed.outcome.status == "crashed"
    assert "SIGKILL" in killed.outcome.reason
    assert store.read(killed.outcome.log)
    assert killed.outcome.log.private
    assert spared.outcome.status == "ok"
    counts = {block.process: block.round for block in record.blocks}
    assert counts == {killed.index: 1, spared.index: 5}
