"""The decisions that a reviewer would write down, drafted from what was captured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tensor_worker.activities import activity
from tensor_worker.artifacts import Decision, Launch, Plan
from tensor_worker.program import Op, Program

from .plan import Called
from .rules import Replay, Scheduled
from .stages import MACHINE, SCHEDULES, SOURCE

_PATTERN = "FuseOps (relax/transform): joins a contraction with the elementwise operations that follow it"


class Ledger:
    """Drafts decisions for one compiled program. ``ran`` is what the virtual machine called, in order."""

    def __init__(
        self, program: Program, called: Sequence[Called], plan: Plan, scheduled: Sequence[Scheduled],
        replays: Mapping[str, Replay | None], ran: Sequence[str],
    ) -> None:  # fmt: skip
        self._program, self._called, self._plan, self._ran = program, called, plan, ran
        self._scheduled, self._replays = scheduled, replays

    def decisions(self) -> tuple[Decision, ...]:
        return tuple(self._drafted())

    def _drafted(self) -> Iterator[Decision]:
        for op in self._program.ops:
            if op.op == "transpose":
                yield self._transpose(op)
            if op.op == "matmul":
                yield self._contraction(op)
        yield self._groups()
        for one in self._scheduled:
            yield self._schedule(one)
        yield from self._roundings()

    def _transpose(self, op: Op) -> Decision:
        index, one = self._call_of(op)
        alone = one.call.computes == (op.name,)
        return Decision(
            subject=f"transpose {op.name} of {op.of[0]}",
            result=f"stored by {one.call.function}" if alone else f"read in place by {one.call.function}",
            before="relax",
            after="fused",
            mechanism=(
                "LegalizeOps makes it a function of its own; FuseOps joins nothing into the front of a contraction"
                if alone
                else "FuseTransposeMatmul (relax/transform/fuse_transpose_matmul.py)"
            ),
            preconditions=("permute_dims of the last two axes, read by one matmul",),
            fixes=f"{self._bytes(op.name)} bytes written and read again" if alone else "no copy of the operand",
            leaves_open="how the schedule walks the operand",
            confirmed_by=self._confirmation(index),
        )

    def _contraction(self, op: Op) -> Decision:
        index, one = self._call_of(op)
        instruction = next((launch.instruction for launch in self._launches(index) if launch.instruction), "")
        rule = next((found for found in self._scheduled if found.function == one.call.function), None)
        intrinsics = ", ".join(rule.intrinsics) if rule and rule.intrinsics else ""
        return Decision(
            subject=f"contraction {op.name}",
            result=f"one loop nest, tensorized to {instruction}" if intrinsics else f"one loop nest: {instruction}",
            before="relax",
            after=MACHINE,
            mechanism=f"LegalizeOps, then {self._rule_words(rule)}",
            preconditions=("out_dtype float32: both operands are widened in the loop body",),
            fixes=f"products in FP32, {intrinsics}" if intrinsics else "products in FP32",
            leaves_open="instruction order, left to NVRTC or LLVM",
            confirmed_by=f"{MACHINE} shows {instruction}" if instruction else "",
        )

    def _groups(self) -> Decision:
        groups = "; ".join(f"{one.call.function}: {', '.join(one.call.computes)}" for one in self._called)
        intermediates = [buffer for buffer in self._plan.buffers if buffer.role == "intermediate"]
        stored = [f"{buffer.name} ({buffer.bytes} bytes)" for buffer in intermediates]
        return Decision(
            subject="fusion",
            result=groups,
            before="legalized",
            after="fused",
            mechanism=_PATTERN,
            preconditions=("an operation's pattern (AnnotateTIROpPattern)", "one reader inside the group"),
            fixes="what lies in memory: " + (", ".join(stored) if stored else "no intermediate"),
            leaves_open="loops inside each function",
            confirmed_by=f"the virtual machine ran {', '.join(self._ran)}" if self._ran else "the bytecode's calls",
        )

    def _schedule(self, one: Scheduled) -> Decision:
        again = self._replays.get(one.function)
        declined = f"; declined: {', '.join(one.declined)}" if one.declined else ""
        return Decision(
            subject=f"schedule of {one.function}",
            result=f"{one.rule or 'no rule'}{declined}",
            before="fused",
            after="dlight",
            mechanism="ApplyDefaultSchedule (s_tir/dlight/base/transform.py)",
            preconditions=("rules are asked in order, the first that answers is taken",),
            fixes=f"{again.instructions} instructions in {SCHEDULES}" if again else "nothing",
            leaves_open="storage and synchronization, lowered by later passes",
            confirmed_by=self._replay_words(again),
        )

    def _roundings(self) -> Iterator[Decision]:
        for rounding in self._plan.roundings:
            yield Decision(
                subject=f"rounding of {rounding.boundary}",
                result=f"in {activity(rounding.launch)}",
                before="relax",
                after=SOURCE,
                mechanism="TensorIR types: every value of the group has its own buffer type",
                fixes=f"{rounding.boundary} is an FP16 value",
                confirmed_by=rounding.evidence,
            )

    def _rule_words(self, rule: Scheduled | None) -> str:
        if rule is None:
            return "no schedule (the CPU pipeline has none)"
        return f"DLight {rule.rule}" if rule.rule else "no DLight rule"

    @staticmethod
    def _replay_words(again: Replay | None) -> str:
        if again is None:
            return ""
        return f"replayed: structurally equal {again.equal}, from JSON {again.equal_from_json}"

    def _confirmation(self, index: int) -> str:
        if self._ran:
            return f"the virtual machine ran {', '.join(self._ran)}"
        return f"call {index + 1} of the bytecode"

    def _launches(self, call: int) -> Sequence[Launch]:
        start = sum(len(one.kernels) for one in self._called[:call])
        return self._plan.launches[start : start + len(self._called[call].kernels)]

    def _bytes(self, name: str) -> int:
        return next((buffer.bytes for buffer in self._plan.buffers if buffer.name == name), 0)

    def _call_of(self, op: Op) -> tuple[int, Called]:
        """The first call that computes the op."""
        for index, one in enumerate(self._called):
            if op.name in one.call.computes:
                return index, one
        raise RuntimeError(f"no call computes {op.name}")
