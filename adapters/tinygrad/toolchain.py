"""Points tinygrad at the tools it needs. It reads its environment when imported, so this comes first."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from tensor_worker.adapter import Unavailable

CLANGS = ("clang", *(f"clang-{version}" for version in range(25, 12, -1)))
CLANG_REMEDY = "apt-get install clang"


DEVICES = {"cpu": "CPU", "cuda": "CUDA", "sm_90": "CUDA"}


def prepare(target: str) -> None:
    """Set what tinygrad reads at import: its device, the C compiler, NVRTC and its headers, no pool of processes.

    DEV spares a probe of every device that there is, which takes seconds. PARALLEL=0 keeps all in this process, unless
    a search that is recorded asks for a pool; HCQ2 is unset because a plan is read from the calls it would hide.
    """
    os.environ.update(DEBUG="0", PARALLEL="0", DEV=DEVICES.get(target, "CPU"))
    for name in ("BEAM", "VIZ", "PROFILE", "HCQ2", "JIT"):
        os.environ.pop(name, None)
    if clang := find_clang():
        os.environ["CC"] = clang
    if root := cuda_root():
        os.environ["CUDA_PATH"] = str(root)
        os.environ["NVRTC_PATH"] = str(root / "lib" / "libnvrtc.so.13")
        # NVRTC opens this by its bare name, which no search path finds; loaded before, the name is known.
        for library in sorted((root / "lib").glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def find_clang() -> str | None:
    """The C compiler for the CPU device: ``CC`` where it names one, else the first clang on the path."""
    chosen = os.environ.get("CC", "")
    candidates = (chosen, *CLANGS) if "clang" in chosen else CLANGS
    return next((name for name in candidates if shutil.which(name)), None)


def require_clang() -> None:
    """Raises Unavailable without a clang: tinygrad would only say that it found no usable device."""
    if find_clang() is None:
        raise Unavailable("tinygrad's CPU device compiles C with clang, and there is none on the path", CLANG_REMEDY)


def cuda_root() -> Path | None:
    """The folder of the CUDA wheels in this environment (``bin``, ``include``, ``lib``), None where they are absent."""
    spec = importlib.util.find_spec("nvidia")
    for location in spec.submodule_search_locations or () if spec else ():
        root = Path(location) / "cu13"
        if (root / "lib" / "libnvrtc.so.13").is_file():
            return root
    return None


def versions() -> dict[str, str]:
    """Every distribution that shapes the code."""
    names = ("tinygrad", "numpy", "nvidia-cuda-nvrtc", "nvidia-cuda-nvdisasm")
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def toolchain() -> dict[str, str]:
    """The first line that each native tool says of itself."""
    clang = find_clang()
    if clang is None:
        return {}
    said = subprocess.run([clang, "--version"], capture_output=True, text=True, check=False).stdout
    return {"clang": said.partition("\n")[0]}
