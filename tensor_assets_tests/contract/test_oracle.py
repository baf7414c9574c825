"""The oracle against exact rational arithmetic, op by op and for whole programs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_worker.program import Op, Program, Value

from tensor_assets.contract.draws import Draws
from tensor_assets.contract.oracle import evaluate
from tensor_assets_tests.contract.test_floats import nearest
from tensor_assets_tests.contract.workloads import program, sized

EXACT_WORKLOADS = (
    "gemm", "bias", "weight_view", "input_scale", "output_scale", "residual", "public_projection", "relu",
    "projection_join", "projection_chain", "residual_relu", "shared_projection", "two_layer", "gated_projections",
)  # fmt: skip


def half(value: Fraction) -> Fraction:
    return Fraction(nearest(value, 11, -14, 65504))


def rational(op: Op, parts: list[np.ndarray]) -> np.ndarray:
    """The op over arrays of fractions, not rounded."""
    if op.op == "matmul":
        return np.array([[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in parts[1].T]
                         for row in parts[0]], dtype=object)  # fmt: skip
    return {
        "transpose": lambda a: a.T,
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "relu": lambda a: np.maximum(a, Fraction(0)),
    }[op.op](*parts)


def by_fractions(program: Program, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    values = {name: np.vectorize(Fraction, otypes=[object])(array.astype(float)) for name, array in inputs.items()}
    for op in program.ops:
        result = rational(op, [values[str(part)] for part in op.of])
        values[op.name] = np.vectorize(half, otypes=[object])(result)
    return {name: values[name].astype(float) for name in program.outputs}


def drawn(program: Program, seed: int, spread: int) -> dict[str, np.ndarray]:
    """FP16 inputs whose exponents vary over ``spread`` binades."""
    found = {}
    for value in program.inputs:
        draws = Draws("oracle", value.name, seed)
        exponents = draws.integers(value.shape, -spread, 0)
        found[value.name] = np.ldexp(draws.integers(value.shape, -2047, 2047) / 1024, exponents.astype(int))
    return {name: array.astype(np.float16) for name, array in found.items()}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), spread=st.integers(0, 14))
@pytest.mark.parametrize("workload", EXACT_WORKLOADS)
def test_the_oracle_is_exact_arithmetic_rounded_at_every_boundary(workload, seed, spread):
    small = sized(workload, 2, 5, 3)
    inputs = drawn(small, seed, spread)
    found, right = evaluate(small, inputs), by_fractions(small, inputs)
    assert list(found) == list(small.outputs)
    for name in small.outputs:
        assert found[name].dtype == np.float16
        np.testing.assert_array_equal(found[name].astype(float), right[name])


def one_op(op: str, *shapes: tuple[int, ...], dtype: str = "f16", out: tuple[int, ...] = (1,)) -> Program:
    names = ("a", "b")[: len(shapes)]
    inputs = tuple(Value(name=name, shape=shape, dtype="f16") for name, shape in zip(names, shapes, strict=True))
    ops = (Op(name="y", op=op, of=names, shape=out, dtype=dtype),)  # type: ignore[arg-type]
    return Program(workload="one", shape="any", inputs=inputs, ops=ops, outputs=("y",))


sixteen = st.floats(-100, 100, width=16)


@given(a=sixteen, b=sixteen.filter(lambda value: abs(value) > 1e-2))
def test_division(a, b):
    found = evaluate(one_op("div", (1,), (1,)), {"a": np.array([a], np.float16), "b": np.array([b], np.float16)})
    assert found["y"][0] == half(Fraction(a) / Fraction(b))


@given(a=st.floats(2.0**-14, 60000, width=16))
def test_reciprocal_root(a):
    found = float(evaluate(one_op("rsqrt", (1,)), {"a": np.array([a], np.float16)})["y"][0])
    low, high = (Fraction(float(np.nextafter(np.float16(found), np.float16(end)))) for end in (-np.inf, np.inf))
    middle = [(Fraction(found) + low) / 2, (Fraction(found) + high) / 2]
    assert middle[0] ** 2 * Fraction(a) <= 1 <= middle[1] ** 2 * Fraction(a)


@given(a=st.floats(-8, 8, width=16))
def test_exponential_in_fp32(a):
    found = evaluate(one_op("exp", (1,), dtype="f32"), {"a": np.array([a], np.float16)})["y"]
    assert found.dtype == np.float32
    assert found[0] == np.float32(math.exp(a))


@given(values=st.lists(sixteen, min_size=1, max_size=9))
def test_reductions(values):
    row = np.array([values], np.float16)
    fractions = [Fraction(float(value)) for value in row[0]]
    for op, right in (("sum", sum(fractions)), ("mean", sum(fractions) / len(values)), ("max", max(fractions))):
        found = evaluate(one_op(op, row.shape, out=(1, 1)), {"a": row})["y"]
        assert found.shape == (1, 1)
        assert found[0, 0] == half(Fraction(right))


def test_the_documents_rounding_probe():
    """1.0048828125 × 1.0927734375 is 1.098109…, 1.09765625 in FP16; minus that, nothing is left."""
    small = sized("bias", 1, 1, 1)
    inputs = {"x": [[1.0048828125]], "w": [[1.0927734375]], "b": [-1.09765625]}
    found = evaluate(small, {name: np.array(value, np.float16) for name, value in inputs.items()})
    assert found["y"][0, 0] == 0.0


def test_zeros_of_contractions_and_relu_are_positive():
    small = sized("relu", 1, 2, 1)
    inputs = {"x": np.array([[-0.0, 0.0]]), "w": np.array([[1.0], [-1.0]]), "b": np.array([-0.0])}
    found = evaluate(small, {name: value.astype(np.float16) for name, value in inputs.items()})
    assert not np.signbit(found["y"]).any()


def test_softmax_of_equal_values_is_one_over_their_number():
    found = evaluate(sized("softmax", 1, 3, 1), {"x": np.full((1, 3), 7, np.float16)})
    np.testing.assert_array_equal(found["y"], np.full((1, 3), np.float16(1 / 3)))


def test_rmsnorm_of_zeros_is_zero():
    small = program("rmsnorm", "inspect")
    zeros = {value.name: np.zeros(value.shape, np.float16) for value in small.inputs}
    assert not evaluate(small, zeros)["y"].any()


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({}, "input x is missing"),
        (
            {"x": np.zeros((2, 2), np.float32), "w": np.zeros((2, 2), np.float16)},
            r"input x is float32\[2, 2\], must be",
        ),
        ({"x": np.zeros((2, 3), np.float16), "w": np.zeros((2, 2), np.float16)}, r"must be f16\[2, 2\]"),
    ],
)
def test_inputs_that_do_not_fit(inputs, words):
    with pytest.raises(ValueError, match=words):
        evaluate(sized("gemm", 2, 2, 2), inputs)
