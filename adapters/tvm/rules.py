"""Which DLight rule scheduled each function, which declined, and whether its trace replays to the same module."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import tvm_ffi
from tvm import IRModule, s_tir, tirx
from tvm.ir import load_json, save_json
from tvm.s_tir.dlight.base import transform as dlight
from tvm.target import Target


@dataclass(frozen=True)
class Scheduled:
    """What DLight did with one function."""

    function: str
    declined: tuple[str, ...]  # rules that returned nothing, in the order they were asked
    rule: str  # the rule that answered; empty where all declined
    before: tirx.PrimFunc
    schedule: s_tir.Schedule | None

    @property
    def trace(self) -> str:
        return "" if self.schedule is None else str(self.schedule.trace)

    @property
    def intrinsics(self) -> tuple[str, ...]:
        """The tensor intrinsics that the schedule put in, each once, in order."""
        return tuple(dict.fromkeys(re.findall(r'tensor_intrin="(\w+)"', self.trace)))

    @property
    def splits(self) -> tuple[str, ...]:
        """The factors of every split of a loop, in order, e.g. ``None, 8, 2``."""
        return tuple(re.findall(r"factors=\[([^\]]*)\]", self.trace))


def named(found: list[Scheduled], module: IRModule) -> tuple[Scheduled, ...]:
    """With the names that the functions have in ``module``, the one that DLight was given, in that module's order."""
    names = [(str(variable.name_hint), function) for variable, function in module.functions_items()]
    return tuple(
        replace(one, function=name) for name, function in names for one in found if function.same_as(one.before)
    )


def trace_json(scheduled: Scheduled) -> str:
    """The trace as text that TVM reads back; empty where nothing was scheduled."""
    return "" if scheduled.schedule is None else str(save_json(scheduled.schedule.trace.as_json()))


@dataclass(frozen=True)
class Replay:
    """A trace applied again, from memory and from its JSON text, to the function it started from."""

    function: str
    instructions: int
    equal: bool
    equal_from_json: bool


@contextmanager
def recorded_rules() -> Iterator[list[Scheduled]]:
    """While open, note what every rule of ``ApplyDefaultSchedule`` says: DLight passes over a refusal silently."""
    found: list[Scheduled] = []
    original = dlight._apply_rules

    def apply_rules(function: tirx.PrimFunc, target: Target, rules: list[Any], tunable: bool) -> Any:
        declined: list[str] = []
        for rule in rules:
            space = rule.apply(function, target, tunable)
            if space is not None:
                schedules = [space] if isinstance(space, s_tir.Schedule) else space
                found.append(Scheduled("", tuple(declined), _name(rule), function, schedules[0]))
                return schedules
            declined.append(_name(rule))
        found.append(Scheduled("", tuple(declined), "", function, None))
        return None

    dlight._apply_rules = apply_rules
    try:
        yield found
    finally:
        dlight._apply_rules = original


def replay(scheduled: Scheduled) -> Replay | None:
    """Apply the trace to the unscheduled function again; None where nothing was scheduled."""
    if scheduled.schedule is None:
        return None
    trace, wanted = scheduled.schedule.trace, scheduled.schedule.mod["main"]
    again = s_tir.Schedule(scheduled.before)
    trace.apply_to_schedule(again, remove_postproc=False)
    from_json = s_tir.Schedule(scheduled.before)
    s_tir.schedule.Trace.apply_json_to_schedule(load_json(trace_json(scheduled)), from_json)
    return Replay(
        function=scheduled.function,
        instructions=len(trace.insts),
        equal=bool(tvm_ffi.structural_equal(again.mod["main"], wanted)),
        equal_from_json=bool(tvm_ffi.structural_equal(from_json.mod["main"], wanted)),
    )


def _name(rule: Any) -> str:
    return type(getattr(rule, "_inst", rule)).__name__
