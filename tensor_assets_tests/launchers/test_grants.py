import json
import os
from contextlib import contextmanager

import dagster as dg
import pytest

from tensor_assets.errors import AllocationMismatch, DeviceRefused
from tensor_assets.launchers import DevicePolicy, tags
from tensor_assets.launchers.grants import Grant, claimed, grant
from tensor_assets.sessions.gpu_lease import GpuLease

ONE = {"name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-1", "driver": "580.1", "memory_gib": 80}
TWO = {**ONE, "uuid": "GPU-2"}
POLICY = DevicePolicy()


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host whose devices can be changed: ``host(ONE, TWO, boot_id="next")``."""
    monkeypatch.setenv("TENSOR_ASSETS_INVENTORY", str(tmp_path / "inventory.json"))
    monkeypatch.setenv("TENSOR_ASSETS_LEASE", str(tmp_path / "lease"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def plug(*devices, boot_id="this"):
        (tmp_path / "inventory.json").write_text(json.dumps({"devices": devices, "boot_id": boot_id}))

    return plug


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def run_of(instance, session, run):
    return instance.add_run(dg.DagsterRun(job_name="job", run_id=run, tags={tags.SESSION: session}))


def granted(instance, session, run, policy=POLICY):
    return grant(instance, run_of(instance, session, run), policy)


@contextmanager
def running(made, run):
    with claimed(made, run, POLICY, pytest.fail):
        yield


def test_a_grant_is_written_on_the_run(instance, host):
    host(ONE)
    made = granted(instance, "monday", "1")
    found = instance.get_run_by_id("1").tags
    assert Grant.read(found) == made
    assert (found[tags.RUN], found[tags.DEVICE], found[tags.BOOT]) == ("1", "GPU-1", "this")
    assert found[tags.DEVICE_NAME] == "simulated NVIDIA H100 80GB HBM3"


def test_sessions_get_different_gpus_and_each_keeps_its_own(instance, host):
    host(ONE, TWO)
    first, second = granted(instance, "monday", "1"), granted(instance, "tuesday", "2")
    assert (first.uuid, second.uuid) == ("GPU-1", "GPU-2")
    assert granted(instance, "tuesday", "3").uuid == "GPU-2"
    GpuLease("GPU-1").release("1")
    GpuLease("GPU-2").release("3")
    assert granted(instance, "tuesday", "4").uuid == "GPU-2", "bound to it, though the first one is free"


def test_where_all_are_taken_the_run_will_wait_for_one(instance, host):
    host(ONE)
    with running(granted(instance, "monday", "1"), "1"):
        assert granted(instance, "tuesday", "2").uuid == "GPU-1"
        assert GpuLease("GPU-1").state().session.name == "monday"


def test_a_session_is_refused_another_gpu(instance, host):
    host(ONE, TWO)
    granted(instance, "monday", "1")
    host(TWO)
    with pytest.raises(DeviceRefused, match=r"session monday runs on simulated .* \(GPU-1\) and on nothing else"):
        granted(instance, "monday", "2")


def test_a_session_does_not_outlive_a_restart(instance, host):
    host(ONE)
    made = granted(instance, "monday", "1")
    host(ONE, boot_id="next")
    with pytest.raises(AllocationMismatch, match="never resumed on another allocation"):
        granted(instance, "monday", "2")
    with (
        pytest.raises(AllocationMismatch, match=r"before this host restarted \(boot this, now next\)"),
        running(made, "1"),
    ):
        pass
    assert GpuLease("GPU-1").state().free


def test_a_session_does_not_move_to_another_host(instance, host):
    host(ONE)
    made = granted(instance, "monday", "1")
    elsewhere = Grant(session="monday", uuid=made.uuid, name=made.name, boot=made.boot, host="another-node")
    with pytest.raises(AllocationMismatch, match="on another-node; this run landed on"), running(elsewhere, "1"):
        pass


def test_while_it_runs_nothing_else_is_visible(instance, host, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    host(ONE, TWO)
    made = granted(instance, "monday", "1")
    assert made.uuid == "GPU-2", "the first that is visible"
    with running(made, "1"):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-2"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1,0"


def test_a_device_that_changed_since_it_was_granted_is_refused(instance, host):
    host(ONE)
    made = granted(instance, "monday", "1")
    host({**ONE, "mig": True})
    with pytest.raises(DeviceRefused, match="granted to session monday, now is a MIG slice"), running(made, "1"):
        pass
    host()
    with (
        pytest.raises(DeviceRefused, match=r"\(GPU-1\), granted to session monday, is gone; this host has no GPU"),
        running(made, "1"),
    ):
        pass


def test_a_gpu_of_ones_own(instance, host):
    host({**ONE, "tenants": 2}, TWO)
    assert granted(instance, "monday", "1").uuid == "GPU-2"
    host({**ONE, "tenants": 2})
    with pytest.raises(DeviceRefused, match=r"a GPU of one's own: .* has 2 processes"):
        granted(instance, "tuesday", "2")
    assert granted(instance, "tuesday", "3", DevicePolicy(exclusive=False)).uuid == "GPU-1"


def test_processes_of_a_session_that_has_the_gpu_are_not_foreign(instance, host):
    host(ONE)
    with running(granted(instance, "monday", "1"), "1"):
        host({**ONE, "tenants": 3})
        assert granted(instance, "monday", "2").uuid == "GPU-1"
