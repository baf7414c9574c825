"""Fixtures: which there are, that exact ones are exact and tell violations apart, and the same bytes everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_worker.program import Op, Program, Value

from tensor_assets.contract.arrays import hash_arrays
from tensor_assets.contract.fixtures import build_fixtures, fixture_names, fixture_of
from tensor_assets.contract.grids import FAMILY
from tensor_assets.contract.oracle import evaluate
from tensor_assets.contract.rows import Entangled, take
from tensor_assets.contract.violations import violations
from tensor_assets_tests.contract.executions import executed, sequential, shuffled
from tensor_assets_tests.contract.workloads import NAMES, fixtures, program, sized

COMMON = {"search", "random", "zeros", "structured", "cancellation", "product_accumulation", "projection_rounding"}
GRIDS = {
    "exact-0", "exact-1", "exact-11x3", "exact-3x11", "exact-sparse", "exact-halfway", "exact-subnormal", "exact-large",
}  # fmt: skip
OF_ROWS = {"exact-0", "exact-1", "exact-subnormal"}
OWN = {
    "projection_chain": GRIDS | {"exact-4x4"},
    "two_layer": GRIDS | {"exact-4x4"},
    "softmax": OF_ROWS | {"exact-ties"},
    "rmsnorm": OF_ROWS | {"exact-small", "exact-large"},
    "norm_projection": OF_ROWS | {"exact-small", "exact-large", "exact-halfway"},
}


@pytest.mark.parametrize("workload", NAMES)
def test_every_fixture_is_there(workload):
    assert set(fixtures(workload)) == COMMON | OWN.get(workload, GRIDS)
    assert all(fixture.exact for name, fixture in fixtures(workload).items() if name.startswith("exact-"))


INSPECTED = [(workload, shape) for workload in NAMES for shape in ("inspect", "matrix_inspect")]
LARGER = [(workload, "screen") for workload in ("weight_view", "softmax", "rmsnorm")]


@pytest.mark.parametrize(("workload", "shape"), INSPECTED + LARGER)
def test_each_violation_is_caught_by_an_exact_fixture_on_five_percent(workload, shape):
    seen: dict[str, float] = {}
    for name, fixture in fixtures(workload, shape).items():
        if name.startswith("exact-"):
            for violation, share in fixture.coverage.items():
                seen[violation] = max(seen.get(violation, 0.0), share)
    alone = {violation.title for violation in violations(program(workload, shape)) if not violation.combined}
    assert set(seen) == alone
    assert min(seen.values()) >= 0.05, seen


@pytest.mark.parametrize("workload", NAMES)
def test_references_are_the_oracles(workload):
    for fixture in fixtures(workload).values():
        right = evaluate(program(workload), fixture.inputs)
        for name, array in right.items():
            np.testing.assert_array_equal(fixture.reference[name], array)
            assert np.isfinite(array).all()
        assert fixture.hashes == hash_arrays({**fixture.inputs, **fixture.reference})


@pytest.mark.parametrize("workload", NAMES)
def test_exact_or_bounded(workload):
    for fixture in fixtures(workload).values():
        assert (fixture.low is None) == fixture.exact == (fixture.high is None)
        if fixture.low is not None and fixture.high is not None:
            for name, array in fixture.reference.items():
                assert (fixture.low[name] <= array).all()
                assert (array <= fixture.high[name]).all()
                assert fixture.low[name].dtype == array.dtype


@pytest.mark.parametrize("workload", NAMES)
def test_bounds_are_below_two_to_the_24(workload):
    contractions = {op.name for op in program(workload).ops if op.op == "matmul"}
    for fixture in fixtures(workload).values():
        if fixture.exact:
            assert {bound.op for bound in fixture.bounds} >= contractions
            assert all(0 <= bound.steps < 2**24 for bound in fixture.bounds)


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(16)), seed=st.integers(0, 1000))
def test_exact_fixtures_have_one_answer_in_any_order(order, seed):
    small = sized("weight_view", 3, 16, 5)
    for fixture in build_fixtures(small, seed=seed):
        if fixture.exact:
            a, b = (executed(small, fixture.inputs, adder) for adder in (sequential, shuffled(order)))
            np.testing.assert_array_equal(a["y"], b["y"])
            np.testing.assert_array_equal(a["y"], fixture.reference["y"])


def test_no_output_of_an_exact_grid_is_constant():
    for workload in NAMES:
        for name, fixture in fixtures(workload).items():
            if name.startswith("exact-"):
                assert all(len(np.unique(array)) > 4 for array in fixture.reference.values()), (workload, name)


def test_subnormal_and_large_results():
    for workload in NAMES:
        found = fixtures(workload)
        sizes = np.concatenate([np.abs(a.astype(float)).ravel() for a in found["exact-subnormal"].reference.values()])
        assert np.mean((sizes > 0) & (sizes < 2.0**-14)) > 0.1
        if "exact-large" in found and workload != "gated_projections":
            assert max(np.abs(a.astype(float)).max() for a in found["exact-large"].reference.values()) > 4096


def test_seeds_and_names_change_the_data_alone():
    small = program("bias")
    first, again, other = (build_fixtures(small, ["exact-0"], seed=seed)[0] for seed in (0, 0, 1))
    assert first.hashes == again.hashes
    assert first.hashes != other.hashes
    assert first.recipe == other.recipe
    assert fixtures("bias")["exact-0"].hashes == first.hashes != fixtures("bias")["exact-1"].hashes


def test_names_are_chosen_and_checked():
    assert [fixture.name for fixture in build_fixtures(program("gemm"), ["zeros", "search"])] == ["search", "zeros"]
    with pytest.raises(ValueError, match=r"gemm has no fixture 'exact-9' \(have: search, exact-0"):
        build_fixtures(program("gemm"), ["exact-9"])


def test_the_probe_of_the_documents_is_in_projection_rounding():
    fixture = fixtures("bias")["projection_rounding"]
    assert fixture.inputs["x"][0].max() == np.float16(1.0048828125)
    assert fixture.inputs["w"][0, 0] == np.float16(1.0927734375)
    assert fixture.inputs["b"][0] == np.float16(-1.09765625)
    assert fixture.reference["y"][0, 0] == 0
    assert fixture.coverage["projection not rounded: p"] > 0.5


def test_product_accumulation_catches_products_and_sums():
    coverage = fixtures("gemm")["product_accumulation"].coverage
    assert coverage["product rounded: p"] >= 0.3
    assert coverage["FP16 accumulation: p"] >= 0.3


def test_a_users_program_gets_exact_fixtures():
    """Two contractions, one of a computed right operand, and numbers: nothing here is one of the twenty."""
    program = Program(
        workload="mine",
        shape="any",
        inputs=(
            Value(name="x", shape=(8, 16), dtype="f16"),
            Value(name="w", shape=(16, 12), dtype="f16"),
            Value(name="s", shape=(12,), dtype="f16"),
            Value(name="c", shape=(8, 1), dtype="f16"),
        ),
        ops=(
            Op(name="ws", op="mul", of=("w", "s"), shape=(16, 12), dtype="f16"),
            Op(name="p", op="matmul", of=("x", "ws"), shape=(8, 12), dtype="f16"),
            Op(name="h", op="mul", of=("p", 0.75), shape=(8, 12), dtype="f16"),
            Op(name="y", op="sub", of=("c", "h"), shape=(8, 12), dtype="f16"),
        ),
        outputs=("y",),
    )
    found = {fixture.name: fixture for fixture in build_fixtures(program)}
    assert found["exact-0"].exact
    assert found["exact-0"].coverage["projection not rounded: p"] >= 0.05
    assert found["exact-0"].coverage["intermediate not rounded: h"] >= 0.05
    np.testing.assert_array_equal(
        executed(program, found["exact-0"].inputs, sequential)["y"], found["exact-0"].reference["y"]
    )


def test_a_program_that_no_grid_fits_has_intervals():
    """x @ xᵀ of computed operands: nothing is left to fit."""
    program = Program(
        workload="gram",
        shape="any",
        inputs=(Value(name="x", shape=(8, 512), dtype="f16"), Value(name="w", shape=(512, 512), dtype="f16")),
        ops=(
            Op(name="p", op="matmul", of=("x", "w"), shape=(8, 512), dtype="f16"),
            Op(name="t", op="transpose", of=("p",), shape=(512, 8), dtype="f16"),
            Op(name="y", op="matmul", of=("p", "t"), shape=(8, 8), dtype="f16"),
        ),
        outputs=("y",),
    )
    found = {fixture.name: fixture for fixture in build_fixtures(program)}
    assert not found["random"].exact
    assert "exact-0" not in found
    assert fixture_names(program)[1] == "exact-0"


def test_given_inputs_make_a_fixture():
    small = sized("gemm", 1, 1, 1)
    found = fixture_of(small, "mine", {"x": np.array([[2.0]], np.float16), "w": np.array([[3.0]], np.float16)})
    assert found.exact
    assert found.reference["p"][0, 0] == 6.0
    with pytest.raises(ValueError, match="input w is missing"):
        fixture_of(small, "mine", {"x": np.array([[2.0]], np.float16)})


@pytest.mark.parametrize("workload", NAMES)
def test_rows_of_a_program_are_the_rows_of_its_outputs(workload):
    whole, fixture = program(workload), fixtures(workload)["random"]
    cut, inputs = take(whole, fixture.inputs, [5, 1, 6])
    for name, array in evaluate(cut, inputs).items():
        np.testing.assert_array_equal(array, fixture.reference[name][[5, 1, 6]])


def test_columns_of_a_softmax_depend_on_each_other():
    with pytest.raises(Entangled):
        take(program("softmax"), fixtures("softmax")["random"].inputs, [0, 1], along=-1)


def test_the_recipes_hold_at_the_articles_size():
    """weight_view at 1024×768×1024: the bound and the shares that the recipe promises."""
    found = build_fixtures(program("weight_view", "matrix"), ["exact-0", "exact-11x3", "exact-subnormal"])
    by_name = {fixture.name: fixture for fixture in found}
    assert 2**21.5 < by_name["exact-0"].bounds[0].steps < 2**22
    assert by_name["exact-0"].coverage["projection not rounded: p"] == pytest.approx(0.28, abs=0.04)
    assert by_name["exact-0"].coverage["product rounded: p"] == pytest.approx(0.25, abs=0.04)
    assert by_name["exact-0"].coverage["BF16 operands: p"] == 0.0
    assert by_name["exact-11x3"].coverage["BF16 operands: p"] == pytest.approx(0.8, abs=0.08)
    assert by_name["exact-subnormal"].coverage["subnormals flushed: w, p, y"] > 0.5


def test_the_grids_names_say_their_bits():
    assert {name: (grid.left, grid.right) for name, grid in FAMILY.items() if "x" in name} == {
        "4x4": (4, 4), "11x3": (11, 3), "3x11": (3, 11),
    }  # fmt: skip
