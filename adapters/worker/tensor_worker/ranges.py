"""Marks invocations for a profiler that watches this process from outside (Nsight Compute, Nsight Systems)."""

from __future__ import annotations

import ctypes
import os

from tensor_worker.adapter import Implementation, Unavailable
from tensor_worker.messages import Traced

WATCHED = "TENSOR_WORKER_WATCHED"  # set by whoever starts the profiler around this worker


def is_watched() -> bool:
    """Whether a profiler outside records the activities, so that nothing in here may."""
    return bool(os.environ.get(WATCHED))


def mark_invocations(implementation: Implementation, invocations: int) -> Traced:
    """Run ``invocations``, each waited for, between the profiler's start and stop marks; the record is the profiler's.

    Raises Unavailable without a CUDA driver.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Unavailable(f"nothing to mark for a profiler: no CUDA driver ({error})") from error
    _call(driver, "cuProfilerStart")
    try:
        for _ in range(invocations):
            implementation.invoke()
            implementation.wait()
    finally:
        _call(driver, "cuProfilerStop")
    return Traced(invocations=())


def _call(driver: ctypes.CDLL, name: str) -> None:
    if status := getattr(driver, name)():
        raise Unavailable(f"nothing to mark for a profiler: {name} returned CUDA error {status}")
