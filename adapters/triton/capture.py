"""Everything one compile left to look at: the authored source and each of Triton's stages."""

from __future__ import annotations

from collections.abc import Iterator

from tensor_worker.artifacts import Capture, Correspondence, Decision, Language, Level, Lines, Stage
from tensor_worker.dump import write_stage

from .compiling import Built, disassemble
from .evidence import Evidence
from .graph import STAGE, semantic_graph
from .locations import source_lines
from .plan import plan_launches, views_read

# Triton's stages after the first, in the order it makes them.
_STAGES: tuple[tuple[str, str, Level, Language, str], ...] = (
    ("ttgir", "Triton GPU IR", "scheduled", "mlir", "triton: make_ttgir"),
    ("llir", "LLVM IR", "code", "llvm", "triton: make_llir"),
    ("ptx", "PTX", "machine", "ptx", "triton: make_ptx"),
    ("sass", "SASS", "machine", "sass", "ptxas, read by nvdisasm"),
)


def capture_compilation(evidence: Evidence) -> Capture:
    texts = _texts(evidence.built)
    modules = "\n".join(built.asm["ttir"] for built in evidence.built)
    return Capture(
        stages=tuple(_write(evidence, modules, texts)),
        graph=semantic_graph(modules, evidence.source),
        decisions=tuple(_decisions(evidence)),
        correspondences=tuple(_correspondences(evidence, modules, texts)),
        search=evidence.search,
    )


def _texts(built: tuple[Built, ...]) -> dict[tuple[str, str], str]:
    """Text by kernel and stage, without the first stage."""
    return {
        (one.kernel.name, stage): disassemble(one.asm["cubin"]) if stage == "sass" else one.asm[stage]
        for one in built
        for stage, *_ in _STAGES
    }


def _write(evidence: Evidence, modules: str, texts: dict[tuple[str, str], str]) -> Iterator[Stage]:
    folder, source = evidence.dump_dir, evidence.source.text
    yield write_stage(folder, "source", "Authored kernels", "semantic", "python", source, "this adapter")
    yield write_stage(folder, STAGE, "Triton IR", "semantic", "mlir", modules, "triton: ast_to_ttir, make_ttir")
    for built in evidence.built:
        name = built.kernel.name
        for stage, title, level, language, made_by in _STAGES:
            text = texts[name, stage]
            yield write_stage(folder, f"{name}.{stage}", f"{name}: {title}", level, language, text, made_by)


def _correspondences(evidence: Evidence, modules: str, texts: dict[tuple[str, str], str]) -> Iterator[Correspondence]:
    for (_, op), numbers in evidence.source.lines.items():
        for lines in ranges(numbers):
            yield Correspondence(program_op=op, stage="source", lines=lines)
    yield from _in_stage(evidence, STAGE, STAGE, modules)
    for (kernel, stage), text in texts.items():
        yield from _in_stage(evidence, f"{kernel}.{stage}", stage, text)


def _in_stage(evidence: Evidence, name: str, kind: str, text: str) -> Iterator[Correspondence]:
    """Runs of lines that Triton's line information traces to an op's own source lines."""
    found: dict[str, list[int]] = {}
    for number, line in source_lines(kind, text).items():
        for op in evidence.source.ops_at(line):
            found.setdefault(op, []).append(number)
    for op, numbers in found.items():
        for lines in ranges(numbers):
            yield Correspondence(program_op=op, stage=name, lines=lines)


def _decisions(evidence: Evidence) -> Iterator[Decision]:
    for launch, built in zip(plan_launches(evidence).launches, evidence.built, strict=True):
        kernel, (first, last) = built.kernel, evidence.source.spans[built.kernel.name]
        for view, base in views_read(evidence.program, kernel).items():
            yield Decision(
                subject=f"transpose {view}",
                result=f"absorbed into the loads of {base}: strides swapped, nothing stored",
                before="source",
                after=f"source:{first}-{last}",
                mechanism="authored",
                fixes="which axis of the operand's tile is contiguous",
                leaves_open="how Triton lays the tile out in shared memory",
                confirmed_by=f"{kernel.name} loads {base}; no other launch writes it",
            )
        contracted = ", ".join(op.name for op in kernel.contractions)
        yield Decision(
            subject=f"contraction {contracted}",
            result=f"{launch.instruction or 'no matrix instruction'}, tile {built.tile.name}",
            before=f"{kernel.name}.ttgir",
            after=f"{kernel.name}.ptx",
            mechanism="tt.dot lowered by Triton (make_ttgir, make_llir); tile chosen by "
            + ("benchmark" if evidence.search else "the family's default"),
            preconditions=("half operands", "tile of at least 16 by 16 by 16"),
            fixes="the instruction and the order of summation inside a tile",
            confirmed_by=f"{launch.instruction} in {kernel.name}.ptx" if launch.instruction else "",
        )
        if kernel.epilogue:
            names = ", ".join(op.name for op in kernel.epilogue)
            yield Decision(
                subject=f"epilogue {names}",
                result=f"fused with {contracted}: computed on the tile in registers",
                before="source",
                after=f"source:{first}-{last}",
                mechanism="authored",
                fixes="no buffer for what only the epilogue reads",
                confirmed_by=f"{kernel.name} stores {', '.join(kernel.stores)} only",
            )


def ranges(numbers: list[int]) -> Iterator[Lines]:
    """Runs of consecutive numbers."""
    ordered = sorted(set(numbers))
    starts = [n for n in ordered if n - 1 not in ordered]
    ends = [n for n in ordered if n + 1 not in ordered]
    yield from zip(starts, ends, strict=True)
