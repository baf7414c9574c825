"""What TVM is asked to compile for."""

from __future__ import annotations

import platform
from pathlib import Path

import tvm
from tensor_worker.adapter import Unavailable, Unsupported
from tvm.target import Target

# What TVM's own detection reports on a Hopper GPU; the same values without one give the same code.
HOPPER = {
    "kind": "cuda",
    "arch": "sm_90",
    "max_shared_memory_per_block": 49152,
    "max_threads_per_block": 1024,
    "thread_warp_size": 32,
}
_X86_64_V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}


def native_target(name: str) -> Target:
    """The TVM target for ``cpu``, ``sm_90`` or ``cuda``. Raises Unavailable where ``cuda`` finds no device."""
    host = {"kind": "llvm", **_processor()}
    if name == "cpu":
        return Target(host)
    if name == "sm_90":
        return Target(HOPPER, host=host)
    if name == "cuda":
        return Target(_detected(), host=host)
    raise Unsupported(f"TVM's adapter has no target {name!r} (have: cpu, sm_90, cuda)")


def device_of(name: str) -> tvm.runtime.Device:
    return tvm.cuda(0) if name == "cuda" else tvm.cpu()


def _detected() -> dict[str, str | int]:
    device = tvm.cuda(0)
    if not device.exist:
        raise Unavailable("TVM finds no CUDA device", "run on a machine with an NVIDIA GPU and driver")
    return {
        "kind": "cuda",
        "arch": f"sm_{device.compute_version.replace('.', '')}",
        "max_shared_memory_per_block": int(device.max_shared_memory_per_block),
        "max_threads_per_block": int(device.max_threads_per_block),
        "thread_warp_size": int(device.warp_size),
    }


def _processor() -> dict[str, str]:
    """A level that this processor surely has. LLVM's own guess goes by the model's name and may name instructions that
    a virtual machine hides; without a level TVM's code is four times slower."""
    description = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not description.is_file():
        return {}
    flags = set(description.read_text(encoding="utf-8").partition("flags")[2].partition("\n")[0].split())
    return {"mcpu": "x86-64-v3"} if flags >= _X86_64_V3 else {}
