"""The program as Relax holds it before any pass: one binding a line."""

from __future__ import annotations

import re

from tensor_worker.artifacts import Edge, Node, Role, SemanticGraph
from tensor_worker.program import Op, Program
from tvm import IRModule, relax

from .lowering import op_of
from .relax_reading import Binding, bindings

STAGE = "relax"


def semantic_graph(module: IRModule, text: str, program: Program) -> SemanticGraph:
    """``text`` is the module's script, the stage that the lines point into."""
    main = module["main"]
    bound = bindings(main)
    types = {str(parameter.name): parameter.ty for parameter in main.params}
    types |= {str(binding.var.name): binding.var.ty for block in main.body.blocks for binding in block.bindings}
    lines = _lines(text, [*types])
    inputs = [
        Node(
            id=value.name,
            op=f"input {value.name}",
            role="input",
            shape=value.shape,
            dtype=str(types[value.name].dtype),
            lines=_line(lines, value.name),
        )
        for value in program.inputs
    ]
    nodes = [_node(binding, types[binding.name], _line(lines, binding.name), program) for binding in bound]
    edges = [Edge(source=read, target=binding.name) for binding in bound for read in binding.reads]
    return SemanticGraph(stage=STAGE, nodes=(*inputs, *nodes), edges=tuple(edges))


def _node(binding: Binding, ty: relax.TensorType, lines: tuple[int, int] | None, program: Program) -> Node:
    op = program.value(op_of(binding.name))
    return Node(
        id=binding.name,
        op=binding.callee,
        role=_role(binding, op.op if isinstance(op, Op) else ""),
        shape=tuple(int(size) for size in ty.shape),
        dtype=str(ty.dtype),
        lines=lines,
        program_ops=(op.name,),
    )


def _role(binding: Binding, op: str) -> Role:
    if binding.callee == "relax.astype":
        return "cast"
    if op == "transpose":
        return "view"
    if op == "matmul":
        return "contraction"
    return "reduction" if op in ("max", "sum", "mean") else "epilogue"


def _lines(text: str, names: list[str]) -> dict[str, int]:
    """The 1-based line that binds each name; a parameter's is the line of the signature."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if bound := re.match(r"\s+(\w+)(?:: R\..*?)? = ", line):
            found.setdefault(bound[1], number)
        elif "def main(" in line:
            found |= {name: number for name in names if re.search(rf"\b{re.escape(name)}: R\.", line)}
    return found


def _line(lines: dict[str, int], name: str) -> tuple[int, int] | None:
    return (lines[name], lines[name]) if name in lines else None
