"""Program ops found again in every stage's text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tensor_worker.artifacts import Correspondence, Lines

from .evidence import Evidence
from .recording import SOURCE_NAME
from .stage_text import OUTPUT_CODE, StageText, kernel_stage

_TRACED = re.compile(rf"#\s*File: {re.escape(SOURCE_NAME)}:(\d+) in ")


def correspondences(evidence: Evidence, texts: Mapping[str, StageText]) -> tuple[Correspondence, ...]:
    return (*_source(evidence), *_graphs(evidence, texts), *_code(evidence, texts), *_scheduler(evidence, texts))


def traced_lines(evidence: Evidence, text: str) -> dict[str, list[int]]:
    """Lines of a printed FX graph by op: each node stands under a comment with the source line it came from."""
    found: dict[str, list[int]] = {}
    op: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TRACED.search(line):
            op = evidence.source.op_at(int(match[1]))
        elif op is not None and " = " in line:
            found.setdefault(op, []).append(number)
    return found


def scheduler_nodes(text: str) -> Iterator[tuple[Lines, list[str]]]:
    """The scheduler's nodes in its printed IR: their lines and the buffers they write."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if re.match(r"op\d+(_op\d+)*: ", line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        block = lines[start:end]
        yield (start + 1, max(start + 1, end)), [m[1] for line in block if (m := re.match(r"\s+(buf\d+): ", line))]


def _source(evidence: Evidence) -> Iterator[Correspondence]:
    for op, line in evidence.source.lines.items():
        yield Correspondence(program_op=op, stage="source", lines=(line, line))


def _graphs(evidence: Evidence, texts: Mapping[str, StageText]) -> Iterator[Correspondence]:
    for stage in ("dynamo", "fx", "fx_transformed"):
        for op, numbers in traced_lines(evidence, texts[stage].text).items() if stage in texts else ():
            for lines in _ranges(numbers):
                yield Correspondence(program_op=op, stage=stage, lines=lines)


def _code(evidence: Evidence, texts: Mapping[str, StageText]) -> Iterator[Correspondence]:
    """The launch and the kernel of each op; inside a fused kernel the lines of one op are not told apart."""
    for call, ops in zip(evidence.output.calls, evidence.computed, strict=True):
        for op in ops:
            yield Correspondence(program_op=op, stage=OUTPUT_CODE, lines=(call.line, call.line))
            if call.kernel is None:
                continue
            yield Correspondence(program_op=op, stage=OUTPUT_CODE, lines=call.kernel.lines)
            for name, text in texts.items():
                if name.startswith(kernel_stage(call.name)):
                    yield Correspondence(program_op=op, stage=name, lines=(1, max(1, len(text.text.splitlines()))))


def _scheduler(evidence: Evidence, texts: Mapping[str, StageText]) -> Iterator[Correspondence]:
    """Scheduler nodes by the buffers they write; the nodes themselves do not name their origin, hence uncertain."""
    launches = zip(evidence.output.calls, evidence.computed, strict=True)
    written = {name: ops for call, ops in launches for name in call.writes}
    for stage in ("ir_pre_fusion", "ir_post_fusion"):
        for lines, buffers in scheduler_nodes(texts[stage].text) if stage in texts else ():
            for op in dict.fromkeys(op for name in buffers for op in written.get(name, ())):
                yield Correspondence(program_op=op, stage=stage, lines=lines, certain=False)


def _ranges(numbers: list[int]) -> Iterator[Lines]:
    """Runs of consecutive numbers."""
    start = previous = None
    for number in sorted(numbers):
        if start is None or previous is None:
            start = previous = number
        elif number == previous + 1:
            previous = number
        else:
            yield start, previous
            start = previous = number
    if start is not None and previous is not None:
        yield start, previous
