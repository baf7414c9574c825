"""The GPU of this host: whether it answers, whether it is the one the target names, whether somebody is on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from tensor_assets.doctor.findings import Finding, fail, ok, warn
from tensor_assets.errors import DeviceRefused
from tensor_assets.sessions.allocation import GENERIC_TARGET
from tensor_assets.sessions.inventory import open_gpu
from tensor_assets.sessions.nvml import Gpu

# NVRTC in adapters/*/requirements.in, and the first driver branch that knows it (CUDA's compatibility table).
CUDA, OLDEST_DRIVER = "13.0", "580"
OFF_DEVICE = ("cpu", "sm_90")  # targets that need no GPU


def check_devices(target: str, opened: Callable[[], AbstractContextManager[Gpu]] = open_gpu) -> Iterator[Finding]:
    """A missing or other GPU is a failure only where the target asks for one."""
    try:
        with opened() as gpu:
            yield from _found(gpu, target)
    except DeviceRefused as refused:
        if target in OFF_DEVICE:
            yield ok("device", f"none is needed for {target} ({refused})")
        else:
            yield fail("device", f"target {target}: {refused}", "export TENSOR_ASSETS_TARGET=cpu, or mend the driver")


def check_driver(gpu: Gpu) -> Finding:
    """Whether it loads what the compilers' locked CUDA libraries make."""
    if _numbers(gpu.driver) < _numbers(OLDEST_DRIVER):
        said = f"{gpu.driver} loads no code of CUDA {CUDA}, which the compilers' locks have: captures would be refused"
        return warn("driver", said, f"install NVIDIA's driver {OLDEST_DRIVER} or newer")
    return ok("driver", f"{gpu.driver} loads code of CUDA {CUDA}")


def present(opened: Callable[[], AbstractContextManager[Gpu]] = open_gpu) -> bool:
    """Whether a GPU answers here."""
    try:
        with opened():
            return True
    except DeviceRefused:
        return False


def _found(gpu: Gpu, target: str) -> Iterator[Finding]:
    said = f"{gpu.name} ({gpu.uuid}), driver {gpu.driver}{', simulated' if gpu.simulated else ''}"
    if target not in (*OFF_DEVICE, GENERIC_TARGET, gpu.name):
        remedy = f"export TENSOR_ASSETS_TARGET='{gpu.name}'"
        yield fail("device", f"target {target}; this host has {said}", remedy)
        return
    yield ok("device", said)
    yield check_driver(gpu)
    if tenants := gpu.tenants():
        yield warn("device", f"{tenants} processes compute on it: timings would share it", "nvidia-smi")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
