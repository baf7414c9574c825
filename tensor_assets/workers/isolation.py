"""What a worker may see: an allow-listed environment and private folders, caches among them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# Where things are installed and what the device is; nothing that names the user, the session or a secret.
ALLOWED = (
    "PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES", "CC", "CXX", "OMP_NUM_THREADS", "TENSOR_WORKER_CUPTI",
)  # fmt: skip

# Every compiler keeps its cache somewhere else; all of them below one folder, so that a snapshot has them all.
CACHES = {
    "XDG_CACHE_HOME": "xdg",
    "TORCHINDUCTOR_CACHE_DIR": "torchinductor",
    "TRITON_CACHE_DIR": "triton",
    "MODULAR_CACHE_DIR": "modular",
    "CUDA_CACHE_PATH": "cuda",
    "TVM_FFI_CACHE_DIR": "tvm_ffi",
}


class WorkerFolder:
    """The private folder of one worker process; everything it writes is below it."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.home, self.temporary, self.cache = self.path / "home", self.path / "tmp", self.path / "cache"
        self.dump, self.arrays, self.log = self.path / "dump", self.path / "arrays", self.path / "log.txt"
        for folder in (self.home, self.temporary, self.cache, self.dump, self.arrays):
            folder.mkdir(parents=True, exist_ok=True)


def worker_variables(
    folder: WorkerFolder, python_path: Path, extra: Mapping[str, str], environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The whole environment of a worker. ``extra`` (tools that were found, for one) wins over the allow-list."""
    variables = {name: environ[name] for name in ALLOWED if environ.get(name)}
    variables.setdefault("LANG", "C.UTF-8")
    variables |= {name: str(folder.cache / part) for name, part in CACHES.items()}
    variables |= {
        "HOME": str(folder.home),
        "TMPDIR": str(folder.temporary),
        "PYTHONPATH": str(python_path),
        "PYTHONUNBUFFERED": "1",  # so that the log ends where the worker did
        # NVML's order, by which we say which device it was; left alone, CUDA puts the fastest first.
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "PYTHONHASHSEED": "0",  # some compilers order by hash: two processes must see the same order
    }
    return variables | dict(extra)
