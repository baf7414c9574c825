import sys
from types import SimpleNamespace

import msgspec
import pytest

from tensor_assets.errors import AllocationMismatch, DeviceRefused
from tensor_assets.sessions import nvml
from tensor_assets.sessions.allocation import (
    boot_id,
    current_allocation,
    device_of,
    processor,
    require_fingerprint,
    require_same,
)
from tensor_assets_tests.sessions.simulated import SimulatedGpu


class NvmlError(Exception):
    pass


def fake_nvml(clocks=(1980, 3201), throttle=0x4 | 0x40, missing=()):
    def answer(name, value):
        def query(*arguments):
            if name in missing:
                raise NvmlError("Not Supported")
            return value

        return query

    return SimpleNamespace(
        NVMLError=NvmlError,
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: f"index {index}",
        nvmlDeviceGetHandleByUUID=lambda uuid: f"uuid {uuid}",
        nvmlDeviceGetName=lambda handle: "NVIDIA H200",
        nvmlDeviceGetUUID=lambda handle: f"GPU of {handle}".encode(),
        nvmlSystemGetDriverVersion=lambda: "580.159.04",
        nvmlDeviceGetClockInfo=lambda handle, kind: answer("clocks", clocks[kind - 1])(),
        nvmlDeviceGetPowerUsage=answer("power", 123_456),
        nvmlDeviceGetTemperature=answer("temperature", 41),
        nvmlDeviceGetCurrentClocksThrottleReasons=answer("throttle", throttle),
        nvmlDeviceGetComputeRunningProcesses=answer("processes", ["one", "two"]),
    )


@pytest.fixture
def with_nvml(monkeypatch):
    def install(**options):
        monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(**options))

    return install


def test_the_cpu_is_identified_by_model_and_boot():
    allocation = current_allocation("cpu")
    assert allocation.device == processor() != ""
    assert allocation.boot_id == boot_id()
    assert allocation.device_uuid == ""
    assert current_allocation("cpu") == allocation


def test_another_lease_driver_or_device_is_another_allocation():
    one = current_allocation("cuda", gpu=SimulatedGpu())
    other = SimulatedGpu()
    other.driver = "1.0"
    identities = {
        one.id,
        current_allocation("cuda", "lease 2", SimulatedGpu()).id,
        current_allocation("cuda", gpu=other).id,
    }
    assert len(identities) == 3
    assert one.simulated


def test_records_of_different_allocations_are_never_joined():
    cpu, gpu = current_allocation("cpu"), current_allocation("cuda", gpu=SimulatedGpu())
    require_same("a table", cpu, cpu)
    for pair in ((cpu, gpu), (cpu, None), (None, None)):
        with pytest.raises(AllocationMismatch, match="a table: records of different allocations"):
            require_same("a table", *pair)


def test_counters_of_another_fingerprint_are_refused():
    require_fingerprint("counters", "abc", "abc")
    for expected, found in (("abc", "abd"), ("", ""), ("abc", "")):
        with pytest.raises(AllocationMismatch):
            require_fingerprint("counters", expected, found)


def test_a_gpu_is_asked_through_nvml(with_nvml):
    with_nvml()
    with device_of("NVIDIA H200") as gpu:
        state = gpu.state()
        assert gpu.tenants() == 2
    assert (state.sm_mhz, state.memory_mhz, state.celsius) == (1980, 3201, 41)
    assert state.watts == pytest.approx(123.456)
    assert state.throttle == ("power cap", "hardware thermal slowdown")
    allocation = current_allocation("cuda")
    assert (allocation.device, allocation.device_uuid, allocation.driver) == (
        "NVIDIA H200",
        "GPU of index 0",
        "580.159.04",
    )
    assert not allocation.simulated


def test_what_a_device_does_not_answer_is_zero(with_nvml):
    with_nvml(missing=("power", "throttle", "clocks", "processes"))
    with device_of("cuda") as gpu:
        assert gpu.tenants() == 0
        assert gpu.state() == msgspec.structs.replace(gpu.state(), watts=0.0, throttle=(), sm_mhz=0)


@pytest.mark.parametrize(
    ("visible", "handle"), [("", "index 0"), ("2", "index 2"), ("1,0", "index 1"), ("GPU-abc,GPU-def", "uuid GPU-abc")]
)
def test_the_device_is_the_one_that_workers_see_first(with_nvml, monkeypatch, visible, handle):
    with_nvml()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert current_allocation("cuda").device_uuid == f"GPU of {handle}"


@pytest.mark.parametrize("visible", ["-1", "none", ",0", "NoDevFiles"])
def test_a_host_that_hides_its_gpus_from_workers_has_none(with_nvml, monkeypatch, visible):
    with_nvml()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(DeviceRefused, match="shows workers no GPU"):
        current_allocation("cuda")


def test_another_device_than_the_one_asked_for_is_refused(with_nvml):
    with_nvml()
    with pytest.raises(DeviceRefused, match="asked for NVIDIA H100 80GB HBM3; this host has NVIDIA H200"):
        current_allocation("NVIDIA H100 80GB HBM3")


def test_a_host_without_a_gpu_says_so(monkeypatch):
    def refuse():
        raise NvmlError("NVML Shared Library Not Found")

    broken = fake_nvml()
    broken.nvmlInit = refuse
    monkeypatch.setitem(sys.modules, "pynvml", broken)
    with pytest.raises(DeviceRefused, match="no NVIDIA GPU on this host"):
        current_allocation("cuda")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(DeviceRefused, match="tensor-assets"):
        current_allocation("cuda")


def test_throttle_reasons_are_named_and_unknown_ones_numbered():
    assert nvml.reasons(0) == ()
    assert nvml.reasons(0x1) == ("idle",)
    assert nvml.reasons(0x80 | 0x400) == ("power brake", "reason 0x400")
