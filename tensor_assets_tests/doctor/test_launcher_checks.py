"""The launcher's part of dagster.yaml: nested launchers, the device policy, the queue, the leases."""

from __future__ import annotations

from pathlib import Path

import pytest
from dagster._core.launcher import DefaultRunLauncher
from dagster._core.run_coordinator import DefaultRunCoordinator

from tensor_assets.doctor import instance, launchers
from tensor_assets.errors import DeviceRefused
from tensor_assets.launchers import DevicePolicy, DeviceQueue, H100RunLauncher
from tensor_assets.sessions.gpu_lease import GpuLease
from tensor_assets.sessions.nvml import Installed
from tensor_assets.settings import ROOT
from tensor_assets_tests.doctor.test_deployment import failed, states

SOURCE = Path("dagster.yaml")
H200 = Installed(name="NVIDIA H200", uuid="GPU-2", driver="580.1", memory_bytes=141 << 30)
ABSENT = {"module": "no_such_engine", "class": "Launcher", "config": {}}


def refused():
    raise DeviceRefused("no NVIDIA GPU on this host")


def written(folder: Path, text: str) -> instance.Home:
    (folder / "dagster.yaml").write_text(text)
    return instance.Home(folder, folder)


def test_another_launcher_leases_nothing():
    (found,) = launchers.check_launcher(DefaultRunLauncher(), None, SOURCE, "cpu")
    assert (found.state, "H100RunLauncher" in found.remedy) == ("warn", True)


NESTED = {
    "a module that is not installed": (ABSENT, "no_such_engine"),
    "a class that is no launcher": ({"module": "pathlib", "class": "Path"}, "pathlib.Path"),
    "config of another shape": (
        {"module": "dagster", "class": "DefaultRunLauncher", "config": {"image": "x"}},
        "image",
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_nested_launcher_that_would_fail_at_the_first_launch(name):
    config, word = NESTED[name]
    launcher = H100RunLauncher(gpu={"config": {}, **config})
    found = list(launchers.check_nested(launcher, SOURCE))
    assert states(found) == ["fail", "ok"]
    assert word in failed(found).message


def test_an_engine_is_installed_by_the_setup():
    assert failed(launchers.check_nested(H100RunLauncher(gpu=ABSENT), SOURCE)).remedy == ".ci/setup engines"


def test_a_policy_that_no_device_here_meets():
    launcher = H100RunLauncher()
    (on_a_laptop,) = launchers.check_policy(launcher, SOURCE, "cpu", refused)
    assert (on_a_laptop.state, "no NVIDIA GPU" in on_a_laptop.message) == ("ok", True)
    assert "no NVIDIA GPU" in failed(launchers.check_policy(launcher, SOURCE, "cuda", refused)).message
    other = failed(launchers.check_policy(launcher, SOURCE, "cuda", lambda: [H200]))
    assert "Allow it with accelerators: [H100, H200]" in other.message


def test_a_policy_that_is_met_or_looked_at_elsewhere():
    launcher = H100RunLauncher(policy=DevicePolicy(accelerators=("H200",)))
    (met,) = launchers.check_policy(launcher, SOURCE, "cuda", lambda: [H200])
    assert (met.state, "GPU-2" in met.message) == ("ok", True)
    (elsewhere,) = launchers.check_policy(H100RunLauncher(gpu=ABSENT), SOURCE, "cuda", refused)
    assert (elsewhere.state, "where a run lands" in elsewhere.message) == ("ok", True)


def test_an_inventory_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSOR_ASSETS_INVENTORY", str(tmp_path / "none.json"))
    assert "none.json" in failed(launchers.check_policy(H100RunLauncher(), SOURCE, "cpu")).message


def test_the_queue_counts_gpu_runs():
    launcher = H100RunLauncher(policy=DevicePolicy(accelerators=("H200",)))
    assert states(launchers.check_queue(DefaultRunCoordinator(), launcher, SOURCE)) == ["warn"]
    assert states(launchers.check_queue(DeviceQueue(), launcher, SOURCE, lambda: [H200])) == ["ok"]
    two = DeviceQueue([{"key": "tensor_assets/route", "value": "gpu", "limit": 2}])
    (found,) = launchers.check_queue(two, launcher, SOURCE, lambda: [H200])
    assert (found.state, "limit: 1" in found.remedy) == ("warn", True)


def test_the_checkouts_own_queue_is_right_for_one_gpu(tmp_path):
    home = written(tmp_path, (ROOT / "dagster.yaml").read_text().replace("[H100]", "[H200]"))
    ref = instance._read(home.config, str(tmp_path))
    (found,) = launchers.check_queue(ref.run_coordinator, ref.run_launcher, SOURCE, lambda: [H200])
    assert (found.state, found.message) == ("ok", "4 GPU runs at once, 4 of one session")


def test_wrong_launchers_in_dagster_yaml(tmp_path):
    head = "run_monitoring: {enabled: true}\nrun_launcher: {module: tensor_assets.launchers, class: H100RunLauncher, "
    unknown = written(tmp_path, head + "config: {policy: {acelerators: [H100]}}}\n")
    assert "acelerators" in failed(instance.check_instance(unknown)).message
    nested = written(tmp_path, head + "config: {gpu: {module: no_such_engine, class: Launcher}}}\n")
    assert failed(instance.check_instance(nested)).subject == "launcher of gpu runs"


def test_a_lease_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSOR_ASSETS_LEASE", str(tmp_path))
    assert list(launchers.check_leases()) == []
    lease = GpuLease("GPU-2")
    with lease.held("session", "run", "a run"):
        assert states(launchers.check_leases()) == ["ok"]
        (lease.folder / "session.json").write_text("{")
        found = failed(launchers.check_leases())
    assert ("GPU-2" in found.message, str(lease.folder) in found.remedy) == (True, True)
