"""What admission must say of each wrong compiler, and about which programs it is right after all."""

from __future__ import annotations

from typing import NamedTuple

from tensor_assets.records import Admission
from tensor_assets_tests.adversary import equivalence as eq
from tensor_assets_tests.adversary.compiler.adapter import WRONG

# What admission says of elements that are no numbers: true of many a wrong compiler, whatever else it is called.
_NO_NUMBERS = ("infinite or NaN", "NaN:")


class Suspect(NamedTuple):
    """``form`` is what the first form verdict that fails starts with, ``boundary`` what the admission's boundary has in
    it. With a ``form`` the boundary may also be unnamed. With neither, nothing may be named: there is no name for it.
    """

    name: str
    boundary: tuple[str, ...] = ()
    form: tuple[str, ...] = ()
    same: eq.Proof = eq.never

    def named(self, admission: Admission) -> bool:
        """Whether a rejection gives the right name, and no other."""
        forms = [verdict.reason for verdict in admission.verdicts if verdict.kind == "form" and not verdict.passed]
        fits = any(words in admission.boundary for words in self.boundary)
        if self.form:
            return forms[:1] != [] and forms[0].startswith(self.form) and (fits or not admission.boundary)
        return all(reason.startswith(_NO_NUMBERS) for reason in forms) and fits == bool(
            admission.boundary or self.boundary
        )


_CONTRACTION = eq.without(("matmul",), "contraction")

SUSPECTS: tuple[Suspect, ...] = (
    Suspect(
        "projection not rounded",
        ("projection not rounded",),
        same=eq.nothing_reads(lambda op: op.op == "matmul", "projection"),
    ),
    Suspect(
        "intermediate not rounded",
        ("intermediate not rounded",),
        same=eq.nothing_reads(lambda op: op.op != "matmul", "intermediate"),
    ),
    Suspect(
        "nothing rounded",
        ("projection not rounded", "intermediate not rounded", "no boundary rounded"),
        same=eq.nothing_reads(lambda op: True, "boundary"),
    ),
    Suspect("products rounded", ("product rounded",), same=eq.no_products),
    Suspect("BF16 operands", ("BF16 operands",), same=_CONTRACTION),
    Suspect("FP16 accumulation", ("FP16 accumulation",)),
    Suspect("FP16 accumulation, pairwise", ("FP16 accumulation",)),
    Suspect("FP16 accumulation in a matrix unit", ("FP16 accumulation",)),
    Suspect("BF16 accumulation", ("BF16 accumulation",)),
    Suspect("TF32 partial sums", ("TF32 partial sums",)),
    Suspect("split-K in FP16", ("split-K in FP16",), same=_CONTRACTION),
    Suspect("interior stored in FP16", ("interior rounded to FP16",), same=eq.interior_is_exact),
    Suspect(
        "reduction stored in FP16", ("interior rounded to FP16",), same=eq.without(("sum", "mean"), "reduction's sum")
    ),
    Suspect("subnormals flushed", ("subnormals flushed",)),
    Suspect("subnormal operands flushed", ("subnormal operands flushed",), same=_CONTRACTION),
    Suspect("rounding toward zero", ("rounded toward zero",)),
    Suspect("ties rounded away", ("ties rounded away",), same=eq.undecided_ties),
    Suspect("epilogue reordered", ("epilogue order changed",), same=eq.no_chained_sums),
    Suspect("K off by one", ("last term of",)),
    Suspect("weight misread", ("weight read along its other axis",), same=_CONTRACTION),
    Suspect("sum negated", ("wrong sign",), same=eq.without(("add", "sub"), "sum to negate")),
    Suspect("result negated", ("sign flipped",)),
    Suspect("saturated", ("saturated at 448",), same=eq.bounded_results),
    Suspect("NaN on zeros", form=("NaN:",)),
    Suspect("maximum not subtracted", ("maximum not subtracted",), same=eq.without(("max",), "maximum")),
    Suspect("activation missing", same=eq.without(("relu",), "activation")),
    Suspect("epilogue operand shifted", same=eq.without(("add", "mul"), "epilogue")),
    Suspect("number forgotten", ("number left out",), same=eq.no_numbers),
    Suspect("number wrong", same=eq.no_numbers),
    Suspect("outputs swapped", ("outputs swapped",), same=eq.one_output),
    Suspect("tail tile missing", ("last ",), ("unwritten output",)),
    Suspect("tail tile cut", ("last ",)),
    Suspect("block unwritten", ("only rows",), ("unwritten output",)),
    Suspect("stale output", form=("stale output",)),
    Suspect("replay by pointer", form=("stale output: the answer to fixture search",)),
    Suspect("constant output", form=("constant answer",)),
    Suspect("input mutated", form=("mutated input",)),
    Suspect("input spoiled on the device", form=("depends on earlier invocations: right before, wrong now",)),
    Suspect("wrong dtype", form=("wrong dtype float32",)),
    Suspect("stored transposed", ("output stored transposed",)),
    Suspect("wrong strides", ("output read with its strides exchanged", "output stored transposed")),
    Suspect("zero-size output", form=("wrong shape [0, ",)),
    Suspect("late write", form=("unwritten output",)),
    Suspect("workspace not cleared", form=("depends on earlier invocations",)),
    Suspect("invocation count", form=("depends on earlier invocations: right before, wrong now",)),
)

assert [suspect.name for suspect in SUSPECTS] == list(WRONG)
