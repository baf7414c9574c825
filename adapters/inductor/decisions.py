"""The ledger of consequential transformations, drafted from what Inductor left behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensor_worker.activities import activity
from tensor_worker.artifacts import Decision
from tensor_worker.program import Op

from .correspondences import scheduler_nodes, traced_lines
from .evidence import Evidence
from .output_code import Call
from .recording import FxNode
from .roundings import boundaries, roundings
from .stage_text import OUTPUT_CODE, StageText, kernel_stage
from .triton_kernels import is_template

_ELEMENTWISE = ("add", "sub", "mul", "div", "relu", "exp", "square", "rsqrt")


def decisions(evidence: Evidence, texts: Mapping[str, StageText]) -> tuple[Decision, ...]:
    calls = list(zip(evidence.output.calls, evidence.computed, strict=True))
    return (
        *_transposes(evidence, texts, calls),
        *_contractions(evidence, texts, calls),
        *_epilogues(evidence, texts, calls),
        *_roundings(evidence, texts, calls),
        *_reused_buffers(evidence),
    )


Computed = list[tuple[Call, tuple[str, ...]]]


def _transposes(evidence: Evidence, texts: Mapping[str, StageText], calls: Computed) -> Iterator[Decision]:
    for op in _ops(evidence, "transpose"):
        own = [call for call, names in calls if names == (op.name,)]
        taking = [call for call, names in calls if op.name in names and call not in own]
        view = next((n for n in _nodes(evidence, op) if n.target.split(".")[-2:-1] in (["permute"], ["t"])), None)
        strides = f", strides {view.stride}" if view else ""
        yield Decision(
            subject=f"transpose {op.name}",
            result="stored by a kernel of its own" if own else f"a view{strides}: no kernel, no copy",
            before=_at(evidence, texts, "dynamo", op),
            after=f"{OUTPUT_CODE}:{(own or taking)[0].line}" if own or taking else OUTPUT_CODE,
            mechanism="lowering of aten.permute to ir.PermuteView (torch/_inductor/lowering.py)",
            preconditions=("the input is dense and row-major",),
            fixes="the layout in which the contraction reads its operand",
            leaves_open="how the contraction walks that layout",
            confirmed_by="; ".join(call.text for call in own or taking),
        )


def _contractions(evidence: Evidence, texts: Mapping[str, StageText], calls: Computed) -> Iterator[Decision]:
    for op in _ops(evidence, "matmul"):
        call = next((call for call, names in calls if op.name in names), None)
        if call is None:
            continue
        yield Decision(
            subject=f"contraction {op.name}",
            result=_realized(call),
            before=_at(evidence, texts, "fx", op),
            after=f"{OUTPUT_CODE}:{call.line}",
            mechanism=_choice_mechanism(evidence, call),
            preconditions=_choice_preconditions(evidence),
            fixes="which code multiplies; whether later ops can join it",
            leaves_open="the library's own kernel and its order of summation" if call.kernel is None else "",
            confirmed_by=call.text,
        )


def _realized(call: Call) -> str:
    if call.kernel is None:
        rewritten = "addmm" in call.name
        return f"a library call, {call.name}" + (", with the addition taken into it" if rewritten else "")
    kind = "a Triton template" if is_template(call.kernel) else "a generated kernel without a matrix template"
    return f"{kind}, {call.name}"


def _choice_mechanism(evidence: Evidence, call: Call) -> str:
    if "addmm" in call.name:
        return "addmm pattern of the post-grad passes (torch/_inductor/fx_passes/post_grad.py)"
    tuned = bool(evidence.recording.tables)
    chooser = "benchmarks of autotune_select_algorithm" if tuned else "the ATen choice, the only one without tuning"
    return f"tuned_mm (torch/_inductor/kernel/mm.py): {chooser}"


def _choice_preconditions(evidence: Evidence) -> tuple[str, ...]:
    set_to = [f"{name} = {value}" for name, value in evidence.configuration.options.items()]
    return tuple(set_to) or ("Inductor's own settings",)


def _epilogues(evidence: Evidence, texts: Mapping[str, StageText], calls: Computed) -> Iterator[Decision]:
    """Elementwise ops that read a contraction, directly or through other elementwise ops."""
    contractions = {op.name for op in _ops(evidence, "matmul")}
    for op in evidence.program.ops:
        if op.op not in _ELEMENTWISE or not _reads(evidence, op, contractions):
            continue
        call, names = next(((c, n) for c, n in calls if op.name in n), (None, ()))
        if call is None:
            continue
        joined = [name for name in names if name in contractions]
        others = [name for name in names if name != op.name and name not in joined]
        beside = f" together with {', '.join(others)}" if others else ""
        yield Decision(
            subject=f"epilogue {op.name}",
            result=f"fused with {', '.join(joined)}" if joined else f"a kernel after the contraction{beside}",
            before=_scheduled(texts, "ir_pre_fusion", call),
            after=_scheduled(texts, "ir_post_fusion", call),
            mechanism="Scheduler.can_fuse (torch/_inductor/scheduler.py)",
            preconditions=("a library call takes no epilogue",) if not joined else (),
            fixes="whether the contraction's result goes through memory",
            confirmed_by=f"{call.name} computes {', '.join(names)}",
        )


def _roundings(evidence: Evidence, texts: Mapping[str, StageText], calls: Computed) -> Iterator[Decision]:
    shown, _ = roundings(evidence)
    found = {rounding.boundary: rounding for rounding in shown}
    for index, (call, names) in enumerate(calls):
        for name in boundaries(evidence.program, names):
            op = next(op for op in evidence.program.ops if op.name == name)
            rounding = found.get(name)
            code = OUTPUT_CODE if call.kernel is None else kernel_stage(call.name)
            yield Decision(
                subject=f"rounding of {name}",
                result=f"in {activity(index)}, {call.name}" if rounding else f"none of its own in {call.name}",
                before=_at(evidence, texts, "fx", op),
                after=code,
                mechanism=_rounding_mechanism(evidence),
                fixes=f"the value that readers of {name} see",
                leaves_open="" if rounding and rounding.certain else "which narrowing is this op's: code does not say",
                confirmed_by=rounding.evidence if rounding else "no narrowing found in the code",
            )


def _rounding_mechanism(evidence: Evidence) -> str:
    if evidence.configuration.options.get("emulate_precision_casts"):
        return "casts in the source, kept by emulate_precision_casts (torch/_inductor/lowering.py)"
    return "stores to half buffers; casts inside a fused kernel are dropped (torch/_inductor/lowering.py)"


def _reused_buffers(evidence: Evidence) -> Iterator[Decision]:
    for name, allocation in evidence.output.allocations.items():
        call = next((call for call in evidence.output.calls if name in call.writes), None)
        if not allocation.reuses or call is None:
            continue
        in_place = name in call.reads
        yield Decision(
            subject=f"memory of {name}",
            result=f"{'updated in place in' if in_place else 'takes over'} the memory of {allocation.reuses}",
            before="ir_post_fusion",
            after=f"{OUTPUT_CODE}:{call.line}",
            mechanism="buffer reuse in the wrapper's memory planning (torch/_inductor/codegen/wrapper.py)",
            preconditions=(f"{allocation.reuses} has no later reader and is no output",),
            fixes="memory and traffic between launches",
            confirmed_by=call.text,
        )


def _reads(evidence: Evidence, op: Op, wanted: set[str]) -> bool:
    sources = {value for value in op.of if isinstance(value, str)}
    if sources & wanted:
        return True
    behind = [o for o in evidence.program.ops if o.name in sources and o.op in _ELEMENTWISE]
    return any(_reads(evidence, other, wanted) for other in behind)


def _ops(evidence: Evidence, kind: str) -> list[Op]:
    return [op for op in evidence.program.ops if op.op == kind]


def _nodes(evidence: Evidence, op: Op) -> list[FxNode]:
    nodes = evidence.recording.fx.nodes if evidence.recording.fx else ()
    return [node for node in nodes if node.line == evidence.source.lines[op.name]]


def _scheduled(texts: Mapping[str, StageText], stage: str, call: Call) -> str:
    """``stage:first-last`` of the scheduler nodes that write what a launch writes."""
    found = [n for n, buffers in scheduler_nodes(texts[stage].text) if set(buffers) & set(call.writes)]
    return f"{stage}:{min(n[0] for n in found)}-{max(n[1] for n in found)}" if found else stage


def _at(evidence: Evidence, texts: Mapping[str, StageText], stage: str, op: Op) -> str:
    """``stage:first-last``, where the op stands in that stage's text."""
    lines = traced_lines(evidence, texts[stage].text).get(op.name) if stage in texts else None
    return f"{stage}:{min(lines)}-{max(lines)}" if lines else stage
