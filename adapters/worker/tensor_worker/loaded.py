"""Machine code as the driver loaded it: the module of every kernel, taken when it is loaded.

A driver that is handed PTX compiles it itself, and asked for the same machine code apart it may compile it otherwise.
So what ran is kept at the one moment at which it can be had. Written for cupti-python 13.0, as the trace is.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tensor_worker.adapter import Unavailable
from tensor_worker.tracing import load_cupti

MODULES = "TENSOR_WORKER_MODULES"  # a folder: the modules of traced kernels are written there
_watch: Watch | None = None


class _ModuleResourceData(ctypes.Structure):
    """CUPTI's CUpti_ModuleResourceData; cupti-python would read the binary as a string, up to its first zero."""

    _fields_ = (("module", ctypes.c_uint32), ("size", ctypes.c_size_t), ("cubin", ctypes.c_void_p))


class Watch:
    """Keeps every module that is loaded while it lives."""

    def __init__(self, cupti: Any) -> None:
        self._cupti = cupti
        self.modules: list[bytes] = []
        self._callback = self._loaded  # must outlive this call, or CUPTI calls freed memory
        resource, loaded = cupti.CallbackDomain.RESOURCE, cupti.CallbackIdResource.MODULE_LOADED
        cupti.enable_callback(1, cupti.subscribe(self._callback, None), resource, loaded)

    def _loaded(self, _user: object, domain: int, callback: int, data: Any) -> None:
        if (domain, callback) == (self._cupti.CallbackDomain.RESOURCE, self._cupti.CallbackIdResource.MODULE_LOADED):
            module = _ModuleResourceData.from_address(data.resource_descriptor)
            self.modules.append(ctypes.string_at(module.cubin, module.size))


def watch_modules() -> None:
    """From now on, where ``MODULES`` asks for it; must come before the first kernel is loaded.

    A driver that refuses costs the machine code and nothing else; why is said on stderr.
    """
    global _watch
    if _watch is not None or not os.environ.get(MODULES):
        return
    try:
        cupti = load_cupti()
    except Unavailable as error:
        print(f"loaded modules are not watched: {error}", file=sys.stderr)
        return
    try:
        _watch = Watch(cupti)
    except (cupti.cuptiError, RuntimeError) as error:  # RuntimeError: no driver at all
        print(f"loaded modules are not watched: CUPTI refused ({error})", file=sys.stderr)


def write_modules(kernels: Iterable[str]) -> dict[str, str]:
    """Kernel → file with the module that holds it.

    Left out are kernels whose module was not seen, and those that several different modules hold, as when a search
    gives all candidates one name: nothing here tells which of them ran.
    """
    if _watch is None:
        return {}
    folder, found = Path(os.environ[MODULES]), {}
    for kernel in kernels:
        holders = {module for module in _watch.modules if _holds(module, kernel)}
        if len(holders) == 1:
            module = holders.pop()
            path = folder / f"{hashlib.sha256(module).hexdigest()}.cubin"
            path.write_bytes(module)
            found[kernel] = str(path)
    return found


def _holds(module: bytes, kernel: str) -> bool:
    """Whether the module has a section for the kernel's code, which is named after it."""
    return b".text.%b\0" % kernel.encode() in module
