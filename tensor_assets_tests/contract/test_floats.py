"""Rounding against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensor_assets.contract.accumulate import bf16, f16, tf32
from tensor_assets.contract.floats import bfloat16, down32, ordinal, rounded, significant, truncated, up32


def nearest(value: Fraction, bits: int, least: int, most: float) -> float:
    """``value`` to nearest even with that many significant bits, a smallest exponent and a largest finite value."""
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = max(math.floor(math.log2(size)) if size > 0 else least, least)
    while Fraction(2) ** exponent > size and exponent > least:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    step = Fraction(2) ** (exponent - bits + 1)
    count = value / step
    whole = math.floor(count)
    rest = count - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2):
        whole += 1
    result = whole * step
    return math.copysign(math.inf, float(value)) if abs(result) > most else float(result)


halves = st.floats(-70000, 70000, allow_nan=False) | st.floats(-1e-4, 1e-4, allow_nan=False)
ties = st.builds(lambda k, e: (2 * k + 1) * 2.0 ** (e - 12), st.integers(-2048, 2047), st.integers(-14, 16))


@settings(max_examples=500)
@given(value=halves | ties)
def test_fp16_rounds_to_nearest_even(value):
    exact = nearest(Fraction(value), 11, -14, 65504)
    assert rounded(np.array([value]), "f16")[0] == exact


@settings(max_examples=500)
@given(value=st.floats(-1e30, 1e30, allow_nan=False))
def test_fp32_rounds_to_nearest_even(value):
    assert rounded(np.array([value]), "f32")[0] == nearest(Fraction(value), 24, -126, 3.4028234663852886e38)


@given(value=st.floats(-1e38, 1e38, allow_nan=False))
def test_directed_rounding_encloses_by_neighbours(value):
    low, high = down32(np.array([value]))[0], up32(np.array([value]))[0]
    assert low <= value <= high
    if abs(value) >= 2.0**-125:
        assert low == high or np.nextafter(np.float32(low), np.float32(np.inf)) == np.float32(high)
    else:
        assert low <= 0.0 or low >= 2.0**-126
        assert high >= 0.0 or high <= -(2.0**-126)


@given(value=st.floats(-60000, 60000, width=32))
def test_the_quick_fp16_rounding_is_the_cast(value):
    array = np.array([value], np.float32)
    np.testing.assert_array_equal(f16(array), array.astype(np.float16).astype(np.float32))


def test_the_quick_fp16_rounding_at_the_edges():
    edges = [
        65504,
        65519.996,
        65520,
        70000,
        1e30,
        2**-14,
        2**-14 - 2**-26,
        2**-24,
        2**-25,
        2**-25 + 2**-40,
        3 * 2**-25,
        0,
    ]
    array = np.array(edges + [-edge for edge in edges], np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(f16(array), array.astype(np.float16).astype(np.float32))


@given(value=st.floats(-1e6, 1e6, width=32))
def test_bf16_and_tf32(value):
    array = np.array([value], np.float32)
    if abs(value) > 1e-30:
        assert bf16(array)[0] == nearest(Fraction(float(array[0])), 8, -126, 3.4e38)
        assert bfloat16(array.astype(np.float64))[0] == bf16(array)[0]
        assert tf32(array)[0] == truncated(array.astype(np.float64), 11)[0]
        assert significant(array.astype(np.float64), 24)[0] == array[0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_ordinals_count_values(dtype):
    ladder = [np.array([0], dtype)]
    for _ in range(20):
        ladder.append(np.nextafter(ladder[-1], np.array([np.inf], dtype)))
    assert [int(ordinal(step)[0]) for step in ladder] == list(range(21))
    assert ordinal(np.array([-0.0], dtype))[0] == 0
    assert ordinal(-ladder[7])[0] == -7
