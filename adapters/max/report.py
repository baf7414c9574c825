"""Everything one compile of MAX shows: stages, graph, plan, decisions, correspondences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tensor_worker.adapter import Unavailable
from tensor_worker.artifacts import Candidate, Capture, Correspondence, Plan, Search, Stage
from tensor_worker.dump import write_stage
from tensor_worker.program import Program

from .building import Built
from .facts import Facts
from .ledger import Case, decisions
from .planning import (
    Observed,
    Step,
    compiled_steps,
    host_steps,
    inferred_notes,
    launched_kernels,
    make_plan,
    observed_steps,
    owning_routines,
)
from .routines import read_invocation
from .semantic import STAGE, semantic_graph
from .stages import Dumps, code_correspondences, correspondences, write_dumps, write_machine


@dataclass(frozen=True)
class Planned:
    plan: Plan
    owners: tuple[int | None, ...]  # of each launch, the routine that it is part of


class Report:
    """Writes the stages when it is made, where ``dump_dir`` is given."""

    def __init__(
        self,
        program: Program,
        built: Built,
        facts: Facts,
        dumps: Dumps | None,
        dump_dir: Path | None,
        target: str,
    ) -> None:
        self._program = program
        self._facts = facts
        self._dumps = dumps
        self._target = target
        self._names = tuple(op.name for op in program.ops)
        self._invocation = read_invocation(facts.mgp, self._names)
        self._semantic = built.text
        self._graph = semantic_graph(built.text, built.located, program)
        self._stages = self._write(dump_dir, dumps) if dump_dir is not None and dumps is not None else ()

    def plan(self, trace: Sequence[Observed] | None = None, notes: Sequence[str] = ()) -> Planned:
        """``trace`` is what MAX's launch trace saw of one invocation on a GPU; without one, what was compiled."""
        steps = self._steps(trace)
        inferred = inferred_notes(self._invocation, self._facts.codes, steps)
        all_notes = [*self._notes(trace), *notes, *inferred]
        plan = make_plan(self._program, self._invocation, steps, self._facts.mgp, all_notes)
        return Planned(plan, owning_routines(steps))

    def capture(self, planned: Planned) -> Capture:
        """Raises Unavailable where MAX compiled nothing, because its cache had the program."""
        if self._dumps is None:
            raise Unavailable(
                "MAX took the program from its cache and wrote no stages", "start from an empty MODULAR_CACHE_DIR"
            )
        found = (
            *self._semantic_lines(),
            *correspondences(self._dumps, self._names),
            *code_correspondences(self._dumps, self._invocation, self._facts.codes, self._target != "cpu"),
        )
        case = Case(
            program=self._program,
            invocation=self._invocation,
            plan=planned.plan,
            texts={stage: kept.text for stage, kept in self._dumps.cuts.items()} | {STAGE: self._semantic},
            correspondences=found,
            gpu=self._target != "cpu",
            sources=self._dumps.cuts["mgp"].sources,
            owners=planned.owners,
        )
        return Capture(
            stages=self._stages,
            graph=self._graph,
            decisions=tuple(decisions(case)),
            correspondences=found,
            search=self._alternatives(planned.plan),
        )

    def _write(self, dump_dir: Path, dumps: Dumps) -> tuple[Stage, ...]:
        semantic = write_stage(
            dump_dir, STAGE, "Graph as built", "semantic", "mlir", self._semantic, "max.graph.Graph.module"
        )
        machine = write_machine(dump_dir, self._facts.codes, self._target != "cpu")
        return (semantic, *write_dumps(dump_dir, dumps), machine)

    def _steps(self, trace: Sequence[Observed] | None) -> list[Step]:
        if self._target == "cpu":
            return host_steps(self._invocation, self._facts.codes)
        if trace is None:
            return compiled_steps(self._invocation, self._facts.codes)
        return observed_steps(self._invocation, self._facts.codes, trace)

    def _notes(self, trace: Sequence[Observed] | None) -> list[str]:
        notes = [
            f"{self._program.outputs[self._invocation.outputs.index(name)]}: {each.bytes:,} bytes, align {each.align}"
            for name, each in self._invocation.allocations.items()
            if name in self._invocation.outputs
        ]
        notes += [f"outside the routines MAX also does: {name}" for name in dict.fromkeys(self._invocation.other)]
        if self._target != "cpu" and trace is None:
            notes.append(
                "compiled, never run: activities are those the host code refers to, in that order; grids are open"
            )
        if self._target == "cpu":
            notes.append("a routine spreads its work over MAX's own thread pool; that is no launch of its own")
        return notes

    def _semantic_lines(self) -> list[Correspondence]:
        return [
            Correspondence(program_op=name, stage=STAGE, lines=node.lines)
            for node in self._graph.nodes
            for name in node.program_ops
            if node.lines is not None and name in self._names
        ]

    def _alternatives(self, plan: Plan) -> Search | None:
        """Kernels that MAX compiled into a routine beside a library call, for the same contraction."""
        launched = {launch.name for launch in plan.launches}
        found = [
            Candidate(
                name=kernel.name,
                chosen=kernel.name in launched,
                parameters={"routine": routine.name, "instruction": kernel.instruction},
                refused=""
                if kernel.name in launched
                else "the routine's host code calls the library; this is its other branch",
            )
            for routine, code in zip(self._invocation.routines, self._facts.codes, strict=True)
            for kernel in code.kernels
            if kernel not in launched_kernels(code)
        ]
        if not found:
            return None
        scope = "implementations of a contraction compiled into one routine; chosen by its host code, none is timed"
        return Search(scope=scope, tried=0, seconds=0.0, candidates=tuple(found))
