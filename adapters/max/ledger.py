"""MAX's consequential transformations, drafted from what its stages show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tensor_worker.artifacts import Correspondence, Decision, Launch, Plan
from tensor_worker.program import Op, Program

from .routines import Invocation, Routine

_NO_NAME = "MAX names no pass in its dumps; the change stands between the two stages"


@dataclass(frozen=True)
class Case:
    """What the ledger is drafted from."""

    program: Program
    invocation: Invocation
    plan: Plan
    texts: dict[str, str]
    correspondences: tuple[Correspondence, ...]
    gpu: bool
    sources: dict[str, str]  # library kernel → where its source declares it
    owners: tuple[int | None, ...]  # of each activity, its routine

    def where(self, stage: str, op: str) -> str:
        """``stage:first-last`` around everything that stands for the op there; the stage alone where nothing does."""
        runs = [found.lines for found in self.correspondences if (found.stage, found.program_op) == (stage, op)]
        return f"{stage}:{min(run[0] for run in runs)}-{max(run[1] for run in runs)}" if runs else stage

    def lines(self, stage: str, op: str) -> list[str]:
        text = self.texts[stage].splitlines()
        runs = [found.lines for found in self.correspondences if (found.stage, found.program_op) == (stage, op)]
        return [text[number - 1] for first, last in runs for number in range(first, last + 1)]

    def consumers(self, name: str) -> list[Op]:
        return [op for op in self.program.ops if name in op.of]

    def activities(self, routine: int) -> list[Launch]:
        return [launch for launch, owner in zip(self.plan.launches, self.owners, strict=True) if owner == routine]


def decisions(case: Case) -> Iterator[Decision]:
    for op in case.program.ops:
        if op.op == "transpose":
            yield _transpose(case, op)
        elif op.op == "matmul":
            yield _contraction(case, op)
        elif op.op == "div":
            yield from _reciprocal(case, op)
    yield from _fusions(case)
    yield from _recomputed(case)
    yield from _roundings(case)


def _transpose(case: Case, op: Op) -> Decision:
    kept = any("transpose(" in line for line in case.lines("mo", op.name))
    marks = [
        line for user in case.consumers(op.name) for line in case.lines("mo", user.name) if "#mo.layout<NK>" in line
    ]
    absorbed = bool(marks) and not kept
    user = case.consumers(op.name)[0].name if case.consumers(op.name) else op.name
    return Decision(
        subject=f"transpose {op.name}",
        result="absorbed: the operand keeps its storage and is marked layout NK"
        if absorbed
        else "kept as an operation",
        before=case.where("semantic", op.name),
        after=case.where("mo", user if absorbed else op.name),
        mechanism=_NO_NAME,
        preconditions=("the transpose has no other use than the right operand of a matmul",) if absorbed else (),
        fixes="the kernel is called with transpose_b = true; no transposed copy is stored" if absorbed else "",
        leaves_open="how the kernel walks the operand: its parameters and packing",
        confirmed_by=_transpose_confirmation(case, absorbed),
    )


def _transpose_confirmation(case: Case, absorbed: bool) -> str:
    parameters = [launch.parameters.get("transpose_b") for launch in case.plan.launches]
    if absorbed and (True in parameters or case.gpu):
        return "mgp: the kernel call has transpose_b = true, and no activity of the plan writes a transposed copy"
    return ""


def _contraction(case: Case, op: Op) -> Decision:
    routine = _computing(case, op.name)
    launch = next((launch for launch in case.plan.launches if op.name in launch.computes), None)
    library = launch is not None and launch.kind == "library"
    result = _carried_out(launch, routine)
    code = f"multiply-adds in the code: {launch.instruction}" if launch and launch.instruction else ""
    return Decision(
        subject=f"contraction {op.name}",
        result=f"kept as one matmul, {result}",
        before=case.where("mo", op.name),
        after=f"mgp:{routine.body[0]}-{routine.body[1]}" if routine else "mgp",
        mechanism=f"kernel registered for mo.matmul: {_source(case, routine.kernel)}" if routine else "",
        fixes=_fixed(case, launch),
        leaves_open="which kernel of the library runs, at what geometry" if library else "",
        confirmed_by=code or ("the launch trace" if launch and launch.grid else ""),
    )


def _carried_out(launch: Launch | None, routine: Routine | None) -> str:
    if launch is None:
        return "nothing seen that computes it"
    if launch.kind == "library":
        return f"cuBLAS ({launch.name})"
    return f"generated from {routine.kernel}" if routine else "?"


def _fixed(case: Case, launch: Launch | None) -> str:
    if launch is None:
        return ""
    if launch.kind == "library":
        return "library or generated code"
    if case.gpu:
        return "the Mojo kernel, compiled for the GPU"
    return "the Mojo kernel; its tiles follow from the CPU's vector width"


def _reciprocal(case: Case, op: Op) -> Iterator[Decision]:
    lines = case.lines("mo", op.name)
    if any("mo.mul(" in line for line in lines) and any("mo.div(" in line for line in lines):
        yield Decision(
            subject=f"division {op.name}",
            result="one reciprocal for each row, then a multiplication for each element",
            before=case.where("semantic", op.name),
            after=case.where("mo", op.name),
            mechanism=_NO_NAME,
            preconditions=("the divisor is broadcast along the divided axis",),
            fixes="two FP32 roundings (reciprocal, product) where the program has one",
            leaves_open="the FP16 result differs only where FP32 is that close to a tie",
        )


def _fusions(case: Case) -> Iterator[Decision]:
    for index, routine in enumerate(case.invocation.routines):
        if len(routine.computes) < 2:
            continue
        kinds = [launch.kind for launch in case.activities(index)]
        apart = case.gpu and len(kinds) > 1
        carried_out = f"{len(kinds)} device activities: {', '.join(kinds)}" if apart else "one call of generated code"
        yield Decision(
            subject=f"fusion of {', '.join(routine.computes)}",
            result=f"one routine, {carried_out}",
            before=case.where("mapped", routine.computes[0]),
            after=case.where("fused", routine.computes[0]),
            mechanism=f"#mogg.fusion ({' + '.join(routine.kinds)}) of {', '.join(leaf.op for leaf in routine.leaves)}",
            preconditions=("one use, or recomputed in every routine that reads it",) if routine.kinds else (),
            fixes="what shares a routine, and through it a dispatch",
            leaves_open="whether the routine launches one kernel or several" if case.gpu and not apart else "",
            confirmed_by=f"mgp: dispatch {index + 1} of {len(case.invocation.routines)} calls @{routine.name}",
        )


def _recomputed(case: Case) -> Iterator[Decision]:
    for op in case.program.ops:
        holding = {routine.name: _arithmetic(routine, op.name) for routine in case.invocation.routines}
        repeated = [name for name, ops in holding.items() if any(ops & others for others in _others(holding, name))]
        if repeated:
            yield Decision(
                subject=f"storage of {op.name}",
                result=f"not stored: recomputed in {len(repeated)} routines",
                before=case.where("mapped", op.name),
                after=case.where("fused", op.name),
                mechanism="#mogg.fusion duplicates an elementwise producer into its consumers",
                fixes="no buffer for it",
                confirmed_by=f"mgp: {', '.join('@' + name for name in repeated)} hold the same operation",
            )


def _arithmetic(routine: Routine, name: str) -> set[str]:
    """MO operations of the op in the routine; what broadcasts, reshapes or widens computes nothing of it."""
    own = {leaf.op for leaf in routine.leaves if name in leaf.program_ops}
    return {op for op in own if not re.search(r"broadcast_to|reshape|cast$", op)}


def _others(holding: dict[str, set[str]], name: str) -> list[set[str]]:
    return [ops for other, ops in holding.items() if other != name]


def _roundings(case: Case) -> Iterator[Decision]:
    for rounding in case.plan.roundings:
        if case.program.value(rounding.boundary) in case.program.ops:
            yield Decision(
                subject=f"rounding of {rounding.boundary}",
                result="rounded to FP16 before the next op reads it",
                before=case.where("mo", rounding.boundary),
                after=_line(rounding.evidence),
                mechanism="MAX's operations are typed: the result type of the op is f16",
                confirmed_by=rounding.evidence,
            )


def _source(case: Case, kernel: str) -> str:
    return f"{kernel} ({case.sources[kernel]})" if kernel in case.sources else kernel


def _line(evidence: str) -> str:
    """The line that the evidence names; it is the after of its decision."""
    found = re.search(r"\((mgp:\d+)\)", evidence)
    return found[1] if found else "mgp"


def _computing(case: Case, name: str) -> Routine | None:
    """The routine that holds the op's matmul."""
    for routine in case.invocation.routines:
        if any(leaf.contracts and name in leaf.program_ops for leaf in routine.leaves):
            return routine
    return None
