"""MAX's routines are told by all their device activities, and what no trace shows stands in its place by a rule."""

from __future__ import annotations

import pytest
from tensor_worker.program import Op, Value

from tensor_assets_tests.adapters.test_max import SOFTMAX, TEXTS, WEIGHT_VIEW, code, invocation, module
from tensor_assets_tests.adapters.test_max_products import (
    CHAIN,
    CLEARING,
    EPILOGUE,
    FOREACH,
    INPUT_SCALE,
    NAIVE,
    OUTPUT_SCALE,
    K,
    M,
    N,
    chain_codes,
    held,
    input_scale_codes,
    launched,
    matmul,
    output_scale_codes,
    planned,
    program,
)

NVJET = launched("nvjet_sm90_hsh")
JOIN = program(
    "projection_join",
    Value(name="v", shape=(K, N), dtype="f16"),
    matmul("p", "x", "w"),
    matmul("q", "x", "v"),
    Op(name="y", op="add", of=("p", "q"), shape=(M, N), dtype="f16"),
)


def join_codes():
    """MAX multiplies for q alone, then for p with the addition that reads both."""
    library = ("cublasGemmEx",)
    return [code("f", library, [held(NAIVE)]), code("g", library, [held(NAIVE), held(EPILOGUE)])]


def weight_view_codes():
    return [code("f", ("cublasGemmEx",), [held(NAIVE), held(EPILOGUE)])]


def fusions(of, codes, trace, name: str = "") -> dict[str, str]:
    """What the ledger says of each fused routine."""
    name = name or f"{of.workload}.gpu"
    planning, found = module("planning"), invocation(name, of)
    steps = planning.observed_steps(found, codes, trace)
    plan = planning.make_plan(of, found, steps, (TEXTS / f"{name}.mgp.mlir").read_text(), [])
    texts = dict.fromkeys(("semantic", "mo", "mapped", "fused", "mgp"), "")
    owners = planning.owning_routines(steps)
    case = module("ledger").Case(of, found, plan, texts, (), True, {}, owners)
    return {each.subject: each.result for each in module("ledger").decisions(case) if "fusion of" in each.subject}


class TestCounts:
    """A memset is a device activity like a kernel: it is counted and named."""

    THREE = "one routine, 3 device activities: memset, library, kernel"

    @pytest.mark.parametrize(
        "trace", [[CLEARING, NVJET, launched(EPILOGUE)], [CLEARING, launched(EPILOGUE)]], ids=["traced", "by rule"]
    )
    def test_the_clearing_of_a_workspace_is_one_of_its_routines(self, trace):
        assert fusions(WEIGHT_VIEW, weight_view_codes(), trace) == {"fusion of p, y": self.THREE}

    def test_each_routine_has_its_own_clearing_and_no_others(self):
        found = fusions(JOIN, join_codes(), [CLEARING, CLEARING, launched(EPILOGUE)])
        assert found == {"fusion of p, y": self.THREE}

    def test_a_copy_before_a_call_is_not_the_routines(self):
        copy = module("planning").Observed(kind="memcpy", name="cuMemcpy", bytes=64)
        found = fusions(WEIGHT_VIEW, weight_view_codes(), [copy, NVJET, launched(EPILOGUE)])
        assert found == {"fusion of p, y": "one routine, 2 device activities: library, kernel"}

    def test_what_two_routines_compute_is_counted_for_each_alone(self):
        names = [f"rows_{number}" for number in range(4)]
        codes = [code("f", kernels=[(name,)]) for name in names]
        found = fusions(SOFTMAX, codes, [launched(name) for name in names], "softmax")
        assert set(found.values()) == {"one routine, one call of generated code"}
        assert list(found) == ["fusion of d, e, z, y", "fusion of d, e, y"]


class TestPlaces:
    """A call that MAX's launch trace does not show stands where a rule puts it, and its plan says so."""

    def places(self, of, codes, trace) -> list[str]:
        notes = [note for note in planned(of, codes, trace).notes if note.startswith("inferred: the place of ")]
        return [note.removeprefix("inferred: the place of ") for note in notes]

    @pytest.mark.parametrize(
        ("of", "codes", "trace", "activities"),
        [
            (JOIN, join_codes(), [CLEARING, CLEARING, launched(EPILOGUE)], [2, 4]),
            (CHAIN, chain_codes(), [CLEARING, CLEARING], [2, 4]),
            (INPUT_SCALE, input_scale_codes(), [launched(FOREACH), CLEARING], [3]),
            (OUTPUT_SCALE, output_scale_codes(), [CLEARING, launched(EPILOGUE)], [2]),
        ],
        ids=lambda value: getattr(value, "workload", ""),
    )
    def test_it_is_named_by_its_number_on_the_pages(self, of, codes, trace, activities):
        assert self.places(of, codes, trace) == [
            f"activity {number}, cublasGemmEx, which MAX's launch trace does not show; "
            "by rule it stands after the memset that clears its workspace"
            for number in activities
        ]

    def test_without_a_clearing_it_stands_before_the_kernels_that_follow(self):
        (note,) = self.places(OUTPUT_SCALE, output_scale_codes(), [launched(EPILOGUE)])
        assert note.startswith("activity 1, cublasGemmEx,")
        assert note.endswith("by rule it stands before the kernels of its routine and of later ones")

    @pytest.mark.parametrize(
        ("of", "codes", "trace"),
        [
            (OUTPUT_SCALE, output_scale_codes(), [CLEARING, NVJET, launched(EPILOGUE)]),
            (CHAIN, chain_codes(), [CLEARING, NVJET, CLEARING, NVJET]),
            (OUTPUT_SCALE, output_scale_codes(), None),
        ],
        ids=["traced", "chain traced", "compiled"],
    )
    def test_what_a_trace_shows_and_what_never_ran_has_no_such_note(self, of, codes, trace):
        assert self.places(of, codes, trace) == []

    def test_of_two_calls_the_one_that_is_not_shown_is_named(self):
        (note,) = self.places(JOIN, join_codes(), [CLEARING, NVJET, CLEARING, launched(EPILOGUE)])
        assert note.startswith("activity 4, cublasGemmEx,")


def test_an_activity_of_no_routine_has_no_owner():
    planning, found = module("planning"), invocation("weight_view.gpu", WEIGHT_VIEW)
    steps = planning.observed_steps(found, weight_view_codes(), [CLEARING, launched(EPILOGUE), CLEARING])
    assert [step.launch.kind for step in steps] == ["memset", "library", "kernel", "memset"]
    assert planning.owning_routines(steps) == (0, 0, 0, None)
