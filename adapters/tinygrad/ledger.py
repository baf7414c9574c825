"""The decisions that a reviewer would write down, drafted from what was captured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensor_worker.activities import activity
from tensor_worker.artifacts import Decision, Plan, Rounding
from tensor_worker.program import Op, Program
from tinygrad.codegen.opt import OptOps

from .fusion import Fusion
from .kernels import Kernel
from .rounding import rounded_by_cast
from .semantic import STAGE, TensorGraph
from .spelling import spell
from .stages import Machine, code_stage, machine_stage

_HEURISTIC = "hand_coded_optimizations (codegen/opt/heuristic.py)"
_BEAM = "beam_search (codegen/opt/search.py)"


class Ledger:
    """Drafts decisions for one compiled program."""

    def __init__(
        self, program: Program, graph: TensorGraph, kernels: Sequence[Kernel], machines: Sequence[Machine],
        fusions: Sequence[Fusion], plan: Plan, searched: bool,
    ) -> None:  # fmt: skip
        self._program, self._graph, self._plan = program, graph, plan
        self._kernels, self._machines, self._fusions = kernels, machines, fusions
        self._chooser = _BEAM if searched else _HEURISTIC

    def decisions(self) -> tuple[Decision, ...]:
        return tuple(self._drafted())

    def _drafted(self) -> Iterator[Decision]:
        for op in self._program.ops:
            if op.op == "transpose":
                yield self._transpose(op)
            if op.op == "matmul":
                yield from self._contraction(op)
        yield self._kernel_boundaries()
        for index, kernel in enumerate(self._kernels):
            yield self._schedule(index, kernel)
        yield from self._roundings()

    def _transpose(self, op: Op) -> Decision:
        index, kernel = self._kernel_of(op)
        alone = self._fusions[index].computes == (op.name,)
        return Decision(
            subject=f"transpose {op.name} of {op.of[0]}",
            result=f"stored by {kernel.name}" if alone else f"absorbed into the loads of {kernel.name}",
            before=self._semantic(op),
            after=code_stage(index),
            mechanism="movement operations become index arithmetic (schedule/indexing.py, apply rangeify)",
            preconditions=("a movement operation of a buffer, read by one kernel",),
            fixes="no copy of the operand in memory" if not alone else "a copy of the operand in memory",
            leaves_open="how the strided loads coalesce",
            confirmed_by=f"{len(self._kernels)} kernel(s); no buffer of {op.name}" if not alone else "its own kernel",
        )

    def _contraction(self, op: Op) -> Iterator[Decision]:
        index, kernel = self._kernel_of(op)
        tensor_core = next((opt for opt in kernel.sink.arg.applied_opts if opt.op is OptOps.TC), None)
        instruction = self._machines[index].instruction
        yield Decision(
            subject=f"contraction {op.name}",
            result="expanded into MUL, CAST and REDUCE over a virtual product",
            before="program",
            after=self._semantic(op),
            mechanism="Tensor.dot: (x*w).sum(dtype=float32) (mixin/op.py)",
            fixes="views, contraction and epilogue are one kind of graph",
            leaves_open="whether a tensor core is found again",
            confirmed_by="no UOp of the tensor graph is a matrix multiplication",
        )
        yield Decision(
            subject=f"contraction {op.name}: instruction",
            result=f"recovered as {instruction}" if tensor_core else f"stays scalar: {instruction or 'no multiply'}",
            before="kernels",
            after=machine_stage(index),
            mechanism=f"{spell(tensor_core)}, {self._chooser}" if tensor_core else f"no TC option by {self._chooser}",
            preconditions=("CAST to FP32 of a product of two FP16 loads", "sizes that are multiples of the core's"),
            fixes="products are exact" if tensor_core else self._products(index),
            leaves_open="order of the sum",
            confirmed_by=f"{machine_stage(index)} shows {instruction}" if instruction else "",
        )

    def _products(self, index: int) -> str:
        instruction = self._machines[index].instruction
        if instruction.startswith("H"):
            return f"products are rounded to FP16 ({instruction}), which the contract forbids"
        return "products are computed in FP32"

    def _kernel_boundaries(self) -> Decision:
        groups = "; ".join(", ".join(fusion.computes) for fusion in self._fusions)
        stored = [buffer.name for buffer in self._plan.buffers if buffer.role == "intermediate"]
        return Decision(
            subject="kernel boundaries",
            result=f"{len(self._kernels)} kernel(s): {groups}",
            before=STAGE,
            after="kernels",
            mechanism="get_kernel_graph (schedule/rangeify.py)",
            preconditions=("a buffer at outputs, at contiguous, and where two kernels cannot share their ranges",),
            fixes="what lies in memory: " + (", ".join(stored) if stored else "no intermediate"),
            leaves_open="loop order and tiles of each kernel",
            confirmed_by=f"the schedule holds {len(self._kernels)} call(s)",
        )

    def _schedule(self, index: int, kernel: Kernel) -> Decision:
        opts = ", ".join(spell(opt) for opt in kernel.sink.arg.applied_opts) or "none"
        launch = self._plan.launches[index]
        threads = launch.parameters.get("threads")
        shape = f"grid {launch.grid}, block {launch.block}" if launch.grid else f"{threads} thread(s)"
        return Decision(
            subject=f"schedule of {kernel.name}",
            result=opts,
            before="kernels",
            after="optimized",
            mechanism=self._chooser,
            fixes=shape,
            leaves_open="registers and instruction order, left to clang or NVRTC and the driver",
            confirmed_by=f"linearized, {code_stage(index)}",
        )

    def _roundings(self) -> Iterator[Decision]:
        for rounding in self._plan.roundings:
            yield Decision(
                subject=f"rounding of {rounding.boundary}",
                result=f"in {activity(rounding.launch)}" + ("" if rounding.certain else ", by its store alone"),
                before=STAGE,
                after=code_stage(rounding.launch),
                mechanism=self._rounding_mechanism(rounding),
                fixes=f"{rounding.boundary} is an FP16 value",
                confirmed_by=rounding.evidence,
            )

    def _rounding_mechanism(self, rounding: Rounding) -> str:
        op = self._program.value(rounding.boundary)
        if isinstance(op, Op) and rounded_by_cast(self._graph, op):
            return "CAST to half in the graph"
        return "an operation on FP16 values" if rounding.certain else "FP16 type of the buffer"

    def _kernel_of(self, op: Op) -> tuple[int, Kernel]:
        """The first kernel that computes the op."""
        for index, fusion in enumerate(self._fusions):
            if op.name in fusion.computes:
                return index, self._kernels[index]
        raise RuntimeError(f"no kernel computes {op.name}")

    def _semantic(self, op: Op) -> str:
        lines, owners = self._graph.lines, self._graph.owners
        numbers = [lines[uop] for uop, names in owners.items() if op.name in names and uop in lines]
        return f"{STAGE}:{min(numbers)}-{max(numbers)}" if numbers else STAGE
