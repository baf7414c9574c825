"""The process that forks runs, asked as the launcher asks it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import msgspec
import psutil
import pytest
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import serialize_value

from tensor_assets.launchers import HostRunLauncher
from tensor_assets.launchers import host as host_launcher
from tensor_assets.launchers.nursery import Birth
from tensor_assets.settings import ROOT


@pytest.fixture(scope="module")
def workloads(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("workloads")


@pytest.fixture
def nursery(workloads):
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT}/adapters/worker",
        "TENSOR_ASSETS_WORKLOADS": str(workloads),
    }
    command = [sys.executable, "-m", "tensor_assets.launchers.nursery"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:

        def ask(request: str) -> Birth:
            process.stdin.write(request.encode() + b"\n")
            process.stdin.flush()
            return msgspec.json.decode(process.stdout.readline(), type=Birth)

        ask.process = process
        yield ask


def request(instance, module="tensor_assets.definitions") -> str:
    """To execute a run that the instance does not know: its process starts, says so and ends."""
    pointer = ModuleCodePointer(module, "defs", working_directory=str(ROOT))
    origin = JobPythonOrigin("__ASSET_JOB", RepositoryPythonOrigin(sys.executable, pointer))
    return serialize_value(ExecuteRunArgs(job_origin=origin, run_id="unknown", instance_ref=instance.get_ref()))


def test_a_nursery_forks_until_its_sources_change_and_ends_with_its_stdin(nursery, workloads):
    with dg.instance_for_test() as instance:
        births = [nursery(request(instance)) for _ in range(2)]
        assert all(birth.pid and abs(birth.started - time.time()) < 120 for birth in births)
        assert len({birth.pid for birth in births}) == 2
        for birth in births:
            while psutil.pid_exists(birth.pid):
                time.sleep(0.05)
        (workloads / "mine.json").write_text(json.dumps({"workload": "mine"}))
        assert nursery(request(instance)) == Birth(stale=True)
    _, log = nursery.process.communicate()
    assert nursery.process.returncode == 0
    assert log.count(b"Run with id 'unknown' not found") >= 2


def test_what_cannot_be_imported_is_said(nursery):
    with dg.instance_for_test() as instance:
        birth = nursery(request(instance, "tensor_assets.no_such_module"))
    assert birth.pid == 0
    assert "no_such_module" in birth.error
    assert nursery("{").error


@pytest.mark.parametrize(
    ("nursery_does", "patience", "said"),
    [
        ("import time; time.sleep(600)", 1.0, "it did not answer within 1 s, or was killed"),
        ("import sys; sys.exit(3)", 60.0, "it ended with status 3"),  # patience for a loaded host to start it at all
        ("print('{', end='', flush=True); input(); input()", 1.0, "it did not answer within 1 s, or was killed"),
    ],
)
def test_a_run_is_started_without_a_nursery_that_hangs_or_ends(monkeypatch, nursery_does, patience, said):
    nurseries = []

    def broken() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", nursery_does]
        nurseries.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0))
        return nurseries[-1]

    monkeypatch.setattr(host_launcher, "_nursery", broken)
    monkeypatch.setattr(host_launcher, "ANSWER_SECONDS", patience)
    launcher = HostRunLauncher()
    with dg.instance_for_test() as instance:
        asked = request(instance)
        birth = launcher._born(asked)
        run = psutil.Process(birth.pid)
        assert run.create_time() == birth.started
        assert run.cmdline()[-3:] == ["api", "execute_run", asked]
        run.kill()
    assert birth.error == said
    assert nurseries[0].poll() is not None
    launcher.dispose()


def test_a_launcher_is_disposed_of_while_its_nursery_hangs(monkeypatch):
    monkeypatch.setattr(host_launcher, "ENDING_SECONDS", 0.1)
    launcher = HostRunLauncher()
    launcher._nursery = hung = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    launcher.dispose()
    assert hung.poll() == -signal.SIGKILL
