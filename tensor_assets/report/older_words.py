"""What earlier adapters wrote into records, told so that it does not contradict a page that counts otherwise.

Records are evidence and keep their words. These are known by forms that no adapter writes any more: a device activity
numbered from 0 ("in launch 1", "in kernel 1", "CUDA of kernel 1"), and MAX's count of a routine's activities without
their kinds, which left memsets out.
"""

from __future__ import annotations

import re

import msgspec
from tensor_worker.activities import activity
from tensor_worker.artifacts import Decision, Plan, Stage

_ROUNDED_IN = re.compile(r"in (?:launch|kernel) (\d+)\b")
_TITLE = re.compile(r"(CUDA|C|PTX|SASS|Assembly) of kernel (\d+)\b")
_COUNTED = re.compile(r"one routine, (\d+) device activities")


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A decision as a page tells it: ``result`` instead of the record's words ``recorded``, where that is not empty."""

    decision: Decision
    result: str
    recorded: str = ""
    beside: str = ""  # what the result does not say of itself


def told_decisions(decisions: tuple[Decision, ...], plan: Plan) -> list[Told]:
    return [_told(decision, plan) for decision in decisions]


def told_stage(stage: Stage) -> Stage:
    """With its activity numbered from 1 in its title."""
    found = _TITLE.match(stage.title)
    if found is None:
        return stage
    title = f"{found[1]} of {activity(int(found[2]))}{stage.title[found.end() :]}"
    return msgspec.structs.replace(stage, title=title)


def _told(decision: Decision, plan: Plan) -> Told:
    if found := _rounded_in(decision, plan):
        result = f"in {activity(int(found[1]))}{decision.result[found.end() :]}"
        return Told(decision=decision, result=result, recorded=found[0])
    beside = "that compute, memsets not counted" if _leaves_memsets_out(decision, plan) else ""
    return Told(decision=decision, result=decision.result, beside=beside)


def _rounded_in(decision: Decision, plan: Plan) -> re.Match[str] | None:
    """Where the record places a rounding by a number that counts from 0, as the plan's own, which it must equal."""
    found = _ROUNDED_IN.match(decision.result)
    placed = {(f"rounding of {rounding.boundary}", rounding.launch) for rounding in plan.roundings}
    return found if found and (decision.subject, int(found[1])) in placed else None


def _leaves_memsets_out(decision: Decision, plan: Plan) -> bool:
    found = _COUNTED.fullmatch(decision.result)
    ops = set(decision.subject.removeprefix("fusion of ").split(", "))
    computing = [launch for launch in plan.launches if ops & set(launch.computes)]
    cleared = any(launch.kind == "memset" for launch in plan.launches)
    return bool(found and cleared and int(found[1]) == len(computing))
