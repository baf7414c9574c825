"""The outer interval contains every legal execution, and the proof of exactness is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_worker.program import Op, Program, Value

from tensor_assets.contract.draws import Draws
from tensor_assets.contract.enclosure import enclose
from tensor_assets.contract.oracle import evaluate
from tensor_assets_tests.contract.executions import ADDERS, executed, sequential, shuffled
from tensor_assets_tests.contract.workloads import NAMES, fixtures, program, sized


def contained(small: Program, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> bool:
    values = enclose(small, inputs).values
    return all(
        bool(((values[name].low <= array) & (array <= values[name].high)).all())
        for name, array in ((name, outputs[name].astype(float)) for name in small.outputs)
    )


@pytest.mark.parametrize("workload", NAMES)
@pytest.mark.parametrize("adder", ADDERS)
def test_legal_executions_are_inside(workload, adder):
    for name, fixture in fixtures(workload).items():
        found = executed(program(workload), fixture.inputs, ADDERS[adder])
        assert contained(program(workload), dict(fixture.inputs), found), name


@pytest.mark.parametrize("workload", NAMES)
@pytest.mark.parametrize("adder", ADDERS)
def test_legal_executions_of_exact_fixtures_have_one_answer(workload, adder):
    for name, fixture in fixtures(workload).items():
        if fixture.exact:
            found = executed(program(workload), fixture.inputs, ADDERS[adder])
            for output in fixture.reference:
                np.testing.assert_array_equal(found[output], fixture.reference[output], err_msg=f"{name} {output}")


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(16)), seed=st.integers(0, 2**32 - 1))
def test_any_order_is_inside(order, seed):
    small = sized("projection_chain", 3, 16, 4)
    inputs = {
        value.name: (Draws("any", value.name, seed).normal(value.shape)).astype(np.float16) for value in small.inputs
    }
    rows = {"x": 16, "p": 4}

    def adder(terms: np.ndarray) -> np.ndarray:
        return shuffled(order if terms.shape[-1] == rows["x"] else range(terms.shape[-1]))(terms)

    assert contained(small, inputs, executed(small, inputs, adder))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), spread=st.integers(0, 12))
@pytest.mark.parametrize("adder", ["truncating", "groups of 4, truncating", "groups of 16, truncating"])
def test_truncating_sums_of_wild_terms_are_inside(adder, seed, spread):
    small = sized("gemm", 2, 64, 2)
    inputs = {}
    for value in small.inputs:
        draws = Draws("wild", value.name, seed)
        numbers = draws.integers(value.shape, -2047, 2047) / 2048
        inputs[value.name] = np.ldexp(numbers, draws.integers(value.shape, -spread, 2).astype(int)).astype(np.float16)
    assert contained(small, inputs, executed(small, inputs, ADDERS[adder]))


def test_the_reference_is_inside():
    for workload in NAMES:
        for fixture in fixtures(workload).values():
            assert contained(program(workload), dict(fixture.inputs), dict(fixture.reference))


def test_an_exact_contraction_is_a_point_with_its_bound():
    small = sized("gemm", 1, 2, 1)
    inputs = {"x": np.array([[0.5, 0.25]], np.float16), "w": np.array([[3.0], [1.0]], np.float16)}
    found = enclose(small, inputs)
    assert found.values["p"].point
    assert [(bound.op, bound.steps) for bound in found.bounds] == [("p", 7.0)]


@pytest.mark.parametrize(("last", "proven"), [(2047.0, True), (2048.0, False)])
def test_the_proof_ends_at_two_to_the_24(last, proven):
    """2048·(3·2048 + 2047) + 2047 is 2**24 - 1. One more, and a sum of such terms may be odd and not fit FP32."""
    small = sized("gemm", 1, 5, 1)
    x = np.array([[2048.0] * 4 + [1.0]], np.float16)
    w = np.array([[2048.0]] * 3 + [[2047.0], [last]], np.float16)
    found = enclose(small, {"x": x / np.float16(64), "w": w / np.float16(2048)})
    assert [bound.steps for bound in found.bounds] == ([2.0**24 - 1] if proven else [])


def test_widths_grow_with_the_number_of_terms():
    widths = []
    for k in (4, 64, 1024):
        small = sized("gemm", 4, k, 4)
        inputs = {
            value.name: Draws("grow", value.name).normal(value.shape).astype(np.float16) for value in small.inputs
        }
        low, high = enclose(small, inputs).values["p"]
        widths.append(float((high - low).max()))
    assert widths[0] < widths[1] < widths[2]


def one(op: str, dtype: str, *of: str | float, inputs: tuple[str, ...] = ("a",)) -> Program:
    values = tuple(Value(name=name, shape=(1,), dtype="f16") for name in inputs)
    ops = (Op(name="y", op=op, of=of or inputs, shape=(1,), dtype=dtype),)  # type: ignore[arg-type]
    return Program(workload="one", shape="any", inputs=values, ops=ops, outputs=("y",))


@given(a=st.floats(-30, 10, width=16))
def test_the_exponential_of_other_libraries_is_inside(a):
    inputs = {"a": np.array([a], np.float16)}
    low, high = enclose(one("exp", "f32"), inputs).values["y"]
    for found in (np.exp(np.float32(a)), np.exp2(np.float32(a) * np.float32(1.4426950408889634))):
        assert low[0] <= found <= high[0]
    assert low[0] >= 0


@given(a=st.floats(-100, 100, width=16), b=st.floats(2.0**-6, 100, width=16))
def test_division_by_a_rounded_reciprocal_is_inside(a, b):
    inputs = {"a": np.array([a], np.float16), "b": np.array([b], np.float16)}
    low, high = enclose(one("div", "f32", inputs=("a", "b")), inputs).values["y"]
    reciprocal = np.float32(1) / np.float32(b)
    for found in (
        np.float32(a) / np.float32(b),
        np.float32(a) * reciprocal,
        np.float32(a) * np.nextafter(reciprocal, 0),
    ):
        assert low[0] <= found <= high[0]


def test_division_by_zero_may_be_anything():
    inputs = {"a": np.ones(1, np.float16), "b": np.zeros(1, np.float16)}
    low, high = enclose(one("div", "f32", inputs=("a", "b")), inputs).values["y"]
    assert (low[0], high[0]) == (-np.inf, np.inf)


@given(a=st.floats(-1000, 1000, width=16), number=st.floats(-100, 100))
def test_numbers_may_be_rounded_to_fp32(a, number):
    inputs = {"a": np.array([a], np.float16)}
    low, high = enclose(one("add", "f32", "a", number), inputs).values["y"]
    for found in (float(np.float32(a) + np.float32(number)), float(a) + number):
        assert low[0] <= found <= high[0] or abs(found) < 2.0**-126
    assert evaluate(one("add", "f32", "a", number), inputs)["y"][0] == np.float32(float(np.float16(a)) + number)


def test_a_margin_only_widens():
    small = program("softmax")
    inputs = dict(fixtures("softmax")["random"].inputs)
    plain, wide = enclose(small, inputs).values["y"], enclose(small, inputs, 64).values["y"]
    assert (wide.low <= plain.low).all()
    assert (wide.high >= plain.high).all()
    assert (wide.high - wide.low).sum() > (plain.high - plain.low).sum()


def test_kept_in_fp32_or_more_is_inside():
    """x·rsqrt(v)·gamma with the products kept in FP64 until they are rounded."""
    small = program("rmsnorm")
    inputs = dict(fixtures("rmsnorm")["random"].inputs)
    x, gamma = (inputs[name].astype(float) for name in ("x", "gamma"))
    fused = (x * (1 / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)) * gamma).astype(np.float16)
    assert contained(small, inputs, {"y": fused})
    assert contained(small, inputs, executed(small, inputs, sequential))
