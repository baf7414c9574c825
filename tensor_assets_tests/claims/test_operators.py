"""Operators say what their names say, whatever the values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.claims.operators import OPERATORS, BadExpectation, equals, passes

numbers = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(values)
def test_a_value_equals_itself_and_what_json_makes_of_it(value: Any) -> None:
    assert equals(value, value)
    assert equals(json.loads(json.dumps(value)), value)


@given(values, values)
def test_equals_is_symmetric_and_not_equals_its_opposite(one: Any, other: Any) -> None:
    assert equals(one, other) == equals(other, one)
    assert passes("not_equals", one, other) != passes("equals", one, other)


@pytest.mark.parametrize(
    ("seen", "expected"), [(1, True), (0, False), ("1", 1), ([], None), ([1, 2], [2, 1]), ({}, [])]
)
def test_what_only_looks_alike_is_not_equal(seen: Any, expected: Any) -> None:
    assert not equals(seen, expected)


def test_one_equals_one_point_zero() -> None:
    assert equals(1, 1.0)


@given(numbers, numbers, st.floats(0, 100))
def test_near_is_the_distance(seen: float, expected: float, tolerance: float) -> None:
    assert passes("near", seen, expected, tolerance) == (abs(seen - expected) <= tolerance)


@given(numbers, numbers, numbers)
def test_within_is_at_least_and_at_most(seen: float, one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    both = passes("at_least", seen, low) and passes("at_most", seen, high)
    assert passes("within", seen, [low, high]) == both


@given(st.lists(numbers, min_size=1, max_size=4), numbers)
def test_of_a_list_every_number_must_be_so(seen: list[float], bound: float) -> None:
    assert passes("at_most", seen, bound) == (max(seen) <= bound)


@pytest.mark.parametrize("operator", ["near", "at_least", "at_most", "within"])
@pytest.mark.parametrize("seen", [[], "12", None, True, {"a": 1}, [1, "2"]])
def test_what_is_no_number_is_not_in_a_range(operator: str, seen: Any) -> None:
    assert not passes(operator, seen, [0, 100] if operator == "within" else 1, 100)


@pytest.mark.parametrize(("tolerance", "seen"), [("10%", 110), (10, 110), ("0.5 %", 100.5)])
def test_a_tolerance_is_absolute_or_a_share_of_the_expected(tolerance: float | str, seen: float) -> None:
    assert passes("near", seen, 100, tolerance)
    assert not passes("near", seen + 0.01, 100, tolerance)


@given(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=5), st.data())
def test_in_order_finds_any_subsequence_and_no_other_order(lines: list[str], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    parts = [line for line, keep in zip(lines, kept, strict=True) if keep]
    if parts:
        assert passes("in_order", lines, parts)
        assert passes("in_order", "\n".join(lines), parts)
    assert not passes("in_order", ["add", "cvt"], ["cvt", "add"])
    assert not passes("in_order", "add then cvt", ["cvt", "add"])


@given(st.text(max_size=8), st.text(max_size=3))
def test_contains_and_lacks_are_opposites_for_text(text: str, part: str) -> None:
    assert passes("contains", text, part) == (part in text)
    assert passes("lacks", text, part) != passes("contains", text, part)


@pytest.mark.parametrize("operator", ["contains", "lacks"])
def test_what_is_neither_text_nor_list_neither_contains_nor_lacks(operator: str) -> None:
    assert not passes(operator, {"a": 1}, "a")


@pytest.mark.parametrize(
    ("operator", "expected", "tolerance", "said"),
    [
        ("within", 3, 0, "two numbers"),
        ("within", [3, 1], 0, "low before high"),
        ("near", "3", 0, "needs a number"),
        ("at_least", True, 0, "needs a number"),
        ("one_of", [], 0, "a list with something in it"),
        ("in_order", [1], 0, "a list of texts"),
        ("equals", 3, 1, "knows no tolerance"),
        ("near", 3, "5 percent", "neither a number nor a percentage"),
        ("near", 3, -1, "negative"),
    ],
)
def test_an_expectation_that_an_operator_cannot_work_with_is_told(
    operator: str, expected: Any, tolerance: float | str, said: str
) -> None:
    with pytest.raises(BadExpectation, match=said):
        passes(operator, 1, expected, tolerance)


def test_every_operator_gives_an_answer_for_any_value() -> None:
    examples = {"within": [0, 1], "one_of": [1], "in_order": ["a"], "near": 1, "at_least": 1, "at_most": 1}
    for operator in OPERATORS:
        for seen in (None, 1, 1.5, True, "a", [], ["a", 1], {"a": 1}):
            assert passes(operator, seen, examples.get(operator, "a")) in (True, False)
