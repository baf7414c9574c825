"""The plan: launches as ``call`` makes them, the buffers between them, where boundaries are rounded."""

from __future__ import annotations

from collections.abc import Iterator

from tensor_worker.artifacts import Buffer, Launch, Plan
from tensor_worker.messages import Activity
from tensor_worker.normalize import code_sha256
from tensor_worker.program import Program

from .evidence import Evidence
from .observed import align, as_parameters
from .output_code import Allocation, Call
from .roundings import roundings
from .stage_text import OUTPUT_CODE, kernel_stage


def plan_launches(evidence: Evidence) -> Plan:
    calls = evidence.output.calls
    rounded, notes = roundings(evidence)
    aligned = align([call.kernel.name if call.kernel else None for call in calls], evidence.observed)
    shown = aligned or [()] * len(calls)
    launches = tuple(
        _launch(evidence, call, ops, activities)
        for call, ops, activities in zip(calls, evidence.computed, shown, strict=True)
    )
    reuse = (f"{a.name} takes over the memory of {a.reuses}" for a in evidence.output.allocations.values() if a.reuses)
    return Plan(launches=launches, buffers=_buffers(evidence), roundings=rounded, notes=(*notes, *reuse))


def _launch(evidence: Evidence, call: Call, ops: tuple[str, ...], activities: tuple[Activity, ...]) -> Launch:
    """What was traced is shown among the parameters only: a fingerprint must not depend on whether it could be."""
    if call.kernel is None:
        return Launch(
            kind="library",
            name=call.name,
            computes=ops,
            code_sha256=code_sha256(f"{call.text} {_shapes(evidence, call)}", "python"),
            stage=OUTPUT_CODE,
            parameters={"call": call.text, "shapes": _shapes(evidence, call), **as_parameters(activities)},
        )
    if call.kernel.language == "python":
        from .triton_kernels import triton_launch

        return triton_launch(call, ops)
    return Launch(
        kind="kernel",
        name=call.name,
        computes=ops,
        code_sha256=code_sha256(call.kernel.text, "cpp"),
        stage=kernel_stage(call.name),
        parameters={"parallel": "#pragma omp parallel" in call.kernel.text},
    )


def _buffers(evidence: Evidence) -> tuple[Buffer, ...]:
    """Inputs by the program's names, then Inductor's own buffers; a reused buffer appears under both its names."""
    output = evidence.output
    inputs = [
        Buffer(
            name=name, role="input", bytes=value_bytes(evidence.program, name), last=_last_read(output.calls, argument)
        )
        for argument in output.arguments
        if (name := evidence.input_name(argument)) is not None
    ]
    return (*inputs, *(_buffer(evidence, allocation) for allocation in output.allocations.values()))


def _buffer(evidence: Evidence, allocation: Allocation) -> Buffer:
    name, calls = allocation.name, evidence.output.calls
    first = next((index for index, call in enumerate(calls) if name in call.writes), None)
    later = [index for index, call in enumerate(calls) if name in call.reads and (first is None or index > first)]
    return Buffer(
        name=name,
        role="output" if name in evidence.output.returned else "intermediate",
        bytes=allocation.bytes,
        first=first,
        last=max([*later, *_updates(evidence, name)], default=None),
    )


def _updates(evidence: Evidence, name: str) -> Iterator[int]:
    """A kernel that updates in place reads the old buffer under the new buffer's name."""
    for heir in (a.name for a in evidence.output.allocations.values() if a.reuses == name):
        for index, call in enumerate(evidence.output.calls):
            if heir in call.writes:
                yield from [index] if heir in call.reads else []
                break


def _last_read(calls: tuple[Call, ...], name: str) -> int | None:
    return max((index for index, call in enumerate(calls) if name in call.reads), default=None)


def _shapes(evidence: Evidence, call: Call) -> str:
    """Of a library call's operands: the call names buffers only."""
    found = []
    for name in (*call.reads, *call.writes):
        allocation, value = evidence.output.allocations.get(name), evidence.input_name(name)
        shape = allocation.shape if allocation else evidence.program.value(value).shape if value else None
        found.append("?" if shape is None else "x".join(map(str, shape)))
    return " ".join(found)


def value_bytes(program: Program, name: str) -> int:
    value, count = program.value(name), 1
    for size in value.shape:
        count *= size
    return count * (2 if value.dtype == "f16" else 4)
