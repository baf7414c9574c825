"""Empties the L2 of the current CUDA device between invocations, through the driver alone."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from tensor_worker.adapter import Unavailable
from tensor_worker.flush_probe import FLUSHED, cold_over_warm

_L2_CACHE_SIZE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, bytes
# Writing twice the cache's size leaves no line of the program's data whatever the replacement policy does with streams.
_TIMES_L2 = 2
_verified = False


class Flusher:
    """A buffer of twice the L2, overwritten by every ``flush``; freed at the end of ``with``."""

    def __init__(self) -> None:
        self._driver = _load_driver()
        self._device, self._retained = ctypes.c_int(), False
        self._buffer, self._bytes = ctypes.c_uint64(), 0
        self._value = 0

    def __enter__(self) -> Flusher:
        self._enter_context()
        l2 = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(l2), _L2_CACHE_SIZE, self._device)
        self._bytes = _TIMES_L2 * l2.value
        self._call("cuMemAlloc_v2", ctypes.byref(self._buffer), ctypes.c_size_t(self._bytes))
        return self

    def __exit__(self, *exception: object) -> None:
        self._call("cuMemFree_v2", self._buffer)
        if self._retained:
            previous = ctypes.c_void_p()
            self._call("cuCtxPopCurrent_v2", ctypes.byref(previous))
            self._call("cuDevicePrimaryCtxRelease_v2", self._device)

    def flush(self) -> None:
        """Overwrite the cache and wait. Lines that a program had marked persisting lose that mark first."""
        self._value ^= 1
        self._call("cuCtxResetPersistingL2Cache")
        self._call("cuMemsetD8_v2", self._buffer, ctypes.c_ubyte(self._value), ctypes.c_size_t(self._bytes))
        self._call("cuCtxSynchronize")

    def verify(self) -> None:
        """Once in a process: raises Unavailable unless a flush is seen to slow down a chase through memory."""
        global _verified
        if not _verified:
            ratio = cold_over_warm(self._driver, self.flush)
            print(f"L2 flush: memory is read {ratio:.2f} times as slowly after it", file=sys.stderr)
            if ratio < FLUSHED:
                raise Unavailable(f"the L2 flush has no effect here: reads after it take {ratio:.2f} times as long")
            _verified = True

    def _enter_context(self) -> None:
        """Use the thread's current context, or the device's primary one where the runtime pops its own after calls."""
        self._call("cuInit", 0)
        context = ctypes.c_void_p()
        self._call("cuCtxGetCurrent", ctypes.byref(context))
        if context.value:
            self._call("cuCtxGetDevice", ctypes.byref(self._device))
            return
        self._call("cuDeviceGet", ctypes.byref(self._device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._call("cuCtxPushCurrent_v2", context)
        self._retained = True

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status:
            raise Unavailable(f"the L2 cannot be flushed: {name} returned CUDA error {status}")


def _load_driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Unavailable(f"the L2 cannot be flushed: no CUDA driver ({error})") from error
