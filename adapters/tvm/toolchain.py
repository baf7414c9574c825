"""Points TVM at the CUDA wheels of its environment, and imports what is slow to import quickly."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

DISTRIBUTIONS = ("apache-tvm", "apache-tvm-ffi", "numpy", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cuda-nvdisasm")


def prepare() -> None:
    """Set what TVM reads when it compiles CUDA: where the headers are. The wheels keep CCCL where it does not look."""
    if root := cuda_root():
        os.environ["CUDA_PATH"] = str(root)
    if headers := _wheel_folder("include/cccl/cuda/std/cstdint"):
        folders = (headers / "include" / "cccl", headers / "include")
        os.environ["TVM_CUDA_NVRTC_EXTRA_OPTS"] = shlex.join(f"-I{folder}" for folder in folders)
    os.environ["TVM_CUDA_COMPILE_MODE"] = "nvrtc"


def cuda_root() -> Path | None:
    """The folder of the CUDA wheels in this environment (``bin``, ``include``, ``lib``), None where they are absent."""
    return _wheel_folder("lib/libnvrtc.so.13")


def _wheel_folder(holding: str) -> Path | None:
    """The first CUDA folder on the path that has this file: the wheels of one CUDA may lie in several places."""
    spec = importlib.util.find_spec("nvidia")
    for location in spec.submodule_search_locations or () if spec else ():
        root = Path(location) / "cu13"
        if (root / holding).is_file():
            return root
    return None


def versions() -> dict[str, str]:
    """Every distribution that shapes the code."""
    found = {}
    for name in DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@contextmanager
def remembered_modules() -> Iterator[None]:
    """While TVM parses its tensor intrinsics: ask once for each file which module it belongs to.

    TVM inspects the whole stack for each of 248 intrinsics, and ``inspect.getmodule`` goes through every module that
    is loaded for each frame. Importing them takes 43 s on two busy cores, with this 11 s.
    """
    search = inspect.getmodule
    known: dict[str, ModuleType | None] = {}

    def remembered(thing: Any, _filename: str | None = None) -> ModuleType | None:
        file = getattr(getattr(thing, "f_code", thing), "co_filename", None)
        if file is None or hasattr(thing, "__module__"):
            return search(thing, _filename)
        if file not in known:
            known[file] = search(thing, _filename)
        return known[file]

    inspect.getmodule = remembered  # type: ignore[assignment]  # its parameter is called object
    try:
        yield
    finally:
        inspect.getmodule = search
