"""The time below which no execution of a program is possible on a device: a shorter sample is a measuring error."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tensor_worker.messages import Cache
from tensor_worker.program import Op, Program

from tensor_assets.records import Allocation
from tensor_assets.sessions.ceilings import Ceilings, ceilings_of, host_ceilings

BYTES = {"f16": 2, "f32": 4}


class Work(NamedTuple):
    """What every execution of a program must do at least."""

    flops: int  # of its contractions, multiply and add apart
    read: int  # bytes of the inputs it uses, each once
    written: int  # bytes of its outputs, each once


class Floor(NamedTuple):
    ns: float
    limit: str  # which ceiling it is, with its source


def work_of(program: Program) -> Work:
    """Least arithmetic and traffic of one invocation; intermediates may stay on chip, so they count nothing."""
    used = {name for op in program.ops for name in op.of} | set(program.outputs)
    return Work(
        flops=sum(_flops(program, op) for op in program.ops if op.op == "matmul"),
        read=sum(_bytes(value.shape, value.dtype) for value in program.inputs if value.name in used),
        written=sum(_bytes(program.value(name).shape, program.value(name).dtype) for name in program.outputs),
    )


def floor_of(program: Program, allocation: Allocation, cache: Cache = "warm") -> Floor | None:
    """The program's floor on the allocation's device; None where its ceilings are not declared."""
    ceilings = ceilings_of(allocation.device) if allocation.device_uuid else host_ceilings(allocation.device)
    return floor_under(work_of(program), ceilings, cache) if ceilings else None


def floor_under(work: Work, ceilings: Ceilings, cache: Cache) -> Floor:
    """The largest of: arithmetic at full rate, all traffic at the nearest level, what must come from the farthest."""
    near, far = ceilings.nearest, ceilings.farthest
    floors = [
        Floor(work.flops / ceilings.flops_per_second * 1e9, f"compute: {ceilings.flops_source}"),
        Floor((work.read + work.written) / near.bytes_per_second * 1e9, f"{near.name}: {near.source}"),
    ]
    if far:
        floors.append(
            Floor(_far_bytes(work, ceilings, cache) / far.bytes_per_second * 1e9, f"{far.name}: {far.source}")
        )
    return max(floors)


def _far_bytes(work: Work, ceilings: Ceilings, cache: Cache) -> int:
    """A flushed cache holds none of the inputs; a warm one at most as much of everything as fits."""
    if cache == "cold":
        return work.read
    cached = sum(level.capacity or 0 for level in ceilings.levels)
    return max(0, work.read + work.written - cached)


def _flops(program: Program, op: Op) -> int:
    depth = program.value(str(op.of[0])).shape[-1]
    return 2 * prod(op.shape) * depth


def _bytes(shape: tuple[int, ...], dtype: str) -> int:
    return prod(shape) * BYTES[dtype]
