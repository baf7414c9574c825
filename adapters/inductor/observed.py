"""What the device was seen to do in one invocation: the only place where a library's own kernel shows."""

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


def align(launches: Sequence[str | None], activities: Sequence[Activity]) -> list[tuple[Activity, ...]] | None:
    """The activities of each launch, in order. ``launches`` names generated kernels; None is a library call.

    Between two generated kernels, as many library calls as activities have one each; a single call has them all.
    Otherwise, or where a generated kernel does not show, there is no telling: None.
    """
    found: list[tuple[Activity, ...]] = []
    start = index = 0
    while index < len(launches):
        library = 0
        while index + library < len(launches) and launches[index + library] is None:
            library += 1
        index += library
        wanted = launches[index] if index < len(launches) else None
        end = _position(activities, start, wanted)
        shared = _share(library, activities[start:end]) if end is not None else None
        if end is None or shared is None:
            return None
        found.extend(shared)
        if wanted is not None:
            found.append((activities[end],))
            index, end = index + 1, end + 1
        start = end
    return found if start == len(activities) else None


def as_parameters(activities: Sequence[Activity]) -> Parameters:
    """Of a library call: its own kernels as the driver named and launched them."""
    shown: Parameters = {}
    for number, activity in enumerate(activities):
        prefix = "device kernel" if number == 0 else f"device kernel {number + 1}"
        shown[prefix] = activity.name
        if activity.kind == "kernel":
            shown[f"{prefix} grid"] = "x".join(map(str, activity.grid))
            shown[f"{prefix} block"] = "x".join(map(str, activity.block))
            shown[f"{prefix} registers"] = activity.registers
            shown[f"{prefix} shared bytes"] = activity.shared_bytes
    return shown


def _position(activities: Sequence[Activity], start: int, name: str | None) -> int | None:
    """Where the kernel called ``name`` is, from ``start`` on; the end for None."""
    if name is None:
        return len(activities)
    return next((i for i in range(start, len(activities)) if activities[i].name == name), None)


def _share(calls: int, activities: Sequence[Activity]) -> list[tuple[Activity, ...]] | None:
    if calls == len(activities):
        return [(activity,) for activity in activities]
    return [tuple(activities)] if calls == 1 else None
