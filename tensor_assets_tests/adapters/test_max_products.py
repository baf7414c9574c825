"""No matrix product goes missing from a plan of MAX: what an H200's trace, object and SASS said of three programs."""

from __future__ import annotations

import pytest
from tensor_worker.artifacts import Plan
from tensor_worker.program import Op, Program, Value

from tensor_assets_tests.adapters.test_max import TEXTS, code, invocation, module

M, K, N = 1024, 768, 1024
X, W = Value(name="x", shape=(M, K), dtype="f16"), Value(name="w", shape=(K, N), dtype="f16")
CLEARING = module("planning").Observed(kind="memset", name="cuMemset", bytes=33_554_432)


def matmul(name: str, *of: str) -> Op:
    return Op(name=name, op="matmul", of=of, shape=(M, N), dtype="f16")


def program(workload: str, third: Value, *ops: Op) -> Program:
    return Program(workload=workload, shape="matrix", inputs=(X, W, third), ops=ops, outputs=(ops[-1].name,))


CHAIN = program(
    "projection_chain", Value(name="v", shape=(N, N), dtype="f16"), matmul("p", "x", "w"), matmul("y", "p", "v")
)
OUTPUT_SCALE = program(
    "output_scale",
    Value(name="s", shape=(N,), dtype="f16"),
    matmul("p", "x", "w"),
    Op(name="y", op="mul", of=("p", "s"), shape=(M, N), dtype="f16"),
)
INPUT_SCALE = program(
    "input_scale",
    Value(name="s", shape=(K,), dtype="f16"),
    Op(name="xs", op="mul", of=("x", "s"), shape=(M, K), dtype="f16"),
    matmul("p", "xs", "w"),
)
NAIVE, EPILOGUE, FOREACH = "matmul_kernel_naive_1", "elementwise_r2_w8_b256_2", "mogg_foreach_r2_w8_b256_3"
# Of each kernel, the lines that multiply.
SASS = {
    NAIVE: "        /*0340*/              @!P0 FFMA R21, R10, R11, R21 ;\n",
    EPILOGUE: (
        "        /*0250*/                   HFMA2.MMA R8, -RZ, RZ, 0, 0 ;\n"
        "        /*03e0*/                   HFMA2.MMA R10, R14, R10, -RZ ;\n"
        "        /*03f0*/                   HMUL2 R11, R15, R11 ;\n"
    ),
    FOREACH: "        /*02d0*/                   HFMA2.MMA R10, R10, R14, -RZ ;\n",
}


def instruction(name: str) -> str:
    return module("sass").contracting_instruction(name, SASS[name])


def held(name: str) -> tuple[str, str]:
    return name, instruction(name)


def launched(name: str):
    return module("planning").Observed(kind="kernel", name=name, grid=(512, 1, 1), block=(256, 1, 1))


def planned(of: Program, codes, trace=None) -> Plan:
    """With a trace as on a GPU, without one as compiled."""
    planning, found = module("planning"), invocation(f"{of.workload}.gpu", of)
    steps = planning.compiled_steps(found, codes) if trace is None else planning.observed_steps(found, codes, trace)
    mgp = (TEXTS / f"{of.workload}.gpu.mgp.mlir").read_text()
    return planning.make_plan(of, found, steps, mgp, planning.inferred_notes(found, codes, steps))


def chain_codes():
    """Neither part refers to the library: both calls stand in blocks behind the last part."""
    parts = [code("f", kernels=[held(NAIVE)]), code("f", kernels=[held(NAIVE)])]
    return module("dispatches").share_fetched(parts, [True, True], ("cublasGemmEx",))


def input_scale_codes():
    parts = [code("f", kernels=[held(FOREACH)]), code("f", kernels=[held(NAIVE)])]
    return module("dispatches").share_fetched(parts, [False, True], ("cublasGemmEx",))


def output_scale_codes():
    return [code("f", library=("cublasGemmEx",), kernels=[held(NAIVE), held(EPILOGUE)])]


def shown(plan: Plan) -> list[tuple[str, str, tuple[str, ...], str]]:
    return [(launch.kind, launch.name, launch.computes, launch.instruction) for launch in plan.launches]


MEMSET = ("memset", "cuMemset", (), "")


def library(name: str) -> tuple[str, str, tuple[str, ...], str]:
    return "library", "cublasGemmEx", (name,), ""


class TestInstruction:
    def test_packed_arithmetic_of_fp16_is_no_matrix_instruction(self):
        assert [instruction(name) for name in (NAIVE, EPILOGUE, FOREACH)] == ["FFMA", "", ""]
        assert module("sass").contracting_instruction("kernel", SASS[EPILOGUE]) == ""

    def test_an_elementwise_kernel_contracts_nothing_whatever_it_multiplies(self):
        find = module("sass").contracting_instruction
        assert find(EPILOGUE, SASS[NAIVE]) == find(FOREACH, SASS[NAIVE]) == ""

    def test_the_strongest_multiply_add_names_the_kernel(self):
        sass = SASS[NAIVE] + "        /*0a00*/                   HGMMA.64x128x16.F32 R24, gdesc[UR4], R24 ;\n"
        assert module("sass").contracting_instruction("gemm", sass) == "HGMMA.64x128x16.F32"


class TestObserved:
    """The trace shows a cleared workspace, and not the kernel that cuBLAS launches after it."""

    def test_a_scaled_output_is_a_product_of_the_library_and_a_kernel_that_scales(self):
        plan = planned(OUTPUT_SCALE, output_scale_codes(), [CLEARING, launched(EPILOGUE)])
        assert shown(plan) == [MEMSET, library("p"), ("kernel", EPILOGUE, ("y",), "")]
        assert [(each.boundary, each.launch) for each in plan.roundings] == [("p", 1), ("y", 2)]

    def test_a_scaled_input_is_a_kernel_that_scales_and_a_product_of_the_library(self):
        plan = planned(INPUT_SCALE, input_scale_codes(), [launched(FOREACH), CLEARING])
        assert shown(plan) == [("kernel", FOREACH, ("xs",), ""), MEMSET, library("p")]

    def test_a_kernel_beside_the_product_names_no_instruction_even_if_it_sums_products(self):
        scaled = code("f", kernels=[("rows", "FFMA")])
        plan = planned(INPUT_SCALE, [scaled, input_scale_codes()[1]], [launched("rows"), CLEARING])
        assert shown(plan) == [("kernel", "rows", ("xs",), ""), MEMSET, library("p")]

    def test_each_product_of_a_chain_follows_the_clearing_of_its_workspace(self):
        plan = planned(CHAIN, chain_codes(), [CLEARING, CLEARING])
        assert shown(plan) == [MEMSET, library("p"), MEMSET, library("y")]

    def test_a_call_that_is_inferred_is_said_to_be(self):
        inferred = [note for note in planned(CHAIN, chain_codes(), [CLEARING] * 2).notes if " computes " in note]
        assert [note.split(";")[0] for note in inferred] == [
            "inferred: cublasGemmEx computes p", "inferred: cublasGemmEx computes y",
        ]  # fmt: skip
        certain = planned(OUTPUT_SCALE, output_scale_codes(), [CLEARING, launched(EPILOGUE)])
        assert not any(" computes " in note for note in certain.notes)

    def test_a_library_kernel_that_the_trace_shows_is_not_inferred(self):
        plan = planned(CHAIN, chain_codes(), [CLEARING, launched("nvjet"), CLEARING, launched("nvjet")])
        assert [(kind, computes) for kind, _, computes, _ in shown(plan)] == [
            ("memset", ()), ("library", ("p",)), ("memset", ()), ("library", ("y",)),
        ]  # fmt: skip
        assert not any("inferred" in note for note in plan.notes)


class TestWhole:
    """A plan in which no launch computes a product says so."""

    @pytest.mark.parametrize(
        ("of", "parts", "trace", "missing"),
        [
            (CHAIN, 2, [CLEARING, CLEARING], ["p", "y"]),
            (INPUT_SCALE, 2, [CLEARING], ["xs", "p"]),
            (OUTPUT_SCALE, 1, [launched(EPILOGUE)], ["p"]),
        ],
        ids=lambda value: value.workload if isinstance(value, Program) else "",
    )
    def test_what_nothing_computes_is_named(self, of, parts, trace, missing):
        codes = [code("f", kernels=[held(NAIVE), held(EPILOGUE)])] * parts
        plan = planned(of, codes, trace)
        notes = [note for note in plan.notes if "nothing seen" in note]
        assert notes == [f"nothing seen that computes {name}" for name in missing]

    @pytest.mark.parametrize(
        ("of", "codes", "trace"),
        [
            (CHAIN, chain_codes(), [CLEARING, CLEARING]),
            (INPUT_SCALE, input_scale_codes(), [launched(FOREACH), CLEARING]),
            (OUTPUT_SCALE, output_scale_codes(), [CLEARING, launched(EPILOGUE)]),
        ],
        ids=lambda value: value.workload if isinstance(value, Program) else "",
    )
    @pytest.mark.parametrize("traced", [True, False], ids=["traced", "compiled"])
    def test_what_is_computed_is_not_named(self, of, codes, trace, traced):
        plan = planned(of, codes, trace if traced else None)
        assert not any("nothing seen" in note for note in plan.notes)
        assert {name for launch in plan.launches for name in launch.computes} == {op.name for op in of.ops}

    def test_a_scaling_kernel_alone_is_no_product_of_a_build_either(self):
        plan = planned(OUTPUT_SCALE, [code("f", kernels=[held(EPILOGUE)])])
        assert shown(plan) == [("kernel", EPILOGUE, ("y",), "")]
        assert "nothing seen that computes p" in plan.notes


class TestLedger:
    def contraction(self, codes, trace):
        plan = planned(CHAIN, codes, trace)
        found = invocation("projection_chain.gpu", CHAIN)
        texts = dict.fromkeys(("semantic", "mo", "mapped", "fused", "mgp"), "")
        owners = (None,) * len(plan.launches)  # of no consequence for a contraction
        case = module("ledger").Case(CHAIN, found, plan, texts, (), True, {}, owners)
        return next(each for each in module("ledger").decisions(case) if each.subject == "contraction p")

    def test_the_library_is_named(self):
        decision = self.contraction(chain_codes(), [CLEARING, CLEARING])
        assert decision.result == "kept as one matmul, cuBLAS (cublasGemmEx)"
        assert decision.fixes == "library or generated code"

    def test_a_kernel_for_a_gpu_has_nothing_of_a_cpu(self):
        decision = self.contraction(chain_codes(), [launched(NAIVE), launched(NAIVE)])
        assert decision.result == "kept as one matmul, generated from builtin_kernels.linalg.MatmulGPU"
        assert "CPU" not in decision.fixes

    def test_a_product_that_nothing_is_seen_to_compute_is_no_kernels(self):
        decision = self.contraction([code("f"), code("f")], [CLEARING, CLEARING])
        assert decision.result == "kept as one matmul, nothing seen that computes it"
        assert (decision.fixes, decision.confirmed_by) == ("", "")
