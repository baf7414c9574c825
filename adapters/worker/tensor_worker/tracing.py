"""Device activities of an invocation: kernels, memsets and copies, as the driver records them through CUPTI.

Written for cupti-python 13.0 (its major and minor version must not be newer than the driver's CUDA); it is imported in
this file only, and when it is asked for, so that workers without a GPU never need it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import msgspec

from tensor_worker.adapter import Implementation, Unavailable
from tensor_worker.messages import Activity, Traced
from tensor_worker.ranges import is_watched, mark_invocations

FOLDER_VARIABLE = "TENSOR_WORKER_CUPTI"  # a site-packages folder with cupti-python, where the environment has none
_REMEDY = "install cupti-python==13.0.1 (or the one of your driver's CUDA) into the compiler's environment"
_BUFFER_BYTES = 8 * 1024 * 1024
_recorder: Recorder | None = None


def trace_invocations(implementation: Implementation, invocations: int) -> Traced:
    """Activities of ``invocations``, each waited for, after one that is not recorded (CUPTI's own first-use costs).

    Where a profiler watches from outside, it gets the marks and the reply is empty. Raises Unavailable without a GPU,
    without cupti-python, or where the driver refuses to trace.
    """
    if implementation.device == "cpu":
        raise Unavailable("device activities are traced on GPUs only; on the CPU there are none to record")
    if is_watched():
        return mark_invocations(implementation, invocations)
    recorder = _the_recorder()
    with recorder:
        _invoke(implementation)
        recorder.take()
        recorded = []
        for _ in range(invocations):
            _invoke(implementation)
            recorded.append(recorder.take())
        return Traced(invocations=tuple(recorded), dropped=recorder.dropped())


def load_cupti() -> Any:
    """CUPTI for Python, from the environment or the folder that is named for it. Raises Unavailable."""
    # Last on the path: what the compiler brought itself stays what it imports.
    sys.path += [folder for folder in [os.environ.get(FOLDER_VARIABLE)] if folder and folder not in sys.path]
    try:
        from cupti import cupti
    except ImportError as error:
        raise Unavailable(f"no device trace: cupti-python cannot be imported ({error})", _REMEDY) from error
    return cupti


def _invoke(implementation: Implementation) -> None:
    implementation.invoke()
    implementation.wait()


def _the_recorder() -> Recorder:
    """One per process: CUPTI keeps the callbacks it was given first."""
    global _recorder
    if _recorder is None:
        _recorder = Recorder(load_cupti())
    return _recorder


class Recorder:
    """Collects activity records between ``with`` and its end."""

    def __init__(self, cupti: Any) -> None:
        self._cupti = cupti
        self._kinds = (cupti.ActivityKind.CONCURRENT_KERNEL, cupti.ActivityKind.MEMSET, cupti.ActivityKind.MEMCPY)
        self._records: list[tuple[int, Activity]] = []
        # The functions must outlive this call, or CUPTI calls freed memory.
        self._requested, self._completed = lambda: (_BUFFER_BYTES, 0), self._keep
        self._checked(cupti.activity_register_callbacks, self._requested, self._completed)

    def __enter__(self) -> Recorder:
        for kind in self._kinds:
            self._checked(self._cupti.activity_enable, kind)
        return self

    def __exit__(self, *exception: object) -> None:
        for kind in self._kinds:
            self._checked(self._cupti.activity_disable, kind)
        self._checked(self._cupti.activity_flush_all, 1)
        self._records.clear()

    def take(self) -> tuple[Activity, ...]:
        """What was recorded since the last call, by start time; times count from the first activity's start."""
        self._checked(self._cupti.activity_flush_all, 1)
        records, self._records = sorted(self._records, key=lambda record: record[0]), []
        origin = records[0][0] if records else 0
        return tuple(_shifted(activity, start - origin) for start, activity in records)

    def dropped(self) -> int:
        """Records that found no buffer, over all contexts."""
        count = ctypes.c_size_t(0)
        self._checked(self._cupti.activity_get_num_dropped_records, 0, 0, ctypes.addressof(count))
        return count.value

    def _keep(self, activities: list[Any]) -> None:
        kinds = self._cupti.ActivityKind
        for record in activities:
            if record.kind in (kinds.CONCURRENT_KERNEL, kinds.KERNEL):
                self._records.append((record.start, _kernel(record)))
            elif record.kind == kinds.MEMSET:
                self._records.append((record.start, _transfer(record, "memset")))
            elif record.kind == kinds.MEMCPY:
                self._records.append((record.start, _transfer(record, "memcpy")))

    def _checked(self, call: Any, *arguments: Any) -> None:
        try:
            call(*arguments)
        except (self._cupti.cuptiError, RuntimeError) as error:  # RuntimeError: no driver at all
            raise Unavailable(f"no device trace: CUPTI refused {call.__name__} ({error})", _REMEDY) from error


def _kernel(record: Any) -> Activity:
    return Activity(
        kind="kernel",
        name=record.name,
        grid=(record.grid_x, record.grid_y, record.grid_z),
        block=(record.block_x, record.block_y, record.block_z),
        registers=record.registers_per_thread,
        shared_bytes=record.static_shared_memory + record.dynamic_shared_memory,
        duration_ns=record.end - record.start,
        graph_node=record.graph_node_id,
    )


def _transfer(record: Any, kind: Any) -> Activity:
    return Activity(
        kind=kind,
        name=kind if kind == "memset" else f"memcpy kind {record.copy_kind}",
        bytes=record.bytes,
        duration_ns=record.end - record.start,
        graph_node=record.graph_node_id,
    )


def _shifted(activity: Activity, start_ns: int) -> Activity:
    return msgspec.structs.replace(activity, start_ns=start_ns)
