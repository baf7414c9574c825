import json
import sys

import msgspec
import pytest

from tensor_assets.campaign.workspace import resolved_target, worker_target
from tensor_assets.errors import DeviceRefused, SettingsError
from tensor_assets.sessions.allocation import boot_id, current_allocation
from tensor_assets.sessions.inventory import installed_devices
from tensor_assets_tests.sessions.test_allocation import NvmlError, fake_nvml

DEVICES = [
    {"name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-a", "driver": "580.1", "memory_gib": 80},
    {"name": "NVIDIA H200", "uuid": "GPU-b", "driver": "580.1", "memory_gib": 141, "tenants": 2},
]


@pytest.fixture
def inventory(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("TENSOR_ASSETS_INVENTORY", str(tmp_path / "inventory.json"))

    def write(content):
        (tmp_path / "inventory.json").write_text(content if isinstance(content, str) else json.dumps(content))

    return write


def test_whatever_is_made_on_a_simulated_device_says_so(inventory):
    inventory({"devices": DEVICES, "boot_id": "an-invented-boot"})
    target = resolved_target("cuda")
    assert target == "simulated NVIDIA H100 80GB HBM3"
    assert resolved_target(target) == target
    assert worker_target(target) == "cuda"
    allocation = current_allocation(target)
    assert allocation.simulated
    assert (allocation.device, allocation.device_uuid, allocation.boot_id) == (target, "GPU-a", "an-invented-boot")
    with pytest.raises(DeviceRefused, match="asked for NVIDIA H100 80GB HBM3; this host has simulated NVIDIA H100"):
        current_allocation("NVIDIA H100 80GB HBM3")


def test_an_invented_boot_is_the_devices_alone(inventory):
    inventory({"devices": DEVICES, "boot_id": "an-invented-boot"})
    allocation = current_allocation("cpu")
    assert allocation.boot_id == boot_id() != "an-invented-boot"
    assert not allocation.simulated


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        ("", "ab"),
        ("1", "b"),
        ("1,0", "ba"),
        ("GPU-b", "b"),
        ("0,7,1", "a"),
        ("-1", ""),
        ("GPU-x,GPU-a", ""),
        (" 0 , 1 ", "ab"),
    ],
)
def test_what_workers_may_see_is_read_as_cuda_reads_it(inventory, monkeypatch, visible, uuids):
    inventory({"devices": DEVICES})
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert "".join(device.uuid[-1] for device in installed_devices()) == uuids


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "truncated"),
        ({"devices": [{"name": "x"}]}, "uuid"),
        ({"devices": [{**DEVICES[0], "gib": 3}]}, "gib"),
        ({"device": []}, "device"),
    ],
)
def test_a_broken_inventory_is_one_line(inventory, content, said):
    inventory(content)
    with pytest.raises(SettingsError, match=rf"TENSOR_ASSETS_INVENTORY=.*{said}"):
        installed_devices()


def test_a_missing_inventory_is_one_line(inventory):
    with pytest.raises(SettingsError, match="No such file"):
        installed_devices()


def divided(handle: str, slices: int):
    nvml = fake_nvml()
    nvml.nvmlDeviceGetCount = lambda: 2
    nvml.nvmlDeviceGetMemoryInfo = lambda handle: msgspec.json.decode(b'{"total": 7}', type=Memory)
    nvml.nvmlDeviceGetMaxMigDeviceCount = lambda handle: 7

    def mode(asked):
        if asked != handle:
            raise NvmlError("Not Supported")
        return 1, 1

    def part(asked, index):
        if index >= slices:
            raise NvmlError("Not Found")
        return f"slice {index} of {asked}"

    nvml.nvmlDeviceGetMigMode, nvml.nvmlDeviceGetMigDeviceHandleByIndex = mode, part
    return nvml


class Memory(msgspec.Struct):
    total: int


def test_a_divided_gpu_is_listed_as_its_slices(monkeypatch):
    monkeypatch.delenv("TENSOR_ASSETS_INVENTORY", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setitem(sys.modules, "pynvml", divided("index 1", slices=2))
    found = installed_devices()
    assert [(device.uuid, device.mig) for device in found] == [
        ("GPU of index 0", False),
        ("GPU of slice 0 of index 1", True),
        ("GPU of slice 1 of index 1", True),
    ]
    assert not any(device.simulated for device in found)
