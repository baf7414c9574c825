"""Right and wrong compilers behind the worker protocol, one a variant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tensor_worker.adapter import Adapter, Implementation, Unsupported
from tensor_worker.messages import PROTOCOL, Compile, Greeting, Variant

from . import behaviours, orders, roundings, slips
from .arithmetic import Arithmetic, Array
from .implementation import Compiled


class Compiler(NamedTuple):
    """What it computes, and how it behaves while it does."""

    arithmetic: type[Arithmetic] = Arithmetic
    implementation: type[Compiled] = Compiled


RIGHT: dict[str, Compiler] = {
    "library": Compiler(Arithmetic),
    "sequential": Compiler(orders.Ordered),
    "reversed": Compiler(orders.Reversed),
    "shuffled": Compiler(orders.Shuffled),
    "pairwise": Compiler(orders.Pairwise),
    "blocked": Compiler(orders.Blocked),
    "split-K in FP32": Compiler(orders.SplitK),
    "eight lanes": Compiler(orders.Lanes),
    "fused multiply-add": Compiler(orders.Fused),
    "truncating groups of eight": Compiler(orders.TruncatingGroups),
    "truncating groups of four": Compiler(orders.SmallGroups),
    "Kahan": Compiler(orders.Kahan),
    "approximate functions": Compiler(orders.Approximate),
    "negative zeros": Compiler(orders.NegativeZeros),
}

WRONG: dict[str, Compiler] = {
    "projection not rounded": Compiler(roundings.ProjectionNotRounded),
    "intermediate not rounded": Compiler(roundings.IntermediateNotRounded),
    "nothing rounded": Compiler(roundings.NothingRounded),
    "products rounded": Compiler(roundings.ProductsRounded),
    "BF16 operands": Compiler(roundings.BrainOperands),
    "FP16 accumulation": Compiler(roundings.HalfAccumulation),
    "FP16 accumulation, pairwise": Compiler(roundings.PairwiseHalfAccumulation),
    "FP16 accumulation in a matrix unit": Compiler(roundings.HalfMatrixUnit),
    "BF16 accumulation": Compiler(roundings.BrainAccumulation),
    "TF32 partial sums": Compiler(roundings.TensorFloatPartials),
    "split-K in FP16": Compiler(roundings.SplitHalf),
    "interior stored in FP16": Compiler(roundings.InteriorStored),
    "reduction stored in FP16": Compiler(roundings.ReductionStored),
    "subnormals flushed": Compiler(roundings.SubnormalsFlushed),
    "subnormal operands flushed": Compiler(roundings.OperandsFlushed),
    "rounding toward zero": Compiler(roundings.TowardZero),
    "ties rounded away": Compiler(roundings.TiesAway),
    "epilogue reordered": Compiler(slips.EpilogueReordered),
    "K off by one": Compiler(slips.LastTermMissing),
    "weight misread": Compiler(slips.WeightMisread),
    "sum negated": Compiler(slips.SumNegated),
    "result negated": Compiler(slips.ResultNegated),
    "saturated": Compiler(slips.Saturated),
    "NaN on zeros": Compiler(slips.NanOnZeros),
    "maximum not subtracted": Compiler(slips.MaximumKept),
    "activation missing": Compiler(slips.ActivationMissing),
    "epilogue operand shifted": Compiler(slips.EpilogueShifted),
    "number forgotten": Compiler(slips.NumberForgotten),
    "number wrong": Compiler(slips.NumberWrong),
    "outputs swapped": Compiler(slips.OutputsSwapped),
    "tail tile missing": Compiler(implementation=behaviours.TailTileMissing),
    "tail tile cut": Compiler(implementation=behaviours.TailTileCut),
    "block unwritten": Compiler(implementation=behaviours.BlockUnwritten),
    "stale output": Compiler(implementation=behaviours.Stale),
    "replay by pointer": Compiler(implementation=behaviours.Replay),
    "constant output": Compiler(implementation=behaviours.Constant),
    "input mutated": Compiler(implementation=behaviours.InputMutated),
    "input spoiled on the device": Compiler(implementation=behaviours.InputSpoiled),
    "wrong dtype": Compiler(implementation=behaviours.WrongDtype),
    "stored transposed": Compiler(implementation=behaviours.StoredTransposed),
    "wrong strides": Compiler(implementation=behaviours.WrongStrides),
    "zero-size output": Compiler(implementation=behaviours.ZeroSize),
    "late write": Compiler(implementation=behaviours.LateWrite),
    "workspace not cleared": Compiler(implementation=behaviours.Accumulating),
    "invocation count": Compiler(implementation=behaviours.Counting),
}

COMPILERS = RIGHT | WRONG


class AdversaryAdapter(Adapter):
    name = "adversary"

    def greeting(self) -> Greeting:
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=np.__version__,
            versions={"numpy": np.__version__},
            toolchain={},
            variants=tuple(
                Variant(name=name, summary=name, targets=("cpu",), keeps_contract=name in RIGHT) for name in COMPILERS
            ),
        )

    def compile(self, request: Compile, inputs: Mapping[str, Array], dump_dir: Path) -> Implementation:
        if request.variant not in COMPILERS:
            raise Unsupported(f"no compiler is called {request.variant}")
        arithmetic, implementation = COMPILERS[request.variant]
        return implementation(request.program, arithmetic, dump_dir)


ADAPTER = AdversaryAdapter
