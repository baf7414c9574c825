"""Where each declared boundary is rounded, and the line of code that shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tensor_worker.artifacts import Rounding
from tensor_worker.program import Op, Program
from tinygrad.uop.ops import GroupOp, Ops

from .fusion import Fusion
from .kernels import Kernel
from .semantic import TensorGraph
from .stages import Machine

# The C spellings of a rounding to FP16: a cast from FP32, and a store of an FP16 vector or scalar.
CAST_TO_HALF = re.compile(r"\((?:half|__fp16)\)\(")
_STORE = re.compile(r"\*\(.*data\d+_.* = ")
_HALF_OPERATIONS = {name: re.compile(rf"\b{name}(?:\.rn)?\.f16") for name in ("add", "sub", "mul")}


def roundings(
    program: Program,
    graph: TensorGraph,
    kernels: Sequence[Kernel],
    machines: Sequence[Machine],
    fusions: Sequence[Fusion],
) -> tuple[Rounding, ...]:
    """One for every boundary and kernel that computes it. Moving values about rounds nothing."""
    boundaries = [op for op in program.ops if op.dtype == "f16" and op.op != "transpose"]
    return tuple(
        _rounding(op, index, rounded_by_cast(graph, op), kernels[index], machines[index])
        for op in boundaries
        for index, fusion in enumerate(fusions)
        if op.name in fusion.computes
    )


def rounded_by_cast(graph: TensorGraph, op: Op) -> bool:
    """Whether the tensor graph rounds the value by a cast from FP32; it computes it in FP16 otherwise."""
    uop = graph.values[op.name]
    while uop.op in (*GroupOp.Movement, Ops.CONTIGUOUS):
        uop = uop.src[0]
    return uop.op is Ops.CAST


def _rounding(op: Op, launch: int, by_cast: bool, kernel: Kernel, machine: Machine) -> Rounding:
    if by_cast:
        found = _first(kernel.source, CAST_TO_HALF)
        return Rounding(boundary=op.name, launch=launch, evidence=found or "no cast to FP16", certain=bool(found))
    if machine.shipped_language == "ptx" and op.op in _HALF_OPERATIONS:
        found = _first(machine.shipped, _HALF_OPERATIONS[op.op])
        if found:
            return Rounding(boundary=op.name, launch=launch, evidence=found)
    stored = _first(kernel.source, _STORE)
    return Rounding(boundary=op.name, launch=launch, evidence=f"rounded by a store: {stored}", certain=False)


def _first(text: str, pattern: re.Pattern[str], length: int = 160) -> str:
    line = next((line.strip() for line in text.splitlines() if pattern.search(line)), "")
    return line if len(line) <= length else f"{line[:length]} …"
