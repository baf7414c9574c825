"""What the device was seen to do in one invocation: the only place where PyTorch's own kernels show."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_worker.adapter import Implementation, Unavailable
from tensor_worker.messages import Activity
from tensor_worker.tracing import trace_invocations

Parameters = dict[str, str | int | float | bool]


def observe(implementation: Implementation) -> tuple[Activity, ...]:
    """Activities of one invocation; nothing where this process cannot trace."""
    try:
        traced = trace_invocations(implementation, 1)
    except Unavailable:
        return ()
    return traced.invocations[0] if traced.invocations else ()


def by_launch(launches: int, activities: Sequence[Activity]) -> list[Parameters]:
    """Parameters of each launch where there are as many activities as operators; else there is no telling."""
    if len(activities) != launches:
        return [{} for _ in range(launches)]
    return [_parameters(activity) for activity in activities]


def _parameters(activity: Activity) -> Parameters:
    shown: Parameters = {"device kernel": activity.name}
    if activity.kind == "kernel":
        shown["device kernel grid"] = "x".join(map(str, activity.grid))
        shown["device kernel block"] = "x".join(map(str, activity.block))
        shown["device kernel registers"] = activity.registers
        shown["device kernel shared bytes"] = activity.shared_bytes
    return shown
