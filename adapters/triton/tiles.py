"""Tiles: how much of the output one program instance computes, with how many warps and pipeline stages."""

from __future__ import annotations

from dataclasses import dataclass

from .family import KernelSpec

_LEAST = 16  # tl.dot multiplies nothing smaller


@dataclass(frozen=True)
class Tile:
    m: int
    n: int
    k: int
    warps: int
    stages: int
    group_m: int = 8

    @property
    def name(self) -> str:
        return f"{self.m}x{self.n}x{self.k} warps {self.warps} stages {self.stages}"

    def constants(self) -> dict[str, int]:
        return {"BLOCK_M": self.m, "BLOCK_N": self.n, "BLOCK_K": self.k, "GROUP_M": self.group_m}

    def parameters(self) -> dict[str, str | int | float | bool]:
        return {**self.constants(), "num_warps": self.warps, "num_stages": self.stages}

    def clipped(self, kernel: KernelSpec) -> Tile:
        """No larger than the kernel's matrices need."""
        m, n, k = (
            min(size, max(_LEAST, _power_of_two(extent)))
            for size, extent in ((self.m, kernel.m), (self.n, kernel.n), (self.k, kernel.k))
        )
        return Tile(m, n, k, self.warps, self.stages, self.group_m)

    def grid(self, kernel: KernelSpec) -> tuple[int, int, int]:
        return (-(-kernel.m // self.m) * -(-kernel.n // self.n), 1, 1)


# The fastest of 154 configurations of this kernel for weight_view at 1024x768x1024 on an H200: 5.66 us in graph replay.
DEFAULT = Tile(128, 64, 64, warps=4, stages=3)
# What a search tries: tiles from latency-bound to throughput-bound, with pipelines that fit 227 KiB of shared memory.
SEARCHED = tuple(
    Tile(m, n, k, warps, stages)
    for m, n, warps in ((64, 64, 4), (64, 128, 4), (128, 64, 4), (128, 128, 4), (128, 128, 8), (128, 256, 8))
    for k in (32, 64, 128)
    for stages in (3, 4)
)


def _power_of_two(extent: int) -> int:
    return 1 << (extent - 1).bit_length()
