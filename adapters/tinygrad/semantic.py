"""The program as tinygrad's tensors hold it: a graph of UOps, before anything is scheduled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tensor_worker.artifacts import Edge, Node, Role, SemanticGraph
from tensor_worker.program import Op, Program
from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp, Ops, UOp

from .dialect import shape_of

STAGE = "tensor-uops"

# Numbers that say a shape, and the constants of the arithmetic: text, not structure.
_HIDDEN = (Ops.CONST, Ops.STACK)


@dataclass(frozen=True)
class TensorGraph:
    """What the tensors held when the outputs were asked for."""

    root: UOp
    text: str  # tinygrad's own print of the root, one UOp a line, operands below their user
    lines: dict[UOp, int]  # 1-based line on which a UOp is spelled out
    owners: dict[UOp, tuple[str, ...]]  # the program op that brought a UOp into being
    values: dict[str, UOp]  # the UOp of every named value
    moves: tuple[str, ...]  # program ops that only move values about
    inputs: dict[UOp, str]  # buffers of the program's inputs


def read_graph(
    program: Program, inputs: Mapping[str, Tensor], ops: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
) -> TensorGraph:
    """Read it before scheduling: that replaces the tensors' UOps by buffers."""
    roots = [tensor.uop for tensor in outputs.values()]
    root = roots[0] if len(roots) == 1 else UOp.sink(*roots)
    text = str(root)
    values = {name: tensor.uop for name, tensor in (*inputs.items(), *ops.items())}
    return TensorGraph(
        root=root,
        text=text,
        lines=_lines(root, text),
        owners=_owners(program, values),
        values=values,
        moves=tuple(op.name for op in program.ops if op.op == "transpose"),
        inputs={tensor.uop.base: name for name, tensor in inputs.items()},
    )


def semantic_graph(graph: TensorGraph, program: Program) -> SemanticGraph:
    shown = [uop for uop in graph.root.toposort() if uop.op not in _HIDDEN and uop in graph.lines]
    ids = {uop: f"u{graph.lines[uop]}" for uop in shown}
    edges = [Edge(source=ids[source], target=ids[uop]) for uop in shown for source in uop.src if source in ids]
    return SemanticGraph(
        stage=STAGE,
        nodes=tuple(_node(uop, ids[uop], graph, program) for uop in shown),
        edges=tuple(edges),
        incomplete="shapes and constants (STACK, CONST) are in the text alone",
    )


def _node(uop: UOp, identity: str, graph: TensorGraph, program: Program) -> Node:
    owners = graph.owners.get(uop, ())
    line = graph.lines[uop]
    return Node(
        id=identity,
        op=_native_name(uop, graph),
        role=_role(uop, [program.value(name) for name in owners]),
        shape=shape_of(uop),
        dtype=uop.dtype.name,
        lines=(line, line),
        program_ops=owners,
    )


def _native_name(uop: UOp, graph: TensorGraph) -> str:
    name = uop.op.name
    if uop in graph.inputs:
        return f"{name} {graph.inputs[uop]}"
    if uop.op in (Ops.REDUCE, Ops.PERMUTE, Ops.CAST) and uop.arg is not None:
        argument = uop.dtype.name if uop.op is Ops.CAST else _argument(uop)
        return f"{name} {argument}"
    return name


def _argument(uop: UOp) -> str:
    if uop.op is Ops.REDUCE:
        return f"{uop.arg[0].name}, {uop.arg[1]}"
    return str(uop.arg)


def _role(uop: UOp, owners: list[object]) -> Role:
    if uop.op is Ops.BUFFER:
        return "input"
    if uop.op is Ops.SINK:
        return "output"
    if uop.op is Ops.CAST:
        return "cast"
    if uop.op in GroupOp.Movement:
        return "view"
    if any(isinstance(owner, Op) and owner.op == "matmul" for owner in owners):
        return "contraction"
    if uop.op is Ops.REDUCE:
        return "reduction"
    return "epilogue" if uop.op in GroupOp.ALU else "other"


def _owners(program: Program, values: Mapping[str, UOp]) -> dict[UOp, tuple[str, ...]]:
    """Ops are lowered one after another, so a UOp belongs to the first op whose value needs it."""
    seen = {uop for value in program.inputs for uop in values[value.name].toposort()}
    owners: dict[UOp, tuple[str, ...]] = {}
    for op in program.ops:
        fresh = [uop for uop in values[op.name].toposort() if uop not in seen]
        seen.update(fresh)
        owners.update({uop: (op.name,) for uop in fresh if uop.op not in _HIDDEN})
    return owners


def _lines(root: UOp, text: str) -> dict[UOp, int]:
    """Follow the print: depth first, a UOp in full on its first line and by reference afterwards.

    Raises RuntimeError where the print has another number of lines, so that no range can point astray.
    """
    lines: dict[UOp, int] = {}
    count = 0

    def visit(uop: UOp) -> None:
        nonlocal count
        count += 1
        if uop not in lines:
            lines[uop] = count
            for source in uop.src:
                visit(source)

    visit(root)
    if count != text.count("\n") + 1:
        raise RuntimeError(f"tinygrad printed {text.count(chr(10)) + 1} lines for {count} UOps")
    return lines
