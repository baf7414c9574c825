"""The stages of one compilation, from the program's source to machine code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tensor_worker.artifacts import Language, Level, Stage
from tensor_worker.dump import write_stage

from .evidence import Evidence
from .machine import cpu_assembly
from .stage_text import OUTPUT_CODE, StageText, kernel_stage


class StaleCache(Exception):
    """Inductor's cache already held this graph: a capture needs TORCHINDUCTOR_CACHE_DIR to be empty."""


# Files of the debug trace (trace.enabled), under the names they have there.
_DEBUG: tuple[tuple[str, str, str, Level, Language, str], ...] = (
    ("fx_graph_readable.py", "fx", "FX graph as compiled", "semantic", "python", "AOTAutograd, joint-graph passes"),
    ("fx_graph_transformed.py", "fx_transformed", "Transformed FX graph", "semantic", "python", "post-grad passes"),
    ("ir_pre_fusion.txt", "ir_pre_fusion", "Scheduler IR before fusion", "scheduled", "text", "GraphLowering"),
    ("ir_post_fusion.txt", "ir_post_fusion", "Scheduler IR after fusion", "scheduled", "text", "Scheduler.fuse_nodes"),
)
_PROVENANCE = "inductor_provenance_tracking_node_mappings.json"


def gather_stages(evidence: Evidence) -> Iterator[StageText]:
    yield StageText("source", "Program as given", "semantic", "python", evidence.source.text, "this adapter")
    if evidence.recording.dynamo:
        text = evidence.recording.dynamo.text
        yield StageText("dynamo", "FX graph traced by Dynamo", "semantic", "python", text, "torch._dynamo")
    if evidence.recording.diagnostic:
        text, title = evidence.recording.diagnostic, "Diagnostic FX trace, not what was compiled"
        yield StageText("fx_diagnostic", title, "semantic", "python", text, "make_fx")
    for file, name, title, level, language, passes in _DEBUG:
        if file not in evidence.debug:
            raise StaleCache(f"{file} is not in Inductor's debug trace: its cache already held this graph")
        yield StageText(name, title, level, language, evidence.debug[file], f"{passes}: {file}")
    yield StageText(OUTPUT_CODE, "Output code", "code", "python", evidence.output_text, "PythonWrapperCodegen")
    yield from _kernel_stages(evidence)
    if _PROVENANCE in evidence.debug:
        text = evidence.debug[_PROVENANCE]
        yield StageText("provenance", "Provenance, node to kernel", "scheduled", "json", text, _PROVENANCE)


def write_stages(dump_dir: Path, texts: Iterable[StageText]) -> tuple[Stage, ...]:
    return tuple(write_stage(dump_dir, t.name, t.title, t.level, t.language, t.text, t.produced_by) for t in texts)


def _kernel_stages(evidence: Evidence) -> Iterator[StageText]:
    for kernel in evidence.output.kernels.values():
        name = kernel_stage(kernel.name)
        if kernel.language == "python":
            from .triton_kernels import triton_stages

            yield from triton_stages(kernel)
            continue
        yield StageText(name, f"{kernel.name} in C++", "code", "cpp", kernel.text, "CppScheduling")
        if (assembly := cpu_assembly(kernel.text)) is not None:
            title = f"{kernel.name}: machine code"
            yield StageText(f"{name}.asm", title, "machine", "asm", assembly, "g++, read by objdump")
