"""Sums and products that come out the same everywhere, against exact rational arithmetic."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensor_assets.contract import exact
from tensor_assets.contract.draws import Draws

seeds = st.integers(0, 2**32 - 1)


def wide(seed: int, shape: tuple[int, int]) -> np.ndarray:
    """FP16 values over its whole range, subnormals and all."""
    bits = Draws("wide", seed).integers(shape, 0, 65535).astype(np.uint16)
    values = bits.view(np.float16)
    return np.where(np.isfinite(values), values, np.float16(1)).astype(np.float64)


def rational(left: np.ndarray, right: np.ndarray) -> list[list[Fraction]]:
    a, b = [[Fraction(value) for value in row] for row in left], [[Fraction(value) for value in row] for row in right]
    return [[sum((x * b[k][n] for k, x in enumerate(row)), Fraction(0)) for n in range(len(b[0]))] for row in a]


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_any_fp16_operands_contract_to_the_last_bits_of_fp64(seed):
    left, right = wide(seed, (3, 17)), wide(seed + 1, (17, 4))
    found, right_ones = exact.contract(left, right), rational(left, right)
    sizes = np.abs(left) @ np.abs(right)
    for m in range(3):
        for n in range(4):
            assert abs(Fraction(found[m, n]) - right_ones[m][n]) <= Fraction(sizes[m, n]) / 2**50


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_a_grid_contracts_exactly(seed):
    draws = Draws("grid", seed)
    left, right = draws.integers((3, 40), -2047, 2047) / 2048, draws.integers((40, 5), -2047, 2047) / 16
    found = exact.contract(left, right)
    assert [[Fraction(value) for value in row] for row in found] == rational(left, right)


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_order_of_the_terms_never_shows(seed):
    left, right = wide(seed, (4, 33)), wide(seed + 7, (33, 4))
    order = np.argsort(Draws("order", seed).integers((33,), 0, 2**20), kind="stable")
    np.testing.assert_array_equal(exact.contract(left, right), exact.contract(left[:, order], right[order]))


@given(seed=seeds, scale=st.integers(-20, 10))
def test_the_grid_divides_all_and_is_the_largest(seed, scale):
    values = Draws("divides", seed).integers((4, 5), -40, 40) * 2.0**scale
    found = exact.grid(values)
    counts = values / found
    assert np.array_equal(counts, np.rint(counts))
    assert not values.any() or np.any(counts % 2)


def test_the_grid_of_values_off_the_fp16_grid():
    assert exact.grid(np.array([[3 * 2.0**-40, 2.0**-38, 0.0]])) == 2.0**-40
    assert exact.grid(np.array([[5 * 2.0**50]])) == 2.0**50
    assert exact.grid(np.zeros((2, 2))) == 1.0


def test_steps_count_products_in_their_own_grid():
    left, right = np.array([[0.5, 0.25], [8.0, -8.0]]), np.array([[3.0], [1.0]])
    assert exact.steps(left, right) == 7.0  # row 0 in quarters: 2·3 + 1·1; row 1 in eights: 3 + 1


def test_steps_never_seem_fewer_than_they_are():
    ones = np.ones((1, 2**14))
    assert exact.steps(ones * 1023, ones.T) == 1023 * 2**14
    assert exact.steps(ones * 1025, ones.T) >= 2**24


@settings(max_examples=200)
@given(value=st.floats(-700, 700))
def test_the_exponential(value):
    getcontext().prec = 60
    right = Decimal(value).exp()
    found = Decimal(float(exact.exponential(np.array([value]))[0]))
    assert abs(found - right) <= right * Decimal(2) ** -50


def test_the_exponential_beyond_fp64():
    np.testing.assert_array_equal(exact.exponential(np.array([-1e6, 0.0, 1e6])), [0.0, 1.0, np.inf])


@given(seed=seeds, length=st.integers(1, 70))
def test_totals(seed, length):
    values = Draws("total", seed).integers((2, length), -(2**30), 2**30)
    np.testing.assert_array_equal(exact.total(values)[:, 0], [float(sum(map(int, row))) for row in values])


def test_draws_are_these_on_every_platform():
    draws = Draws("gemm/matrix/exact-0/0", "x")
    assert draws.integers((8,), -127, 127).tolist() == [-113.0, 2.0, 32.0, -108.0, 3.0, -94.0, 61.0, -120.0]
    assert (draws.normal((4,)) * 1024).tolist() == [29.0, 1825.0, -198.0, -1907.0]


@given(seed=seeds, low=st.integers(-1000, 1000), span=st.integers(0, 2**31 - 1))
def test_draws_stay_within_their_range(seed, low, span):
    found = Draws("range", seed).integers((200,), low, low + span)
    assert found.min() >= low
    assert found.max() <= low + span
    assert np.array_equal(found, np.rint(found))


def test_draws_reach_every_value():
    assert set(Draws("reach").integers((4000,), -3, 3).tolist()) == {-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0}


def test_draws_are_about_normal():
    found = Draws("normal").normal((200_000,))
    assert abs(found.mean()) < 0.01
    assert found.std() == pytest.approx(1.0, abs=0.01)
    assert np.mean(np.abs(found) < 1) == pytest.approx(0.68, abs=0.01)
