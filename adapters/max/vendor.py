"""cuBLAS, to which MAX hands matrix products on NVIDIA GPUs: it brings none, and looks for the system's by name."""

from __future__ import annotations

import ctypes
import sysconfig
from pathlib import Path

from tensor_worker.adapter import Unavailable

# What the code that MAX 26.7.0 compiles tries to load, in its order.
SYSTEM = (
    "libcublas.so.13",
    "/usr/local/cuda/lib64/libcublas.so.13",
    "/usr/local/cuda-13.1/lib64/libcublas.so.13",
    "/usr/local/cuda-13.0/lib64/libcublas.so.13",
    "libcublas.so.12",
    "/usr/local/cuda/lib64/libcublas.so.12",
    "/usr/local/cuda-12.8/lib64/libcublas.so.12",
)
PACKAGED = ("nvidia/*/lib/libcublas.so.13", "nvidia/*/lib/libcublas.so.12")


def require_cublas() -> str:
    """Its version, once it is loaded. A packaged one is found by MAX because a library of that name is then loaded.

    Raises Unavailable where there is none.
    """
    packages = Path(sysconfig.get_paths()["purelib"])
    packaged = [str(path) for pattern in PACKAGED for path in sorted(packages.glob(pattern))]
    for name in (*SYSTEM, *packaged):
        try:
            library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return _version(library)
    raise Unavailable(
        "MAX hands matrix products to cuBLAS, and there is no libcublas.so.13 or .12 here",
        "install the CUDA toolkit's cuBLAS, or nvidia-cublas into MAX's environment",
    )


def _version(library: ctypes.CDLL) -> str:
    """MAJOR.MINOR.PATCH, by the call that needs no device."""
    parts = []
    for part in range(3):
        value = ctypes.c_int()
        if library.cublasGetProperty(part, ctypes.byref(value)):
            return "unknown version"
        parts.append(str(value.value))
    return ".".join(parts)
