"""What the files of a bundle must agree on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .egraph import EGraph
from .errors import BundleError
from .logical import Binding
from .schema import Manifest, PlanCandidate, SelectedPlan, Step


def check_lets(manifest: Manifest, logical: Sequence[Binding]) -> None:
    """Names of the logical program are mapped to values that the program has."""
    bound = {binding.name for binding in logical}
    values = {value.name for value in manifest.program.values()}
    for name, value in manifest.lets.items():
        if name not in bound:
            raise BundleError("manifest.json", f"logical.egg binds no {name!r}", f"lets/{name}")
        if value not in values:
            raise BundleError("manifest.json", f"{value!r} is no value of {manifest.program.workload}", f"lets/{name}")


def check_cohort(manifest: Manifest, logical: Sequence[Binding]) -> None:
    """The cohort says whether inputs are widened to FP32: the logical program shows it."""
    inputs = {binding.name for binding in logical if not binding.operands}
    views = _reached_through_views(logical, inputs)
    widened = [binding for binding in logical if _widens(binding) and set(binding.operands) <= views]
    if manifest.cohort == "native" and widened:
        place = f"line {widened[0].lines[0]}"
        raise BundleError("logical.egg", f"{widened[0].name} widens an operand, but the cohort is native", place)
    if manifest.cohort == "widened" and not widened:
        raise BundleError("logical.egg", "nothing is cast to F32, but the cohort is widened")


def _widens(binding: Binding) -> bool:
    return "cast" in binding.op.lower() and "F32" in binding.literals


def _reached_through_views(logical: Sequence[Binding], inputs: set[str]) -> set[str]:
    """Inputs, and what rearranges one of them without a cast: transposes, broadcasts, index maps."""
    reached = set(inputs)
    for binding in logical:
        if len(binding.operands) == 1 and binding.operands[0] in reached and "cast" not in binding.op.lower():
            reached.add(binding.name)
    return reached


def check_egraph(manifest: Manifest, egraph: EGraph) -> None:
    """What egglog left out must be said."""
    if egraph.omitted and not manifest.truncation.egraph:
        raise BundleError(
            "manifest.json", f"egraph.json leaves things out ({egraph.omitted[0]}), but nothing says so", "truncation"
        )


def check_candidates(candidates: Sequence[PlanCandidate]) -> None:
    names: set[str] = set()
    for candidate in candidates:
        if candidate.name in names:
            raise BundleError("candidates.jsonl", "two candidates have this name", candidate.name)
        names.add(candidate.name)
        if candidate.chosen and candidate.refused:
            raise BundleError("candidates.jsonl", "it is both chosen and refused", candidate.name)
        if not candidate.chosen and not candidate.refused and candidate.measured_ns is None:
            raise BundleError("candidates.jsonl", "not chosen, and neither a reason nor a time", candidate.name)
    if sum(candidate.chosen for candidate in candidates) != 1:
        raise BundleError("candidates.jsonl", "exactly one candidate is the chosen one")


def check_plan(manifest: Manifest, plan: SelectedPlan, kernels: Mapping[str, str]) -> None:
    ops = {op.name for op in manifest.program.ops}
    for index, step in enumerate(plan.steps):
        _check_step(step, f"steps/{index}", ops, kernels)
    unused = kernels.keys() - {step.source for step in plan.steps}
    if unused:
        raise BundleError("plan.json", f"no step uses {min(unused)}", "steps")
    _check_indices(plan)
    for index, rounding in enumerate(plan.roundings):
        if rounding.boundary not in ops:
            raise BundleError("plan.json", f"{rounding.boundary!r} is no op of the program", f"roundings/{index}")


def _check_step(step: Step, place: str, ops: Iterable[str], kernels: Mapping[str, str]) -> None:
    unknown = [name for name in step.computes if name not in ops]
    if unknown:
        raise BundleError("plan.json", f"{unknown[0]!r} is no op of the program", f"{place}/computes")
    if step.kind == "kernel" and not step.source:
        raise BundleError("plan.json", "a generated kernel has a source; a library's is of kind library", place)
    if step.source and step.source not in kernels:
        raise BundleError("plan.json", f"the bundle has no {step.source}", f"{place}/source")


def _check_indices(plan: SelectedPlan) -> None:
    last = len(plan.steps) - 1
    for index, buffer in enumerate(plan.buffers):
        for position in (buffer.first, buffer.last):
            if position is not None and position > last:
                raise BundleError("plan.json", f"there is no step {position}", f"buffers/{index}")
    for index, rounding in enumerate(plan.roundings):
        if rounding.launch > last:
            raise BundleError("plan.json", f"there is no step {rounding.launch}", f"roundings/{index}")
