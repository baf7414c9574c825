"""tinygrad's own pool of processes that compile, for as long as it is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tinygrad.helpers import Context

from .toolchain import cuda_root

try:
    from tinygrad.engine import worker as pools
except ImportError:  # 0.13 makes a pool inside its search, where nothing can be recorded
    pools = None


@contextmanager
def processes_beside(count: int) -> Iterator[Any]:
    """A ``multiprocessing`` pool of ``count``; None where none is wanted, or this tinygrad has none to give."""
    if not count or pools is None:
        yield None
        return
    if root := cuda_root():  # for NVRTC's builtins, which this process has loaded and a new one has not
        paths = (str(root / "lib"), os.environ.get("LD_LIBRARY_PATH", ""))
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))
    try:
        with Context(PARALLEL=count):
            pool = pools.get_worker_pool()
        yield pool
    finally:
        pools.terminate_worker_pool()
