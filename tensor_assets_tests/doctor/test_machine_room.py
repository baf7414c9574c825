"""Instance, devices, profilers, compilers; and the command over all of them."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tensor_assets.commands import doctor as command
from tensor_assets.doctor import compilers, devices, examination, instance, profilers
from tensor_assets.errors import DeviceRefused
from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.environments import environment_folder
from tensor_assets_tests.doctor.test_deployment import failed, states


def by_subject(findings):
    return {finding.subject: finding for finding in findings}


# Dagster's instance


def test_the_checkouts_instance_is_the_one_that_is_looked_at(settings, tmp_path):
    own = instance.home_of(settings, {})
    assert own == (tmp_path / ".dagster", tmp_path)
    other = tmp_path / "other"
    assert instance.home_of(settings, {"DAGSTER_HOME": str(other)}) == (other, tmp_path)
    other.mkdir()
    (other / "dagster.yaml").write_text("{}")
    assert instance.home_of(settings, {"DAGSTER_HOME": str(other)}) == (other, other)


def test_a_sound_instance(settings, tmp_path):
    assert set(states(instance.check_instance(instance.home_of(settings, {})))) == {"ok"}
    assert not (tmp_path / ".dagster").exists()


WRONG = {
    "run_monitorin: {enabled: true}": "run_monitorin",
    "storage: {sqlite: {base_dir: ": "dagster.yaml",
    "storage: {postgres: {}}": "postgres",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_dagster_yaml(text, tmp_path):
    (tmp_path / "dagster.yaml").write_text(text)
    assert WRONG[text] in failed(instance.check_instance(instance.Home(tmp_path, tmp_path))).message


def test_a_component_that_cannot_be_made(tmp_path):
    (tmp_path / "dagster.yaml").write_text(
        "run_monitoring: {enabled: true}\nrun_coordinator: {module: no_such_module, class: Coordinator}\n"
    )
    found = failed(instance.check_instance(instance.Home(tmp_path, tmp_path)))
    assert found.subject == "instance run coordinator"
    assert "no_such_module" in found.message


def test_an_engine_that_is_not_installed_names_what_installs_it():
    assert instance.install_command("Couldn't import module dagster_ray") == ".ci/setup engines"
    assert instance.install_command("Couldn't import module mine") == ""


def test_run_monitoring():
    source = Path("dagster.yaml")
    assert states(instance.check_monitoring({}, source)) == ["warn"]
    resuming = {"run_monitoring": {"enabled": True, "max_resume_run_attempts": 3}}
    assert "another GPU" in failed(instance.check_monitoring(resuming, source)).message


def test_run_retries():
    checked = [
        instance.check_retries({"run_retries": one}, Path("dagster.yaml"))
        for one in ({}, {"enabled": True, "max_retries": 3}, {"enabled": True, "max_retries": 0})
    ]
    assert states(checked) == ["warn", "warn", "ok"]
    assert "repeats every run" in checked[1].message


# Devices


class Gpu:
    name, uuid, driver, simulated = "NVIDIA H200", "GPU-1", "580.1", True

    def __init__(self, tenants: int = 0) -> None:
        self._tenants = tenants

    def tenants(self) -> int:
        return self._tenants


def opened(gpu):
    @contextmanager
    def open_it():
        if gpu is None:
            raise DeviceRefused("no NVIDIA GPU on this host")
        yield gpu

    return open_it


def test_no_device_is_a_failure_only_where_one_is_asked_for():
    assert states(devices.check_devices("cpu", opened(None))) == ["ok"]
    assert states(devices.check_devices("sm_90", opened(None))) == ["ok"]
    assert "no NVIDIA GPU" in failed(devices.check_devices("cuda", opened(None))).message
    assert not devices.present(opened(None))


def test_another_device_than_the_targets_is_named():
    found = failed(devices.check_devices("NVIDIA H100 80GB HBM3", opened(Gpu())))
    assert "NVIDIA H200 (GPU-1)" in found.message
    assert found.remedy == "export TENSOR_ASSETS_TARGET='NVIDIA H200'"
    assert states(devices.check_devices("NVIDIA H200", opened(Gpu()))) == ["ok", "ok"]


def test_a_device_that_is_not_alone():
    assert states(devices.check_devices("cuda", opened(Gpu(tenants=2)))) == ["ok", "ok", "warn"]


def test_a_driver_that_is_too_old_for_the_locks():
    old = Gpu()
    old.driver = "575.57.08"
    assert [f.state for f in devices.check_devices("cuda", opened(old)) if f.subject == "driver"] == ["warn"]


def test_the_drivers_cuda_is_that_of_the_locks():
    locks = [adapter.lock.read_text() for adapter in discover(load_settings({}).adapters).values()]
    versions = {found for lock in locks for found in re.findall(r"^nvidia-cuda-nvrtc==(\d+\.\d+)", lock, re.MULTILINE)}
    assert versions == {devices.CUDA}


# Profilers


def test_without_a_gpu_nothing_is_missed(settings):
    assert states(profilers.check_profilers(settings, gpu=False)) == ["ok"]


def test_missing_profilers_say_what_is_lost(settings):
    found = by_subject(profilers.check_profilers(settings, gpu=True, environ={}, which=lambda program: None))
    assert {found[program].state for program in profilers.PROGRAMS} == {"warn"}
    assert found["ncu"].remedy
    present = profilers.check_profilers(settings, gpu=True, environ={}, which=lambda program: f"/usr/bin/{program}")
    found = by_subject(present)
    assert {found[program].state for program in profilers.PROGRAMS} == {"ok"}


def test_cupti_is_looked_for_where_workers_will(settings, compiler, tmp_path):
    variable = profilers.FOLDER_VARIABLE
    assert profilers.check_cupti(settings, {variable: str(tmp_path)}).state == "warn"
    (tmp_path / "cupti").mkdir()
    assert profilers.check_cupti(settings, {variable: str(tmp_path)}).state == "ok"
    compiler()
    built(settings, freeze={"tiny": "1.2"})
    assert "tiny" in profilers.check_cupti(settings, {}).message
    built(settings, freeze={"cupti-python": "13.0.1"})
    assert profilers.check_cupti(settings, {}).state == "ok"


@pytest.mark.parametrize(
    ("parameters", "capabilities", "state"),
    [
        ("RmProfilingAdminOnly: 0\n", "0000000000000000", "ok"),
        ("RmProfilingAdminOnly: 1\n", "0000000000000000", "warn"),
        ("RmProfilingAdminOnly: 1\n", "0000004000000000", "ok"),  # CAP_PERFMON
        ("RmProfilingAdminOnly: 1\n", "0000000000200000", "ok"),  # CAP_SYS_ADMIN
        ("Other: 1\n", "0000000000000000", "warn"),
        (None, "0000000000000000", "warn"),
    ],
)
def test_who_may_read_counters(parameters, capabilities, state, tmp_path):
    if parameters is not None:
        (tmp_path / "params").write_text(parameters)
    (tmp_path / "status").write_text(f"Name:\tx\nCapEff:\t{capabilities}\n")
    found = profilers.check_counters(tmp_path / "params", tmp_path / "status")
    assert found.state == state
    assert bool(found.remedy) == (state == "warn")


# Compilers


def built(settings, name: str = "tiny", freeze: dict[str, str] | None = None, python: bool = True) -> Path:
    root = environment_folder(discover(settings.adapters)[name], settings.cache / "environments")
    (root / "bin").mkdir(parents=True, exist_ok=True)
    (root / ".complete").write_text(json.dumps({"freeze": freeze or {"tiny": "1.2"}}))
    (root / "bin" / "python").unlink(missing_ok=True)
    if python:
        (root / "bin" / "python").symlink_to("/bin/sh")
    return root


def test_an_environment_is_built_missing_interrupted_or_broken(settings, compiler):
    compiler()
    (missing,) = compilers.check_compilers(settings, {})
    assert (missing.state, missing.remedy) == ("warn", "tensor-assets environment tiny")
    root = built(settings)
    (sound,) = compilers.check_compilers(settings, {})
    assert (sound.state, sound.message.startswith("tiny 1.2")) == ("ok", True)
    built(settings, python=False)
    assert str(root) in failed(compilers.check_compilers(settings, {})).remedy
    (root / ".complete").unlink()
    (interrupted,) = compilers.check_compilers(settings, {})
    assert "interrupted" in interrupted.message


@pytest.mark.parametrize("wanted", ["tiny==1.3\n", "tiny>=2\n", "other\n", "not a requirement\n"])
def test_a_lock_that_is_behind_its_requirements(wanted, settings, compiler):
    compiler(wanted=wanted)
    built(settings)
    assert failed(compilers.check_compilers(settings, {})).subject == "tiny"


def test_every_lock_of_the_checkout_is_current():
    adapters = discover(load_settings({}).adapters)
    assert len(adapters) == 7
    assert [finding for adapter in adapters.values() for finding in compilers.check_lock(adapter)] == []


def test_a_missing_system_program_is_a_warning_with_its_package(settings, compiler):
    compiler(system=[{"command": ["no-such-cc"], "debian": "nosuchcc", "why": "compiles", "targets": ["cpu"]}])
    built(settings)
    found = [finding for finding in compilers.check_compilers(settings, {}) if finding.state == "warn"]
    assert [finding.remedy.split()[-1] for finding in found] == ["nosuchcc"]


def test_a_named_worker_that_is_not_there(settings, compiler, tmp_path):
    compiler(worker_variable="TINY_WORKER", import_variable="TINY_BUNDLE")
    built(settings)
    assert states(compilers.check_compilers(settings, {})) == ["ok"]
    assert "TINY_WORKER" in failed(compilers.check_compilers(settings, {"TINY_WORKER": "/nowhere"})).message
    (tmp_path / "plain").write_text("")
    assert "executed" in failed(compilers.check_compilers(settings, {"TINY_WORKER": str(tmp_path / "plain")})).message
    assert "TINY_BUNDLE" in failed(compilers.check_compilers(settings, {"TINY_BUNDLE": "/nowhere"})).message


def test_packed_environments(settings, compiler, tmp_path):
    import msgspec

    compiler()
    packed = msgspec.structs.replace(settings, packed=tmp_path)
    assert "packed.json" in failed(compilers.check_compilers(packed, {})).message
    (tmp_path / "packed.json").write_text("{}")
    assert states(compilers.check_compilers(packed, {})) == ["warn"]
    (tmp_path / "packed.json").write_text('{"tiny": ["lock"]}')
    (tmp_path / "lock").mkdir()
    assert states(compilers.check_compilers(packed, {})) == ["ok"]


def test_broken_and_missing_adapters(settings, compiler):
    assert failed(compilers.check_compilers(settings, {})).subject == "compilers"
    (compiler() / "adapter.json").write_text("{}")
    assert "adapter.json" in failed(compilers.check_compilers(settings, {})).message


# All of it


def test_a_check_that_breaks_hides_no_other(settings, monkeypatch):
    def breaks(*_):
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(examination.workloads, "check_workloads", breaks)
    monkeypatch.setattr(examination.workloads, "check_location", lambda: [])
    monkeypatch.setattr(examination.index, "check_index", lambda needed, environ: [])
    done = examination.examine(settings, {})
    assert not done.sound
    assert "ZeroDivisionError: of ours" in by_subject(done.findings)["workloads"].message
    assert by_subject(done.findings)["instance"].state == "ok"


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("warn", 0), ("fail", 1)])
def test_the_exit_code_and_both_forms(state, code, monkeypatch):
    finding = examination.Finding("disk", state, "said", "mend it")
    done = examination.Examination((finding,), {"disk": 0.1})
    monkeypatch.setattr(command, "examine", lambda settings: done)
    text = CliRunner().invoke(command.doctor)
    assert text.exit_code == code
    assert text.output.splitlines()[:2] == [f"{state:<5}disk: said", "      → mend it"]
    told = CliRunner().invoke(command.doctor, ["--json"])
    assert told.exit_code == code
    assert json.loads(told.output)["findings"] == [
        {"subject": "disk", "state": state, "message": "said", "remedy": "mend it"}
    ]
