"""What the CUDA driver makes of the PTX that tinygrad gives it."""

from __future__ import annotations

import ctypes
from typing import Any

from tinygrad import Device
from tinygrad.runtime.autogen import cuda
from tinygrad.runtime.ops_cuda import check


def driver_cubin(ptx: bytes) -> bytes:
    """The machine code of the driver's own compiler for the current device. Raises RuntimeError with its status."""
    device: Any = Device["CUDA"]
    check(cuda.cuCtxSetCurrent(device.context))
    state = cuda.CUlinkState()
    check(cuda.cuLinkCreate_v2(0, None, None, ctypes.byref(state)))
    try:
        text = ctypes.create_string_buffer(ptx.rstrip(b"\0"))
        kind = cuda.CU_JIT_INPUT_PTX
        check(cuda.cuLinkAddData_v2(state, kind, ctypes.addressof(text), len(text), b"kernel.ptx", 0, None, None))
        code, size = ctypes.c_void_p(), ctypes.c_uint64()
        check(cuda.cuLinkComplete(state, ctypes.byref(code), ctypes.byref(size)))
        return ctypes.string_at(code.value or 0, size.value)
    finally:
        cuda.cuLinkDestroy(state)


def launch_graph(executable: object) -> None:
    """Launch an instantiated CUDA graph on the stream that tinygrad uses."""
    check(cuda.cuGraphLaunch(executable, None))
