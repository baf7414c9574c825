"""Graph and plan of an eager program, from the operators that PyTorch dispatched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tensor_worker.artifacts import (
    Buffer,
    Capture,
    Correspondence,
    Decision,
    Edge,
    Launch,
    Node,
    Plan,
    Role,
    Rounding,
    SemanticGraph,
)
from tensor_worker.dump import write_stage
from tensor_worker.messages import Activity
from tensor_worker.normalize import code_sha256
from tensor_worker.program import Program, Value

from .observed import Parameters, by_launch
from .source import Source
from .tracing import Dispatched, printed

STAGE = "dispatched"

_CONTRACTIONS = ("aten.mm.", "aten.addmm.", "aten.bmm.", "aten.dot.", "aten.mv.")
_REDUCTIONS = ("aten.sum.", "aten.mean.", "aten.amax.", "aten.max.")


@dataclass(frozen=True)
class Evidence:
    """``returned`` names the calls (or inputs) whose results are the program's outputs, in its order."""

    program: Program
    source: Source
    calls: tuple[Dispatched, ...]
    returned: tuple[str, ...]
    dump_dir: Path
    observed: tuple[Activity, ...] = ()  # of one invocation, where a device was traced

    def launched(self) -> list[Dispatched]:
        return [call for call in self.calls if not call.view]


def capture_dispatches(evidence: Evidence) -> Capture:
    text = printed(list(evidence.calls))
    stages = (
        write_stage(
            evidence.dump_dir, "source", "Program as given", "semantic", "python", evidence.source.text, "this adapter"
        ),
        write_stage(evidence.dump_dir, STAGE, "Dispatched operators", "semantic", "python", text, "TorchDispatchMode"),
    )
    return Capture(
        stages=stages,
        graph=_graph(evidence),
        decisions=tuple(_decisions(evidence)),
        correspondences=tuple(_correspondences(evidence)),
    )


def plan_dispatches(evidence: Evidence) -> Plan:
    launched = evidence.launched()
    seen = by_launch(len(launched), evidence.observed)
    return Plan(
        launches=tuple(_launch(evidence, call, shown) for call, shown in zip(launched, seen, strict=True)),
        buffers=_buffers(evidence),
        roundings=tuple(_roundings(evidence)),
        notes=("PyTorch's operators are library code: their kernels show in a device trace, not here",),
    )


def _launch(evidence: Evidence, call: Dispatched, seen: Parameters) -> Launch:
    """What was traced is a parameter only: a fingerprint must not depend on whether it could be."""
    shown = printed([call]).split("  #")[0].split(" = ", 1)[1]
    layout = f"{call.dtype}{list(call.shape)}"
    return Launch(
        kind="library",
        name=call.operator,
        computes=_computes(evidence, call),
        parameters={"call": shown, "result": layout, **seen},
        code_sha256=code_sha256(f"{shown} -> {layout}", "python"),
        stage=STAGE,
    )


def _computes(evidence: Evidence, call: Dispatched) -> tuple[str, ...]:
    """The op on whose line the call was made, and the views it reads through."""
    views = {c.name: c for c in evidence.calls if c.view}
    found = {evidence.source.op_at(call.line)}
    pending = list(call.inputs)
    while pending:
        view = views.get(pending.pop())
        if view is not None:
            found.add(evidence.source.op_at(view.line))
            pending.extend(view.inputs)
    return tuple(op.name for op in evidence.program.ops if op.name in found)


def _buffers(evidence: Evidence) -> tuple[Buffer, ...]:
    launched = evidence.launched()
    inputs = [
        Buffer(name=value.name, role="input", bytes=_bytes(value), last=_last(evidence, value.name))
        for value in evidence.program.inputs
    ]
    made = [
        Buffer(
            name=call.name,
            role="output" if call.name in evidence.returned else "intermediate",
            bytes=call.bytes,
            first=index,
            last=_last(evidence, call.name),
        )
        for index, call in enumerate(launched)
    ]
    return (*inputs, *made)


def _last(evidence: Evidence, name: str) -> int | None:
    """The last launch that reads ``name``, itself or through a view."""
    names = {name}
    for call in evidence.calls:
        if call.view and names.intersection(call.inputs):
            names.add(call.name)
    reading = [index for index, call in enumerate(evidence.launched()) if names.intersection(call.inputs)]
    return max(reading, default=None)


def _roundings(evidence: Evidence) -> Iterator[Rounding]:
    """The last half result on an op's line is that op's value, stored before the next operator is called."""
    for op in evidence.program.ops:
        if op.dtype != "f16":
            continue
        own = [(i, c) for i, c in enumerate(evidence.launched()) if evidence.source.op_at(c.line) == op.name]
        if own and own[-1][1].dtype == "float16":
            index, call = own[-1]
            words = f"{call.operator} stores {call.dtype}{list(call.shape)}"
            yield Rounding(boundary=op.name, launch=index, evidence=words)


def _graph(evidence: Evidence) -> SemanticGraph:
    inputs = [
        Node(id=value.name, op="input", role="input", shape=value.shape, dtype=value.dtype)
        for value in evidence.program.inputs
    ]
    nodes = [_node(evidence, number, call) for number, call in enumerate(evidence.calls, start=1)]
    outputs = [
        Node(id=f"output {name}", op="output", role="output", program_ops=(name,)) for name in evidence.program.outputs
    ]
    edges = [Edge(source=source, target=call.name) for call in evidence.calls for source in call.inputs]
    returned = zip(evidence.returned, evidence.program.outputs, strict=True)
    leaving = [Edge(source=source, target=f"output {name}") for source, name in returned]
    return SemanticGraph(stage=STAGE, nodes=(*inputs, *nodes, *outputs), edges=(*edges, *leaving))


def _node(evidence: Evidence, line: int, call: Dispatched) -> Node:
    op = evidence.source.op_at(call.line)
    return Node(
        id=call.name,
        op=call.operator,
        role=_role(call),
        shape=call.shape,
        dtype=call.dtype,
        lines=(line, line),
        program_ops=(op,) if op else (),
    )


def _role(call: Dispatched) -> Role:
    if call.view:
        return "view"
    if call.operator.startswith(_CONTRACTIONS):
        return "contraction"
    if call.operator.startswith(_REDUCTIONS):
        return "reduction"
    return "cast" if call.operator.startswith("aten._to_copy.") else "epilogue"


def _decisions(evidence: Evidence) -> Iterator[Decision]:
    for number, call in enumerate(evidence.calls, start=1):
        op = evidence.source.op_at(call.line)
        if op is None or not (call.view or _role(call) == "contraction"):
            continue
        line = evidence.source.lines[op]
        yield Decision(
            subject=f"{'transpose' if call.view else 'contraction'} {op}",
            result=f"a view, strides {call.stride}: no copy" if call.view else f"a library call, {call.operator}",
            before=f"source:{line}",
            after=f"{STAGE}:{number}",
            mechanism="PyTorch's dispatcher; nothing is rewritten in eager mode",
            fixes="the layout that the contraction reads" if call.view else "one launch for this op alone",
            leaves_open="" if call.view else "the library's kernel and its order of summation",
            confirmed_by=printed([call]).strip(),
        )


def _correspondences(evidence: Evidence) -> Iterator[Correspondence]:
    for op, line in evidence.source.lines.items():
        yield Correspondence(program_op=op, stage="source", lines=(line, line))
    for number, call in enumerate(evidence.calls, start=1):
        called_for = evidence.source.op_at(call.line)
        if called_for is not None:
            yield Correspondence(program_op=called_for, stage=STAGE, lines=(number, number))


def _bytes(value: Value) -> int:
    count = 1
    for size in value.shape:
        count *= size
    return count * (2 if value.dtype == "f16" else 4)
