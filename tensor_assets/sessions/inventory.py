"""The GPUs of this host, as NVML lists them or as a simulated inventory (a JSON file) has them instead.

A simulated device's name begins with "simulated", so that every key, record and page made under it says so::

    {"devices": [{"name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-1", "driver": "580.159.04", "memory_gib": 80}],
     "boot_id": "optional: stands for this host's"}
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tensor_assets.errors import DeviceRefused, SettingsError
from tensor_assets.records import DeviceState
from tensor_assets.sessions import nvml
from tensor_assets.sessions.nvml import Gpu, Installed

INVENTORY = "TENSOR_ASSETS_INVENTORY"  # the variable that names the file
SIMULATED = "simulated "  # how a simulated device's name begins


class _Device(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    uuid: str
    driver: str = "0"
    memory_gib: float = 0.0
    mig: bool = False
    tenants: int = 0


class _Inventory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    devices: tuple[_Device, ...]
    boot_id: str = ""


class SimulatedGpu:
    """A device of the simulated inventory: it has an identity and a state, and computes nothing."""

    simulated = True

    def __init__(self, installed: Installed) -> None:
        self.name, self.uuid, self.driver = installed.name, installed.uuid, installed.driver
        self._tenants = installed.tenants

    def state(self) -> DeviceState:
        """Nothing is known of its clocks."""
        return DeviceState()

    def tenants(self) -> int:
        return self._tenants


def installed_devices(environ: Mapping[str, str] = os.environ) -> tuple[Installed, ...]:
    """Every device that a worker started from here could be given, MIG slices by themselves.

    ``CUDA_VISIBLE_DEVICES`` limits them, as it limits workers. Raises DeviceRefused where there is none to ask,
    SettingsError if a simulated inventory cannot be read.
    """
    path = environ.get(INVENTORY)
    found = _simulated(Path(path)) if path else nvml.installed_devices()
    return _visible(found, environ.get("CUDA_VISIBLE_DEVICES", ""))


@contextmanager
def open_gpu(environ: Mapping[str, str] = os.environ) -> Iterator[Gpu]:
    """The GPU that workers started from here will see first. Raises DeviceRefused, SettingsError."""
    if not environ.get(INVENTORY):
        with nvml.open_gpu() as gpu:
            yield gpu
        return
    found = installed_devices(environ)
    if not found:
        raise DeviceRefused(f"the simulated inventory {environ[INVENTORY]} has no device that is visible here")
    yield SimulatedGpu(found[0])


def simulated_boot_id(environ: Mapping[str, str] = os.environ) -> str:
    """The boot id that the simulated inventory stands for; empty where it names none, or there is no inventory."""
    path = environ.get(INVENTORY)
    return _read(Path(path)).boot_id if path else ""


def _simulated(path: Path) -> tuple[Installed, ...]:
    return tuple(
        Installed(
            name=SIMULATED + device.name,
            uuid=device.uuid,
            driver=device.driver,
            memory_bytes=int(device.memory_gib * (1 << 30)),
            mig=device.mig,
            tenants=device.tenants,
            simulated=True,
        )
        for device in _read(path).devices
    )


def _read(path: Path) -> _Inventory:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Inventory)
    except OSError as error:
        raise SettingsError(f"{INVENTORY}={path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise SettingsError(f"{INVENTORY}={path}: {error}") from None


def _visible(found: tuple[Installed, ...], visible: str) -> tuple[Installed, ...]:
    """As CUDA reads the variable: places or UUIDs, up to the first one that is neither."""
    if not visible.strip():
        return found
    chosen: list[Installed] = []
    for part in (part.strip() for part in visible.split(",")):
        named = [device for device in found if device.uuid == part]
        if part.isdigit() and int(part) < len(found):
            named = [found[int(part)]]
        if not named:
            break
        chosen += named
    return tuple(chosen)
