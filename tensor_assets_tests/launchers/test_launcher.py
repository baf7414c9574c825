"""The launcher on an instance of its own, with nested launchers that do as they are told."""

import logging
import os
import signal
import subprocess
import sys
import time

import dagster as dg
import psutil
import pytest
from dagster._core.launcher import LaunchRunContext, WorkerStatus
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from tensor_assets.errors import DeviceRefused, LauncherMisconfigured
from tensor_assets.launchers import H100RunLauncher, HostRunLauncher, starting, tags
from tensor_assets.launchers import host as host_launcher
from tensor_assets.launchers.landing import landed
from tensor_assets.launchers.processes import ProcessNote
from tensor_assets.launchers.starting import StartWatch
from tensor_assets.sessions.gpu_lease import GpuLease
from tensor_assets_tests.launchers import obedient
from tensor_assets_tests.launchers.test_grants import ONE, host  # noqa: F401
from tensor_assets_tests.launchers.test_routing import launched

OBEDIENT = {"module": "tensor_assets_tests.launchers.obedient", "class": "ObedientLauncher"}
LOG = logging.getLogger("test")


@pytest.fixture
def instance_with():
    """An instance whose launcher has this config."""
    entered = []

    def make(**config):
        overrides = {
            "run_launcher": {"module": "tensor_assets.launchers", "class": "H100RunLauncher", "config": config},
            "run_coordinator": {"module": "tensor_assets.launchers", "class": "DeviceQueue"},
        }
        entered.append(dg.instance_for_test(overrides=overrides))
        return entered[-1].__enter__()

    obedient.reset()
    yield make
    for one in reversed(entered):
        one.__exit__(None, None, None)


def started(instance, **options) -> dg.DagsterRun:
    """A run on its way to a launcher, as the daemon has it."""
    run = instance.add_run(launched(**options)._replace(status=dg.DagsterRunStatus.STARTING))
    return instance.get_run_by_id(run.run_id)


def launch(instance, run):
    instance.run_launcher.launch_run(LaunchRunContext(dagster_run=run, workspace=None))


def test_runs_go_to_the_launcher_of_their_route(instance_with):
    instance = instance_with(
        gpu={**OBEDIENT, "config": {"name": "ray"}}, default={**OBEDIENT, "config": {"name": "plain"}}
    )
    launch(instance, started(instance, capture="cuda"))
    assert obedient.launched == ["ray"]
    assert instance.get_run_by_id("mine").tags[tags.ROUTE] == tags.GPU
    instance.delete_run("mine")
    launch(instance, started(instance, capture="cpu"))
    assert obedient.launched == ["ray", "plain"]
    assert not instance.run_launcher.supports_resume_run


def test_where_runs_land_elsewhere_the_device_is_chosen_there(instance_with, host):  # noqa: F811
    instance = instance_with(gpu=OBEDIENT)
    host()
    launch(instance, started(instance, capture="cuda"))
    run = instance.get_run_by_id("mine")
    assert tags.DEVICE not in run.tags
    host(ONE)
    with landed(instance, run, LOG) as lease:
        assert lease == "mine"
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-1"
        assert "run mine" in str(GpuLease("GPU-1").state())
    assert instance.get_run_by_id("mine").tags[tags.DEVICE] == "GPU-1"
    assert GpuLease("GPU-1").state().free


def test_a_refusal_where_the_run_lands_is_in_its_log(instance_with, host, caplog):  # noqa: F811
    instance = instance_with(gpu=OBEDIENT)
    launch(instance, started(instance, capture="cuda"))
    host({**ONE, "name": "NVIDIA H200"})
    run = instance.get_run_by_id("mine")
    with pytest.raises(DeviceRefused), landed(instance, run, LOG):
        pass
    assert "DeviceRefused: policy asks for H100; this host has simulated NVIDIA H200 (GPU-1)" in caplog.text


def test_a_run_that_no_launcher_of_ours_launched_is_left_alone(instance_with):
    instance = instance_with()
    with landed(instance, launched(capture="cuda"), LOG) as lease:
        assert lease == ""
    with landed(None, None, LOG) as lease:
        assert lease == ""


def test_a_launch_that_fails_gives_the_gpu_back(instance_with, host, monkeypatch):  # noqa: F811
    host(ONE)
    instance = instance_with()
    monkeypatch.setattr(HostRunLauncher, "launch_run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        launch(instance, started(instance, capture="cuda"))
    assert GpuLease("GPU-1").state().free


def test_a_run_that_dies_before_it_starts_is_reported_as_that_at_once(instance_with):
    instance = instance_with(gpu=OBEDIENT)
    obedient.health = WorkerStatus.FAILED
    launch(instance, started(instance, capture="cuda"))
    end = time.monotonic() + 60
    while not (run := instance.get_run_by_id("mine")).is_finished and time.monotonic() < end:
        time.sleep(0.05)
    assert run.status == dg.DagsterRunStatus.FAILURE
    messages = [event.message for event in instance.all_logs("mine")]
    assert any("died before the run started: it was told to\nits last words" in message for message in messages)


def test_another_process_finds_a_run_that_died_before_it_started(instance_with):
    """The launching daemon is gone with its memory: whoever asks for any run's health sees it."""
    instance = instance_with(gpu=OBEDIENT)
    obedient.health = WorkerStatus.NOT_FOUND
    run = started(instance, capture="cuda", run_tags={tags.ROUTE: tags.GPU, tags.LAUNCHED: "mine"})
    instance.run_launcher.check_run_worker_health(run)
    assert instance.get_run_by_id("mine").status == dg.DagsterRunStatus.FAILURE


@pytest.mark.parametrize("inherited", [{}, {tags.LAUNCHED: "the run that it repeats"}])
def test_a_run_whose_launcher_is_still_at_work_is_not_taken_for_dead(instance_with, inherited):
    """Docker answers "no container" until it has pulled the image, and of a rerun that its parent's has exited."""
    instance = instance_with(gpu=OBEDIENT)
    obedient.health = WorkerStatus.NOT_FOUND
    run = started(instance, capture="cuda", run_tags={tags.ROUTE: tags.GPU, **inherited})
    instance.run_launcher.check_run_worker_health(run)
    assert instance.get_run_by_id("mine").status == dg.DagsterRunStatus.STARTING


def test_a_run_that_starts_as_the_last_look_ends_is_looked_after(instance_with, monkeypatch):
    instance = instance_with(gpu=OBEDIENT)
    watch, looks = StartWatch(instance, lambda _: None), []

    def sweep() -> int:
        looks.append(len(looks))
        if len(looks) == 1:
            watch.watch()  # by the thread that launches
        return 0

    monkeypatch.setattr(starting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(watch, "sweep", sweep)
    watch.watch()
    end = time.monotonic() + 60
    while watch._thread is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert looks == [0, 1]


def test_health_is_the_nested_launchers_and_the_processs(instance_with):
    instance = instance_with(gpu=OBEDIENT)
    launcher = instance.run_launcher
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        note = ProcessNote.of(child.pid, ProcessNote.mine().started)
        assert not note.alive, "another start time: a process id that came round again"
        note = ProcessNote.of(child.pid, psutil.Process(child.pid).create_time())
        about = {tags.ROUTE: tags.GPU, tags.RUN: "mine", tags.PROCESS: str(note)}
        run = started(instance, capture="cuda", run_tags=about)
        assert launcher.check_run_worker_health(run).status == WorkerStatus.RUNNING
        obedient.health = WorkerStatus.FAILED
        assert launcher.check_run_worker_health(run).msg == "it was told to"
        obedient.health = WorkerStatus.RUNNING
        child.communicate(b"\n")
    assert launcher.check_run_worker_health(run).msg == f"the run's process {note.pid} is gone"


def test_termination_is_the_nested_launchers_or_else_the_processs(instance_with):
    instance = instance_with(gpu=OBEDIENT)
    with subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        child.stdout.readline()
        note = ProcessNote.of(child.pid, psutil.Process(child.pid).create_time())
        started(instance, capture="cuda", run_tags={tags.ROUTE: tags.GPU, tags.RUN: "mine", tags.PROCESS: str(note)})
        obedient.terminates = True
        assert instance.run_launcher.terminate("mine")
        assert child.poll() is None
        obedient.terminates = False
        assert instance.run_launcher.terminate("mine")
        assert child.wait(60) in (-signal.SIGINT, 1)
    assert not instance.run_launcher.terminate("mine")
    assert not instance.run_launcher.terminate("no such run")


@pytest.mark.parametrize("gpu", [None, OBEDIENT], ids=["this host's", "one that knows nothing of the run"])
def test_a_run_is_cancelled_before_it_is_interrupted(instance_with, monkeypatch, gpu):
    """It asks, once interrupted, whether anybody wanted that; if nobody did, it has failed, and might be repeated."""
    instance = instance_with(**({"gpu": gpu} if gpu else {}))
    note = ProcessNote.mine()
    started(instance, capture="cuda", run_tags={tags.ROUTE: tags.GPU, tags.RUN: "mine", tags.PROCESS: str(note)})
    seen = []
    monkeypatch.setattr(ProcessNote, "interrupt", lambda _: seen.append(instance.get_run_by_id("mine").status) or True)
    monkeypatch.setattr(host_launcher, "GRACE_SECONDS", float("inf"))  # or it would end these tests
    assert instance.run_launcher.terminate("mine")
    assert seen == [dg.DagsterRunStatus.CANCELING]


@pytest.mark.parametrize(
    ("nested", "said"),
    [
        ({"module": "dagster_rya", "class": "RayRunLauncher"}, "dagster_rya.RayRunLauncher is no run launcher here"),
        ({"module": "dagster", "class": "RayRunLauncher"}, "dagster.RayRunLauncher is no run launcher here"),
        ({"module": "dagster", "class": "DagsterInstance"}, "dagster.DagsterInstance is no run launcher here"),
        ({**OBEDIENT, "config": {"nmae": "x"}}, "run_launcher.config.gpu.config of .*nmae"),
    ],
)
def test_a_nested_launcher_that_cannot_be_made_names_itself(instance_with, nested, said):
    launcher = instance_with(gpu=nested).run_launcher
    with pytest.raises(LauncherMisconfigured, match=said) as refused:
        launcher.nested(tags.GPU)
    assert str(refused.value).isprintable()


def test_the_queue_stamps_what_its_limits_count(instance_with, monkeypatch):
    """Before Dagster's own queue has the run; that one's part is tested on real instances."""
    submitted = []
    monkeypatch.setattr(QueuedRunCoordinator, "submit_run", lambda self, context: submitted.append(context))
    instance = instance_with()
    for options, stamped in (({"capture": "cuda"}, tags.GPU), ({"capture": "cpu"}, tags.DEFAULT)):
        run = instance.add_run(launched(**options))
        instance.run_coordinator.submit_run(SubmitRunContext(run, workspace=None))
        queued = instance.get_run_by_id("mine")
        assert submitted.pop().dagster_run.run_id == "mine"
        assert queued.tags[tags.ROUTE] == stamped
        assert (tags.SESSION in queued.tags) == (stamped == tags.GPU)
        instance.delete_run("mine")
    limits = instance.run_coordinator.get_run_queue_config().tag_concurrency_limits
    assert {limit["key"] for limit in limits} == {tags.ROUTE, tags.SESSION}


def test_the_queue_has_a_run_of_many_partitions_repeated_once_if_it_dies(instance_with, monkeypatch):
    monkeypatch.setattr(QueuedRunCoordinator, "submit_run", lambda *_: None)
    instance = instance_with()
    many = {"dagster/asset_partition_range_start": "a|gemm"}
    for run_tags, repeated in ((many, "1"), ({**many, "dagster/max_retries": "0"}, "0"), ({}, None)):
        run = instance.add_run(launched(capture="cpu", run_tags=run_tags))
        instance.run_coordinator.submit_run(SubmitRunContext(run, workspace=None))
        assert instance.get_run_by_id("mine").tags.get("dagster/max_retries") == repeated
        instance.delete_run("mine")


def test_the_checkouts_own_dagster_yaml_is_this_launcher(tmp_path):
    from tensor_assets.settings import ROOT

    (tmp_path / "dagster.yaml").write_text((ROOT / "dagster.yaml").read_text())
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        launcher = instance.run_launcher
        assert isinstance(launcher, H100RunLauncher)
        assert launcher.policy.accelerators == ("H100",)
        assert instance.run_retries_enabled
        assert instance.run_retries_max_retries == 0
        assert isinstance(launcher.nested(tags.GPU), HostRunLauncher)
        assert type(launcher.nested(tags.DEFAULT)).__name__ == "DefaultRunLauncher"
