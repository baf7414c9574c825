"""One invocation as a CUDA graph, captured from the stream that TVM launches into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from cuda.bindings import driver


def captured_graph(
    device: tvm.runtime.Device, invoke: Callable[[], list[tvm.runtime.Tensor]]
) -> tuple[Callable[[], None], list[tvm.runtime.Tensor]]:
    """A call that replays ``invoke`` on the default stream, and the tensors that every replay writes.

    Raises RuntimeError where an invocation cannot be captured: it waits for the device, or allocates from it.

    The invocation before the capture fills TVM's memory pool, so that capturing allocates nothing on the device.
    """
    stream = int(device.create_raw_stream())
    device.set_raw_stream(stream)
    try:
        invoke()
        device.sync(stream)
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        _check(driver.cuStreamBeginCapture(_handle(stream), mode))
        try:
            results = invoke()
        finally:
            ended = driver.cuStreamEndCapture(_handle(stream))  # or the stream could never be used again
        graph = _check(ended)
    finally:
        device.set_raw_stream(0)
    executable = _check(driver.cuGraphInstantiate(graph, 0))
    return lambda: _launch(executable), results


def _launch(executable: driver.CUgraphExec) -> None:
    _check(driver.cuGraphLaunch(executable, driver.CUstream(0)))


def _handle(stream: int) -> driver.CUstream:
    return driver.CUstream(stream)


def _check(answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA driver: {status.name}")
    return values[0] if values else None
