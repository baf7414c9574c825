"""The GPU as NVML knows it: identity, clocks, temperature, power, throttling. The only file that imports pynvml."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import msgspec

from tensor_assets.errors import DeviceRefused
from tensor_assets.records import DeviceState

# Bits of nvmlClocksEventReasons; "idle" and "application clocks" are no trouble but are recorded like the others.
REASONS = {
    0x001: "idle",
    0x002: "application clocks",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "software thermal slowdown",
    0x040: "hardware thermal slowdown",
    0x080: "power brake",
    0x100: "display clocks",
}
# These halve clocks or worse: what was timed meanwhile says nothing about the program. A power cap is how a busy
# device normally runs, so it is recorded and no more.
DISQUALIFYING = frozenset(
    {"hardware slowdown", "software thermal slowdown", "hardware thermal slowdown", "power brake"}
)


class Gpu(Protocol):
    """What a session needs to know of its device; tests simulate one."""

    name: str
    uuid: str
    driver: str
    simulated: bool

    def state(self) -> DeviceState: ...

    def tenants(self) -> int: ...


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """A device that a host has, before anybody chose it."""

    name: str  # as its driver says it
    uuid: str
    driver: str
    memory_bytes: int
    mig: bool = False  # a slice of a GPU, not a GPU
    tenants: int = 0  # processes that compute on it now
    simulated: bool = False

    def __str__(self) -> str:
        return f"{self.name}{' (a MIG slice)' if self.mig else ''} ({self.uuid})"


class NvmlGpu:
    """One physical GPU, open for the duration of ``open_gpu``."""

    simulated = False

    def __init__(self, pynvml: Any, handle: Any) -> None:
        self._nvml, self._handle = pynvml, handle
        self.name = _text(pynvml.nvmlDeviceGetName(handle))
        self.uuid = _text(pynvml.nvmlDeviceGetUUID(handle))
        self.driver = _text(pynvml.nvmlSystemGetDriverVersion())

    def state(self) -> DeviceState:
        """Clocks and throttling now; 0 for what this device does not answer."""
        nvml, handle = self._nvml, self._handle
        return DeviceState(
            sm_mhz=int(self._ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))),
            memory_mhz=int(self._ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM))),
            watts=self._ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle)) / 1000,
            celsius=int(self._ask(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
            throttle=reasons(int(self._ask(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)))),
        )

    def tenants(self) -> int:
        """How many processes compute on the device now; 0 where it does not tell."""
        return int(self._ask(lambda: len(self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle))))

    def _ask(self, query: Callable[[], float]) -> float:
        with suppress(self._nvml.NVMLError):
            return float(query())
        return 0.0


@contextmanager
def open_gpu() -> Iterator[NvmlGpu]:
    """The GPU that workers started from here will see first. Raises DeviceRefused where there is none to ask."""
    with _initialized() as pynvml:
        yield NvmlGpu(pynvml, _first_visible(pynvml, os.environ.get("CUDA_VISIBLE_DEVICES", "")))


def installed_devices() -> tuple[Installed, ...]:
    """Every GPU of this host, one that MIG divides as its slices. Raises DeviceRefused as ``open_gpu`` does."""
    with _initialized() as pynvml:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        return tuple(_installed(pynvml, *part) for handle in handles for part in _parts(pynvml, handle))


@contextmanager
def _initialized() -> Iterator[Any]:
    try:
        import pynvml
    except ImportError:
        raise DeviceRefused("nvidia-ml-py is not installed: pip install 'tensor-assets[gpu]'") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise DeviceRefused(f"no NVIDIA GPU on this host: {error}") from None
    try:
        yield pynvml
    except pynvml.NVMLError as error:
        raise DeviceRefused(f"the GPU does not answer: {error}") from None
    finally:
        pynvml.nvmlShutdown()


def reasons(bits: int) -> tuple[str, ...]:
    """Names of the throttle reasons set in ``bits``, unknown ones by their number."""
    known = tuple(name for bit, name in REASONS.items() if bits & bit)
    rest = bits & ~sum(REASONS)
    return (*known, f"reason {rest:#x}") if rest else known


def _parts(pynvml: Any, handle: Any) -> list[tuple[Any, bool]]:
    """The GPU itself, or its slices where it is divided, each with whether it is one."""
    try:
        divided, _ = pynvml.nvmlDeviceGetMigMode(handle)
        most = pynvml.nvmlDeviceGetMaxMigDeviceCount(handle) if divided else 0
    except pynvml.NVMLError:  # a device that knows no MIG
        divided, most = 0, 0
    if not divided:
        return [(handle, False)]
    slices = []
    for index in range(most):
        with suppress(pynvml.NVMLError):  # a place that holds no slice
            slices.append((pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index), True))
    return slices


def _installed(pynvml: Any, handle: Any, mig: bool) -> Installed:
    gpu = NvmlGpu(pynvml, handle)
    memory = int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
    return Installed(
        name=gpu.name, uuid=gpu.uuid, driver=gpu.driver, memory_bytes=memory, mig=mig, tenants=gpu.tenants()
    )


def _first_visible(pynvml: Any, visible: str) -> Any:
    first = visible.split(",")[0].strip()
    if first.startswith(("GPU-", "MIG-")):
        return pynvml.nvmlDeviceGetHandleByUUID(first)
    if visible.strip() and not first.isdigit():  # "-1" hides them all, and so does what CUDA cannot read
        raise DeviceRefused(f"CUDA_VISIBLE_DEVICES={visible!r} shows workers no GPU; unset it, or name one by its UUID")
    return pynvml.nvmlDeviceGetHandleByIndex(int(first or 0))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
