"""Does a flush empty the L2? One thread chases pointers through memory, before and after: latency cannot hide.

Bandwidth would not tell: an H200 reads its memory almost as fast as its L2. A load that misses the L2 takes two to
three times as long as one that hits it, on every NVIDIA device, and each of these loads waits for the one before.
"""

from __future__ import annotations

import ctypes
import itertools
import random
from array import array
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from tensor_worker.adapter import Unavailable

# The lowest ratio of cold over warm time that counts as flushed; a flush that did nothing gives 1.0.
FLUSHED = 1.4
_STEPS = 4096
_STRIDE = 128  # bytes: one L2 line a step, so 512 KiB in all, far below any L2
_REPEATS = 3  # the smallest of them: whatever disturbs only adds

# .cg reads through the L2 and past the L1. No feature beyond PTX 6.0, compiled by the driver for the device it has.
_PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry chase(.param .u64 start, .param .u32 steps, .param .u64 result)
{
    .reg .u64 %at, %to;
    .reg .u32 %left;
    .reg .pred %more;
    ld.param.u64 %at, [start];
    ld.param.u32 %left, [steps];
    ld.param.u64 %to, [result];
step:
    ld.global.cg.u64 %at, [%at];
    sub.u32 %left, %left, 1;
    setp.ne.u32 %more, %left, 0;
    @%more bra step;
    st.global.u64 [%to], %at;
    ret;
}
\0"""


def cold_over_warm(driver: Any, flush: Callable[[], None]) -> float:
    """How much longer the chase takes after ``flush`` than right after itself, in the current context.

    Raises Unavailable where the driver refuses a step.
    """
    with _Chase(driver) as chase:
        chase.nanoseconds()
        warm = min(chase.nanoseconds() for _ in range(_REPEATS))
        cold = []
        for _ in range(_REPEATS):
            flush()
            cold.append(chase.nanoseconds())
        return min(cold) / warm


def cycle(steps: int, base: int, seed: int = 0) -> list[int]:
    """Where each line points, so that following the addresses visits all ``steps`` lines, in no order, and returns."""
    order = list(range(1, steps))
    random.Random(seed).shuffle(order)
    route = [0, *order, 0]
    targets = [0] * steps
    for here, there in itertools.pairwise(route):
        targets[here] = base + there * _STRIDE
    return targets


class _Chase:
    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._module, self._kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self._lines, self._result = ctypes.c_uint64(), ctypes.c_uint64()

    def __enter__(self) -> _Chase:
        self._call("cuModuleLoadData", ctypes.byref(self._module), _PTX)
        self._call("cuModuleGetFunction", ctypes.byref(self._kernel), self._module, b"chase")
        self._call("cuMemAlloc_v2", ctypes.byref(self._lines), ctypes.c_size_t(_STEPS * _STRIDE))
        self._call("cuMemAlloc_v2", ctypes.byref(self._result), ctypes.c_size_t(8))
        words = array("Q", bytes(_STEPS * _STRIDE))
        words[:: _STRIDE // 8] = array("Q", cycle(_STEPS, self._lines.value))
        source = words.buffer_info()[0]
        self._call("cuMemcpyHtoD_v2", self._lines, ctypes.c_void_p(source), ctypes.c_size_t(_STEPS * _STRIDE))
        return self

    def __exit__(self, *exception: object) -> None:
        self._call("cuMemFree_v2", self._lines)
        self._call("cuMemFree_v2", self._result)
        self._call("cuModuleUnload", self._module)

    def nanoseconds(self) -> int:
        """Host time of one chase and its wait: half a millisecond, beside which the launch vanishes."""
        values = (ctypes.c_uint64(self._lines.value), ctypes.c_uint32(_STEPS), ctypes.c_uint64(self._result.value))
        parameters = (ctypes.c_void_p * 3)(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))
        self._call("cuCtxSynchronize")
        started = perf_counter_ns()
        self._call("cuLaunchKernel", self._kernel, 1, 1, 1, 1, 1, 1, 0, None, parameters, None)
        self._call("cuCtxSynchronize")
        return perf_counter_ns() - started

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._driver, name)(*arguments):
            raise Unavailable(f"the L2 flush cannot be verified: {name} returned CUDA error {status}")
