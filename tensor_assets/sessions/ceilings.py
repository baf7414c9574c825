"""What a device cannot exceed, and where each number comes from. Upper bounds: a rate above one is our error."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One level of memory. ``capacity`` is None for the last one."""

    name: str
    bytes_per_second: float
    capacity: int | None
    source: str


class Ceilings(msgspec.Struct, frozen=True, kw_only=True):
    """The most a device can do; ``levels`` from the nearest to the farthest."""

    device: str
    flops_per_second: float  # multiply and add counted apart, FP16 operands with FP32 accumulation, no sparsity
    flops_source: str
    levels: tuple[Level, ...]

    @property
    def nearest(self) -> Level:
        return self.levels[0]

    @property
    def farthest(self) -> Level | None:
        """The memory behind every cache, None where its bandwidth is not declared."""
        return self.levels[-1] if self.levels[-1].capacity is None else None


def _hopper(device: str, sms: int, mhz: int, memory_mhz: int, bus_bits: int, l2_mib: int) -> Ceilings:
    clock = mhz * 1e6
    return Ceilings(
        device=device,
        # The data sheet's 989 TFLOP/s of the SXM parts is the same product at 1,830 MHz.
        flops_per_second=sms * 4096 * clock,
        flops_source=f"{sms} SMs × 4,096 dense FP16 tensor FLOP a clock (H100 white paper) × {mhz:,} MHz at most",
        levels=(
            Level(
                name="L2",
                bytes_per_second=sms * 64 * clock,
                capacity=l2_mib << 20,
                source=f"{sms} SMs, each filled with at most 64 bytes a clock from L2, × {mhz:,} MHz",
            ),
            Level(
                name="HBM",
                bytes_per_second=memory_mhz * 1e6 * 2 * bus_bits / 8,
                capacity=None,
                source=f"{memory_mhz:,} MHz × 2 transfers × {bus_bits:,} bits (memory clock as NVML reports it)",
            ),
        ),
    )


# Data sheets of the boards; maximum clocks as NVML reports them. An L2 taken too large only lowers a floor.
DEVICES = {
    ceilings.device: ceilings
    for ceilings in (
        _hopper("NVIDIA H100 80GB HBM3", sms=132, mhz=1980, memory_mhz=2619, bus_bits=5120, l2_mib=50),
        _hopper("NVIDIA H100 PCIe", sms=114, mhz=1755, memory_mhz=1593, bus_bits=5120, l2_mib=50),
        _hopper("NVIDIA H100 NVL", sms=132, mhz=1980, memory_mhz=2619, bus_bits=6144, l2_mib=60),
        _hopper("NVIDIA H200", sms=132, mhz=1980, memory_mhz=3201, bus_bits=6144, l2_mib=60),
    )
}

# FP32 lanes fed by one fused multiply-add pipe count twice; a wider instruction set than any listed is not on sale.
_FLOPS_A_CYCLE = (
    ("amx_tile", 1024, "one AMX tile product of 16×16×32 in 16 cycles"),
    ("avx512_fp16", 128, "two 512-bit FP16 fused multiply-adds"),
    ("avx512f", 64, "two 512-bit FP32 fused multiply-adds"),
    ("avx2", 32, "two 256-bit FP32 fused multiply-adds"),
)
_UNKNOWN_FLOPS = (128, "two 512-bit FP16 fused multiply-adds, assumed")
_FASTEST_HERTZ = 6.2e9  # of any processor sold so far; used where the host does not tell its own limit
_NEAR_BYTES_A_CYCLE = 192  # two 64-byte loads and one 64-byte store a cycle and core (Sapphire Rapids, Zen 5)


def ceilings_of(device: str) -> Ceilings | None:
    """Declared limits of a GPU by its driver's name, None for one not in the table."""
    return DEVICES.get(device)


def host_ceilings(device: str) -> Ceilings:
    """Limits of this host's processor, from what the kernel says of it."""
    cores = os.cpu_count() or 1
    hertz, clock_source = _fastest_clock()
    flops, flops_source = _flops_a_cycle()
    return Ceilings(
        device=device,
        flops_per_second=cores * flops * hertz,
        flops_source=f"{cores} cores × {flops} FLOP a cycle ({flops_source}) × {clock_source}",
        levels=(
            Level(
                name="L1",
                bytes_per_second=cores * _NEAR_BYTES_A_CYCLE * hertz,
                capacity=0,
                source=f"{cores} cores × {_NEAR_BYTES_A_CYCLE} bytes a cycle × {clock_source}",
            ),
        ),
    )


def _flops_a_cycle() -> tuple[int, str]:
    flags: set[str] = set()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                flags.update(line.partition(":")[2].split())
                break
    return next(((flops, why) for flag, flops, why in _FLOPS_A_CYCLE if flag in flags), _UNKNOWN_FLOPS)


def _fastest_clock() -> tuple[float, str]:
    with suppress(OSError, ValueError):
        kilohertz = int(Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").read_text())
        return kilohertz * 1e3, f"{kilohertz / 1e6:.2f} GHz (cpufreq)"
    return _FASTEST_HERTZ, f"{_FASTEST_HERTZ / 1e9} GHz (the host does not tell its limit)"
