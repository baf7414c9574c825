"""The adversary's own arithmetic: roundings are those of IEEE 754, and the right compilers are not one compiler."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import floor, log2

import numpy as np
import pytest
from tensor_worker.program import Op, Program, Value

from tensor_assets_tests.adversary.compiler.adapter import RIGHT
from tensor_assets_tests.adversary.compiler.arithmetic import brain, half, tensor_float
from tensor_assets_tests.adversary.compiler.orders import TruncatingGroups

EVERY_FP16 = np.arange(2**16, dtype=np.uint16).view(np.float16)
FINITE = EVERY_FP16[np.isfinite(EVERY_FP16)].astype(np.float32)

K = 1024
MATMUL = Op(name="p", op="matmul", of=("x", "w"), shape=(8, 16), dtype="f16")
PROGRAM = Program(
    workload="gemm",
    shape="s",
    inputs=(Value(name="x", shape=(8, K), dtype="f16"), Value(name="w", shape=(K, 16), dtype="f16")),
    ops=(MATMUL,),
    outputs=("p",),
)
# One order each; the library's is its own business, the others differ from these in what is no contraction.
OTHERWISE = ("library", "fused multiply-add", "approximate functions", "negative zeros")
ORDERS = [name for name in RIGHT if name not in OTHERWISE]


def operands(seed: int = 0, length: int = K) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.Generator(np.random.PCG64(seed))
    shapes = (8, length), (length, 16)
    return tuple(generator.standard_normal(shape).astype(np.float16).astype(np.float32) for shape in shapes)


def contraction(name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return RIGHT[name].arithmetic(PROGRAM).contraction(MATMUL, left, right)


def test_half_is_the_cast_and_ties_go_to_even():
    between = np.concatenate([np.nextafter(FINITE, np.float32(side)) for side in (-np.inf, np.inf)])
    middles = (np.sort(FINITE)[1:] + np.sort(FINITE)[:-1]) / 2
    beyond = np.float32([65519.99, 65520.0, -65520.0, 1e30, np.inf, -np.inf])
    values = np.concatenate([FINITE, between, middles, beyond])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(half(values), expected)
    np.testing.assert_array_equal(half(values[:100]), expected[:100])


def test_brain_keeps_eight_bits_to_nearest_even():
    assert brain(np.float32([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -1 - 2**-7])).tolist() == [
        1.0,
        1 + 2**-6,
        1 + 2**-7,
        -1 - 2**-7,
    ]


def test_tensor_float_drops_what_is_below_eleven_bits():
    assert tensor_float(np.float32([2049, -4099, 1 + 2**-10, 1 + 2**-11])).tolist() == [
        2048.0,
        -4096.0,
        1 + 2**-10,
        1.0,
    ]


@pytest.mark.parametrize(("one", "other"), list(combinations(ORDERS, 2)))
def test_no_two_orders_are_the_same(one, other):
    left, right = operands()
    assert not np.array_equal(contraction(one, left, right), contraction(other, left, right))


@pytest.mark.parametrize("name", RIGHT)
def test_orders_are_within_the_error_of_their_additions(name):
    left, right = operands()
    exact = left.astype(np.float64) @ right.astype(np.float64)
    bound = 1.5 * K * 2.0**-23 * (np.abs(left).astype(np.float64) @ np.abs(right).astype(np.float64))
    assert (np.abs(contraction(name, left, right) - exact) <= bound).all()


def test_a_truncating_group_is_cut_as_a_matrix_unit_does():
    left, right = operands(1, length=24)
    found = TruncatingGroups(PROGRAM).contraction(MATMUL, left, right)
    for row, column in np.ndindex(found.shape):
        terms = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(left[row], right[:, column], strict=True)]
        total = Fraction(0)
        for first in range(0, 24, 8):
            total = aligned([total, *terms[first : first + 8]])
        assert Fraction(float(found[row, column])) == total


def aligned(terms: list[Fraction]) -> Fraction:
    """Each term, then their sum, without the bits below 24 of the largest term's and of its own."""
    largest = max(abs(term) for term in terms)
    return cut(sum((cut(term, largest) for term in terms), Fraction(0)))


def cut(value: Fraction, largest: Fraction | None = None) -> Fraction:
    measure = abs(value) if largest is None else largest
    if not measure:
        return value
    quantum = Fraction(2) ** (floor(log2(measure)) - 23)
    return int(value / quantum) * quantum
