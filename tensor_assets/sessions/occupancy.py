"""How much of a multiprocessor a kernel can fill, from its launch alone."""

from __future__ import annotations

from math import ceil, prod
from typing import NamedTuple

from tensor_worker.messages import Activity


class Multiprocessor(NamedTuple):
    """Limits of one SM (CUDA C++ Programming Guide, compute capabilities)."""

    on_device: int
    warps: int = 64
    blocks: int = 32
    registers: int = 65536
    registers_unit: int = 256  # allocated to a warp in multiples of this
    warps_unit: int = 4  # warps are spread over four schedulers, each with its own register file
    shared_bytes: int = 233472  # 228 KiB
    shared_unit: int = 128
    shared_reserved: int = 1024  # taken by the system in every block


HOPPER = {
    "NVIDIA H100 80GB HBM3": Multiprocessor(132),
    "NVIDIA H100 PCIe": Multiprocessor(114),
    "NVIDIA H100 NVL": Multiprocessor(132),
    "NVIDIA H200": Multiprocessor(132),
}


class Occupancy(NamedTuple):
    share: float  # resident warps over the most there can be
    limit: str
    waves: float  # grid over what the device holds at once


def occupancy_of(kernel: Activity, device: str) -> Occupancy | None:
    """None for what is no kernel, and for devices whose limits are not declared here."""
    limits = HOPPER.get(device)
    if limits is None or kernel.kind != "kernel" or not prod(kernel.block):
        return None
    warps = ceil(prod(kernel.block) / 32)
    resident = {
        "threads": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": _by_registers(kernel.registers, warps, limits),
        "shared memory": _by_shared(kernel.shared_bytes, limits),
    }
    limit = min(resident, key=lambda name: resident[name])
    blocks = resident[limit]
    if blocks == 0:
        return None  # such a launch is not possible: the numbers are not one kernel's
    return Occupancy(blocks * warps / limits.warps, limit, prod(kernel.grid) / (blocks * limits.on_device))


def _by_registers(registers: int, warps: int, limits: Multiprocessor) -> int:
    if registers == 0:
        return limits.blocks
    of_a_warp = _rounded(registers * 32, limits.registers_unit)
    held = limits.registers // of_a_warp // limits.warps_unit * limits.warps_unit
    return held // warps


def _by_shared(shared_bytes: int, limits: Multiprocessor) -> int:
    return limits.shared_bytes // (_rounded(shared_bytes, limits.shared_unit) + limits.shared_reserved)


def _rounded(amount: int, unit: int) -> int:
    return ceil(amount / unit) * unit
