"""A bundle in the records' own terms: stages, graph, plan, search, decisions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec
from tensor_worker.artifacts import (
    Buffer,
    Candidate,
    Capture,
    Correspondence,
    Decision,
    Edge,
    Launch,
    Node,
    Plan,
    Role,
    Rounding,
    Search,
    SemanticGraph,
    Stage,
)
from tensor_worker.dump import write_stage
from tensor_worker.normalize import code_sha256

from .bundle import Bundle
from .egraph import OMITTED, EGraph
from .logical import Binding
from .schema import Step

_ROLES: tuple[tuple[str, Role], ...] = (
    (r"cublas|library", "contraction"),
    (r"matrix_?multiply|matmul", "contraction"),
    (r"reduce", "reduction"),
    (r"cast", "cast"),
    (r"indexmap|transpose|broadcast|expand|permute|view|slice", "view"),
    (r"input|loadbinding", "input"),
    (r"const", "constant"),
)


def capture_of(bundle: Bundle, dump_dir: Path) -> Capture:
    """Writes the stages below ``dump_dir``."""
    return Capture(
        stages=tuple(_stages(bundle, dump_dir)),
        graph=_graph(bundle),
        decisions=tuple(_alternatives(bundle.egraph)),
        correspondences=tuple(_correspondences(bundle)),
        search=_search(bundle),
    )


def plan_of(bundle: Bundle) -> Plan:
    manifest = bundle.manifest
    patched = f", with the patch {manifest.patch.sha256[:12]} ({manifest.patch.summary})" if manifest.patch else ""
    notes = (
        f"imported: captured elsewhere on {manifest.device.name}, not run here",
        f"Luminal {manifest.luminal[:12]}{patched}, egglog {manifest.egglog}, runtime {manifest.runtime}",
        f"cohort: {manifest.cohort} contraction operands; seed {manifest.seed}",
    )
    return Plan(
        launches=tuple(_launch(step, bundle) for step in bundle.plan.steps),
        buffers=tuple(Buffer(**msgspec.structs.asdict(buffer)) for buffer in bundle.plan.buffers),
        roundings=tuple(Rounding(**msgspec.structs.asdict(rounding)) for rounding in bundle.plan.roundings),
        notes=notes + bundle.plan.notes,
    )


def role_of(op: str) -> Role:
    """By Luminal's vocabulary, and egglog's; what is none of these computes element by element."""
    return next((role for pattern, role in _ROLES if re.search(pattern, op, re.IGNORECASE)), "epilogue")


def _launch(step: Step, bundle: Bundle) -> Launch:
    source = bundle.kernels.get(step.source, "")
    return Launch(
        kind=step.kind,
        name=step.name,
        grid=step.grid,
        block=step.block,
        registers=step.registers,
        shared_bytes=step.shared_bytes,
        parameters=step.parameters,
        computes=step.computes,
        instruction=step.instruction,
        code_sha256=code_sha256(source, "cuda") if source else "",
        stage=_kernel_stage(step.source) if source else "",
    )


def _stages(bundle: Bundle, dump_dir: Path) -> Iterator[Stage]:
    made = f"imported from a bundle of Luminal {bundle.manifest.luminal[:12]}"
    yield write_stage(dump_dir, "logical", "Logical program", "semantic", "egglog", bundle.logical_text, made)
    yield write_stage(dump_dir, "egraph", "Saturated e-graph", "semantic", "json", bundle.egraph_text, made)
    candidates = msgspec.json.format(msgspec.json.encode(bundle.candidates), indent=1).decode() + "\n"
    yield write_stage(dump_dir, "candidates", "Extracted plans", "scheduled", "json", candidates, made)
    plan = msgspec.json.format(msgspec.json.encode(bundle.plan), indent=1).decode() + "\n"
    yield write_stage(dump_dir, "plan", "Selected plan", "scheduled", "json", plan, made)
    for name, source in bundle.kernels.items():
        title = f"CUDA source: {PurePosixPath(name).name}"
        yield write_stage(dump_dir, _kernel_stage(name), title, "code", "cuda", source, made)


def _kernel_stage(name: str) -> str:
    """A stage name for a file below kernels/; hashed where the file's own name has other characters."""
    stem = PurePosixPath(name).stem
    return f"kernel-{stem}" if re.fullmatch(r"[\w.-]+", stem, re.ASCII) else f"kernel-{_short_hash(name)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _graph(bundle: Bundle) -> SemanticGraph:
    """The logical program: a value a node. The e-graph beside it has every form that rewriting found."""
    program, lets = bundle.manifest.program, bundle.manifest.lets
    shapes = {value.name: (value.shape, value.dtype) for value in program.values()}
    nodes = []
    for binding in bundle.logical:
        shape, dtype = shapes.get(lets.get(binding.name, ""), ((), ""))
        named = (lets[binding.name],) if binding.name in lets else ()
        role: Role = "input" if not binding.operands else role_of(binding.op)
        nodes.append(
            Node(
                id=binding.name,
                op=binding.op,
                role=role,
                shape=shape if _is_the_value(binding, bundle) else (),
                dtype=dtype if _is_the_value(binding, bundle) else "",
                lines=binding.lines,
                program_ops=named,
            )
        )
    edges = tuple(
        Edge(source=operand, target=binding.name)
        for binding in bundle.logical
        for operand in dict.fromkeys(binding.operands)
    )
    return SemanticGraph(stage="logical", nodes=tuple(nodes), edges=edges, incomplete=bundle.manifest.truncation.egraph)


def _is_the_value(binding: Binding, bundle: Bundle) -> bool:
    """Several bindings may build one program value; the last of them is the value itself."""
    lets = bundle.manifest.lets
    value = lets.get(binding.name)
    last = [other.name for other in bundle.logical if value is not None and lets.get(other.name) == value]
    return bool(last) and last[-1] == binding.name


def _correspondences(bundle: Bundle) -> Iterator[Correspondence]:
    ops = {op.name for op in bundle.manifest.program.ops}
    for binding in bundle.logical:
        value = bundle.manifest.lets.get(binding.name)
        if value in ops and value is not None:
            yield Correspondence(program_op=value, stage="logical", lines=binding.lines)


def _search(bundle: Bundle) -> Search:
    manifest = bundle.manifest
    return Search(
        scope=manifest.search_scope or "extracted plans that Luminal measured, by its own timer",
        tried=sum(candidate.measured_ns is not None for candidate in bundle.candidates),
        seconds=manifest.search_seconds,
        candidates=tuple(Candidate(**msgspec.structs.asdict(candidate)) for candidate in bundle.candidates),
        censored=manifest.truncation.candidates,
    )


def _alternatives(egraph: EGraph) -> Iterator[Decision]:
    """Every e-class that holds a contraction in more than one form: the choice that extraction makes there."""
    names = {eclass: name for name, eclass in egraph.named.items()}
    for eclass, members in egraph.members.items():
        ops = [egraph.nodes[name].op for name in members if egraph.nodes[name].op != OMITTED]
        roles = {role_of(op) for op in ops}
        if len(ops) < 2 or not roles & {"contraction", "reduction"}:
            continue
        subsumed = sum(egraph.nodes[name].subsumed for name in members)
        yield Decision(
            subject=f"expression of {names.get(eclass, eclass)}",
            result=f"{len(ops)} equivalent expressions kept: {', '.join(sorted(ops))}",
            before=_logical_line(names.get(eclass, "")),
            after="egraph",
            mechanism="equivalence rules; the e-graph does not say which rule fired in which order",
            fixes="all of them are one value"
            + (f"; {subsumed} are subsumed and no longer matched" if subsumed else ""),
            leaves_open="which one is extracted: the selected plan says",
        )


def _logical_line(name: str) -> str:
    return f"logical ({name})" if name else "logical"
