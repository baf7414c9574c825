"""The timing loop: the documents' host protocol, graph replay, and device time.

Nothing but the invocations stands between the two clock reads of a block.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter_ns

from tensor_worker.adapter import Implementation, Unavailable
from tensor_worker.messages import Time, Timed

Call = Callable[[], None]


def time_invocations(implementation: Implementation, request: Time) -> Timed:
    """Time a block on the inputs uploaded last. Raises Unavailable where the clock or a cold cache cannot be had."""
    if request.invocations < 1:
        raise ValueError(f"a block has at least one invocation, not {request.invocations}")
    compilations = implementation.compilations()
    elapsed_ns = _elapsed(implementation, request)
    return Timed(
        clock=request.clock,
        cache=request.cache,
        invocations=request.invocations,
        elapsed_ns=elapsed_ns,
        compiled=implementation.compilations() - compilations,
    )


def _elapsed(implementation: Implementation, request: Time) -> int:
    if request.clock == "device":
        return _device_time(implementation, request)
    invoke = implementation.invoke if request.clock == "host" else _replay(implementation)
    for _ in range(request.warmup):
        invoke()
        implementation.wait()
    if request.cache == "cold":
        return _cold_block(invoke, implementation, request.invocations)
    return _warm_block(invoke, implementation.wait, request.invocations)


def _warm_block(invoke: Call, wait: Call, invocations: int) -> int:
    """Two clock reads around the block, a completion wait after each invocation (the experiment report's protocol)."""
    collecting = gc.isenabled()
    gc.disable()  # as timeit does: a collection of this process's garbage is no part of an invocation
    try:
        repeat = range(invocations)
        started = perf_counter_ns()
        for _ in repeat:
            invoke()
            wait()
        return perf_counter_ns() - started
    finally:
        if collecting:
            gc.enable()


def _cold_block(invoke: Call, implementation: Implementation, invocations: int) -> int:
    """Sum over invocations, each after the device's L2 was flushed; the flush lies outside the clock reads."""
    from tensor_worker.flush import Flusher

    if implementation.device == "cpu":
        raise Unavailable("cold caches are measured on GPUs only: nothing flushes a processor's caches for a process")
    with Flusher() as flusher:
        flusher.verify()
        elapsed = 0
        for _ in range(invocations):
            flusher.flush()
            elapsed += _warm_block(invoke, implementation.wait, 1)
        return elapsed


def _replay(implementation: Implementation) -> Call:
    replay = implementation.graph_replay()
    if replay is None:
        raise Unavailable(f"no device graph can be captured on {implementation.device}")
    return replay


def _device_time(implementation: Implementation, request: Time) -> int:
    """Time in which the device worked on the block's activities: the union of their intervals."""
    from tensor_worker.tracing import trace_invocations

    if request.cache == "cold":
        raise Unavailable("the device clock is read on warm caches only")
    for _ in range(request.warmup):
        implementation.invoke()
        implementation.wait()
    traced = trace_invocations(implementation, request.invocations)
    if traced.dropped:
        raise Unavailable(f"the device trace lost {traced.dropped} records: what is left is no whole invocation's time")
    return sum(busy_ns([(a.start_ns, a.start_ns + a.duration_ns) for a in acts]) for acts in traced.invocations)


def busy_ns(intervals: list[tuple[int, int]]) -> int:
    """Length of the union of ``(start, end)`` intervals."""
    total, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            total += end - start
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total
