"""Memory of one invocation, by the activities that use it: narrower than recorded where the values computed tell more.

A compiler may know memory by the routine alone, and a routine may be several activities: MAX's product with a bias is a
memset, a library call and a kernel. Every one of them is then recorded with all of the routine's memory. What each
computes is known, though, and which ops of the program read an input is, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tensor_worker.artifacts import Buffer, Plan
from tensor_worker.program import Program


class Use(NamedTuple):
    """Positions among the launches, from 0. ``narrowed``: the recorded range was of more activities."""

    buffer: Buffer
    first: int | None
    last: int | None
    narrowed: bool
    beyond: tuple[int, ...]  # launches that compute from this input, though recorded to be read no more by then


def memory_uses(plan: Plan, program: Program | None) -> list[Use]:
    """One for each buffer of the plan, in its order. Without a program, or with buffers of other names, as recorded."""
    return [_use(buffer, plan, program) for buffer in plan.buffers]


def _use(buffer: Buffer, plan: Plan, program: Program | None) -> Use:
    readers = _launches(plan, _readers(program, buffer.name, plan)) if program and buffer.role == "input" else []
    writers = _launches(plan, [buffer.name]) if program and buffer.role == "output" else []
    first = _later(buffer.first, writers)
    last = _earlier(buffer.last, readers)
    beyond = tuple(launch for launch in readers if buffer.last is not None and launch > buffer.last)
    return Use(buffer, first, last, (first, last) != (buffer.first, buffer.last), beyond)


def _earlier(last: int | None, launches: Sequence[int]) -> int | None:
    """The last of ``launches`` up to ``last``; ``last`` itself where there is none."""
    return None if last is None else max((launch for launch in launches if launch <= last), default=last)


def _later(first: int | None, launches: Sequence[int]) -> int | None:
    return None if first is None else min((launch for launch in launches if launch >= first), default=first)


def _launches(plan: Plan, ops: Sequence[str]) -> list[int]:
    return [position for position, launch in enumerate(plan.launches) if set(launch.computes) & set(ops)]


def _readers(program: Program, value: str, plan: Plan) -> list[str]:
    return list(dict.fromkeys(_reading(program, value, {op for launch in plan.launches for op in launch.computes})))


def _reading(program: Program, value: str, computed: set[str]) -> Iterator[str]:
    """Ops that read ``value``; behind one that nothing computes, as a view, the ops that read that one."""
    for op in program.ops:
        if value in op.of:
            if op.name in computed:
                yield op.name
            else:
                yield from _reading(program, op.name, computed)
