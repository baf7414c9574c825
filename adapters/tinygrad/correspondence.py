"""Where a program op is found again: in the tensor graph, the scheduled kernels, the source and the machine code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tensor_worker.artifacts import Correspondence, Lines
from tensor_worker.program import Op, Program

from .fusion import Fusion
from .rounding import CAST_TO_HALF
from .semantic import STAGE, TensorGraph
from .stages import Machine, code_stage, machine_stage

# How a contraction looks in C and CUDA: a tensor-core call, or a sum into the accumulator buffer of widened products.
_CONTRACTION = re.compile(r"__WMMA_\w+\(cast|\(float\)\(\(.*\*")
_MATRIX = re.compile(r"\bHG?MMA\.|\bFFMA\b|\bHMUL2\b|\bvf(?:m|nm)add")


def correspondences(
    program: Program,
    graph: TensorGraph,
    texts: Mapping[str, str],
    machines: Sequence[Machine],
    fusions: Sequence[Fusion],
) -> tuple[Correspondence, ...]:
    """``texts`` holds the stages by name. What tinygrad does not report, and the text only suggests, is not certain."""
    found: list[Correspondence] = []
    for op in program.ops:
        found += [Correspondence(program_op=op.name, stage=STAGE, lines=lines) for lines in _graph_lines(op, graph)]
        for index, fusion in enumerate(fusions):
            if op.name in fusion.computes:
                found += _kernel_lines(op, index, texts, machines[index], fusion)
    return tuple(found)


def _graph_lines(op: Op, graph: TensorGraph) -> Iterator[Lines]:
    """Runs of neighbouring lines whose UOps this op brought into being."""
    mine = [uop for uop, owners in graph.owners.items() if op.name in owners and uop in graph.lines]
    yield from runs(sorted(graph.lines[uop] for uop in mine))


def _kernel_lines(
    op: Op, index: int, texts: Mapping[str, str], machine: Machine, fusion: Fusion
) -> Iterator[Correspondence]:
    section = kernel_section(texts["kernels"], index)
    yield Correspondence(program_op=op.name, stage="kernels", lines=section, certain=fusion.certain)
    pattern = _CONTRACTION if op.op == "matmul" else CAST_TO_HALF
    if op.dtype == "f16" and op.op != "transpose" and (lines := matching_lines(texts[code_stage(index)], pattern)):
        yield Correspondence(program_op=op.name, stage=code_stage(index), lines=lines, certain=False)
    if op.op == "matmul" and (lines := matching_lines(machine.disassembly, _MATRIX)):
        yield Correspondence(program_op=op.name, stage=machine_stage(index), lines=lines, certain=False)


def kernel_section(text: str, index: int) -> Lines:
    """The lines of one kernel in a stage that holds them all, each under ``# activity N: …``."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines, start=1) if line.startswith("# activity ")]
    end = starts[index + 1] - 1 if index + 1 < len(starts) else len(lines)
    return (starts[index], end)


def matching_lines(text: str, pattern: re.Pattern[str]) -> Lines | None:
    """From the first to the last line that matches, 1-based."""
    numbers = [number for number, line in enumerate(text.splitlines(), start=1) if pattern.search(line)]
    return (numbers[0], numbers[-1]) if numbers else None


def runs(numbers: Sequence[int]) -> Iterator[Lines]:
    """``1, 2, 3, 7`` as ``(1, 3), (7, 7)``."""
    start = previous = None
    for number in numbers:
        if previous is not None and number == previous + 1:
            previous = number
            continue
        if start is not None and previous is not None:
            yield (start, previous)
        start = previous = number
    if start is not None and previous is not None:
        yield (start, previous)
