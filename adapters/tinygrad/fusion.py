"""Which program ops each kernel computes.

tinygrad's scheduler keeps no link from a kernel to the tensors it came from, so the link is found again: a kernel's
buffers that are inputs or outputs of the program are known, and what an intermediate buffer holds is the UOp of the
tensor graph whose operands, between the buffers that the kernel reads, do the same arithmetic as the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tinygrad.dtype import dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from .dialect import elements
from .kernels import Kernel
from .semantic import TensorGraph

_ARITHMETIC = (*GroupOp.ALU, Ops.REDUCE)
_STORABLE = (*_ARITHMETIC, Ops.CAST, Ops.CONTIGUOUS)


@dataclass(frozen=True)
class Fusion:
    """What a kernel computes. ``holds`` is the tensor-graph UOp of every buffer that it writes."""

    computes: tuple[str, ...]
    holds: tuple[UOp, ...]
    certain: bool  # False where the arithmetic does not match exactly, or fits more than one value


def fusion_map(kernels: Iterable[Kernel], graph: TensorGraph, outputs: Mapping[UOp, str]) -> tuple[Fusion, ...]:
    """``outputs`` names the buffers that are the program's outputs."""
    held = {buffer: buffer for buffer in graph.inputs}
    held |= {buffer: graph.values[name] for buffer, name in outputs.items()}
    found: list[Fusion] = []
    for kernel in kernels:
        fusion, written = _kernel_fusion(kernel, graph, held)
        held |= written
        found.append(fusion)
    return tuple(found)


def _kernel_fusion(kernel: Kernel, graph: TensorGraph, held: dict[UOp, UOp]) -> tuple[Fusion, dict[UOp, UOp]]:
    reads = [kernel.arguments[index] for index in kernel.program.arg.ins]
    writes = [kernel.arguments[index] for index in kernel.program.arg.outs]
    leaves = {held[buffer] for buffer in reads if buffer in held}
    written: dict[UOp, UOp] = {}
    certain = True
    for buffer in dict.fromkeys(writes):
        if buffer not in held:
            written[buffer], exact = _value_held(kernel, buffer, graph, leaves)
            certain = certain and exact
    values = [{**held, **written}[buffer] for buffer in dict.fromkeys(writes)]
    inside = set().union(*(_cone(value, leaves - {value}) for value in values))
    # Arithmetic says that an op is computed here: a cast or view may be one that two ops share.
    owners = {name for uop in inside if uop.op in _ARITHMETIC for name in graph.owners.get(uop, ())}
    owners.update(name for name in graph.moves if graph.values[name] in inside)
    ordered = tuple(name for name in graph.values if name in owners)
    return Fusion(computes=ordered, holds=tuple(values), certain=certain), written


def _value_held(kernel: Kernel, buffer: UOp, graph: TensorGraph, leaves: set[UOp]) -> tuple[UOp, bool]:
    wanted = _arithmetic(kernel.ast.toposort())
    size, dtype = elements(buffer), buffer.dtype
    scored: list[tuple[int, UOp]] = []
    for uop in graph.root.toposort():
        if uop.op in _STORABLE and uop.dtype == dtype and elements(uop) == size and uop not in leaves:
            cone = _cone(uop, leaves)
            if _leaves(cone) <= leaves:
                difference = (_arithmetic(cone) - wanted) + (wanted - _arithmetic(cone))
                scored.append((difference.total(), uop))
    if not scored:
        raise RuntimeError(f"no value of the program fits what {kernel.name} writes ({size} × {dtype})")
    best = min(score for score, _ in scored)
    fitting = [uop for score, uop in scored if score == best]
    different = {uop.src[0] if uop.op is Ops.CONTIGUOUS else uop for uop in fitting}
    return fitting[-1], best == 0 and len(different) == 1


def _cone(value: UOp, leaves: set[UOp]) -> set[UOp]:
    """Everything that ``value`` needs down to the leaves: itself included, and the leaves it reaches."""
    return set(value.toposort(gate=lambda uop: uop not in leaves))


def _leaves(cone: Iterable[UOp]) -> set[UOp]:
    return {uop for uop in cone if uop.op is Ops.BUFFER}


def _arithmetic(uops: Iterable[UOp]) -> Counter[Ops]:
    """How often each operation on floating-point values occurs.

    Indexing and constants are left out; a select counts as MAX, which tinygrad makes of a relu's.
    """
    counted = (uop for uop in uops if uop.op in _ARITHMETIC and dtypes.is_float(uop.dtype) and not _constant(uop))
    return Counter(Ops.MAX if uop.op is Ops.WHERE else uop.op for uop in counted)


def _constant(uop: UOp) -> bool:
    return all(part.op in (Ops.CONST, Ops.CAST, *_ARITHMETIC) for part in uop.toposort())
