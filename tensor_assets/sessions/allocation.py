"""Which physical device a session ran on. Records of different allocations, or of different code, are never joined."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tensor_assets.errors import AllocationMismatch, DeviceRefused
from tensor_assets.records import Allocation
from tensor_assets.sessions.inventory import open_gpu, simulated_boot_id
from tensor_assets.sessions.nvml import Gpu

GENERIC_TARGET = "cuda"  # whichever device is there
OFFLINE_TARGETS = ("sm_90",)  # compiled for, never run


@contextmanager
def device_of(target: str) -> Iterator[Gpu | None]:
    """The GPU of ``target``, None on ``cpu``. Raises DeviceRefused if it is not there or not the one named."""
    if target == "cpu":
        yield None
        return
    if target in OFFLINE_TARGETS:
        raise DeviceRefused(f"{target} is compiled for and never run: nothing can be timed on it")
    with open_gpu() as gpu:
        if target not in (GENERIC_TARGET, gpu.name):
            raise DeviceRefused(f"asked for {target}; this host has {gpu.name} ({gpu.uuid})")
        yield gpu


def current_allocation(target: str, lease: str = "", gpu: Gpu | None = None) -> Allocation:
    """The allocation that a session started now would run under; ``gpu`` saves asking NVML again.

    ``lease`` names whoever granted the device, where somebody did. Raises DeviceRefused as ``device_of`` does.
    """
    if gpu is not None:
        return _identified(
            device=gpu.name, device_uuid=gpu.uuid, driver=gpu.driver, lease=lease, simulated=gpu.simulated
        )
    with device_of(target) as found:
        return (
            _identified(device=processor(), lease=lease) if found is None else current_allocation(target, lease, found)
        )


def require_same(what: str, *allocations: Allocation | None) -> None:
    """Raises AllocationMismatch unless every allocation is known and all are one."""
    identities = {allocation.id if allocation else "unknown" for allocation in allocations}
    if len(identities) > 1 or "unknown" in identities:
        raise AllocationMismatch(f"{what}: records of different allocations cannot be joined ({_listed(identities)})")


def require_fingerprint(what: str, expected: str, found: str) -> None:
    """Raises AllocationMismatch unless both name the same implementation."""
    if not expected or expected != found:
        raise AllocationMismatch(
            f"{what}: {found[:12] or 'no fingerprint'} was measured, {expected[:12] or 'no fingerprint'} was asked for"
        )


def processor() -> str:
    """The processor's model, as the kernel names it."""
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def boot_id() -> str:
    """Changes with every boot of the host; shared by its containers."""
    return _read("/proc/sys/kernel/random/boot_id").strip()


def device_boot_id(simulated: bool) -> str:
    """The boot that a device was granted under; a simulated inventory may name one of its own."""
    return (simulated and simulated_boot_id()) or boot_id()


def _identified(simulated: bool = False, **facts: Any) -> Allocation:
    allocation = Allocation(id="", boot_id=device_boot_id(simulated), simulated=simulated, **facts)
    digest = hashlib.sha256(msgspec.json.encode(allocation, order="sorted")).hexdigest()
    return msgspec.structs.replace(allocation, id=digest[:16])


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _listed(identities: set[str]) -> str:
    return ", ".join(sorted(identities))
