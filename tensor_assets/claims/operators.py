"""What a query's answer can be held against. Pure: an operator tells from two plain values whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Judge = Callable[[Any, Any, float], bool]


class BadExpectation(Exception):
    """``expected`` or ``tolerance`` is nothing that the operator can work with; says what it can."""


def equals(seen: Any, expected: Any, tolerance: float = 0.0) -> bool:
    """The same value; 1 equals 1.0, true equals only true. Lists in the same order, mappings with the same keys."""
    if isinstance(expected, list):
        return (
            isinstance(seen, list)
            and len(seen) == len(expected)
            and all(equals(a, b) for a, b in zip(seen, expected, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(seen, dict)
            and seen.keys() == expected.keys()
            and all(equals(seen[k], expected[k]) for k in seen)
        )
    if is_number(expected) and is_number(seen):
        return bool(seen == expected)
    return type(seen) is type(expected) and bool(seen == expected)


def _near(seen: Any, expected: Any, tolerance: float) -> bool:
    return _every(seen, lambda number: abs(number - expected) <= tolerance)


def _within(seen: Any, expected: Any, tolerance: float) -> bool:
    low, high = expected
    return _every(seen, lambda number: low - tolerance <= number <= high + tolerance)


def _at_least(seen: Any, expected: Any, tolerance: float) -> bool:
    return _every(seen, lambda number: number >= expected - tolerance)


def _at_most(seen: Any, expected: Any, tolerance: float) -> bool:
    return _every(seen, lambda number: number <= expected + tolerance)


def _one_of(seen: Any, expected: Any, tolerance: float) -> bool:
    return any(equals(seen, value) for value in expected)


def _contains(seen: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(seen, str):
        return isinstance(expected, str) and expected in seen
    return isinstance(seen, list) and any(equals(item, expected) for item in seen)


def _lacks(seen: Any, expected: Any, tolerance: float) -> bool:
    return isinstance(seen, str | list) and not _contains(seen, expected, tolerance)


def _in_order(seen: Any, expected: Any, tolerance: float) -> bool:
    """Every expected part is there, each after the one before it; other things may stand between."""
    if isinstance(seen, str):
        place = 0
        for part in expected:
            found = seen.find(part, place)
            if found < 0:
                return False
            place = found + len(part)
        return True
    remaining = iter(seen) if isinstance(seen, list) else iter(())
    return all(any(equals(item, part) for item in remaining) for part in expected)


OPERATORS: dict[str, Judge] = {
    "equals": equals,
    "not_equals": lambda seen, expected, tolerance: not equals(seen, expected),
    "near": _near,
    "within": _within,
    "at_least": _at_least,
    "at_most": _at_most,
    "one_of": _one_of,
    "contains": _contains,
    "lacks": _lacks,
    "in_order": _in_order,
}
NUMERIC = ("near", "within", "at_least", "at_most")


def passes(operator: str, seen: Any, expected: Any, tolerance: float | str = 0.0) -> bool:
    """Whether ``seen`` is as expected. A list of numbers must be so in every element, and an empty one is not.

    Raises BadExpectation for an expectation the operator cannot work with, KeyError for an unknown operator.
    """
    require_expectation(operator, expected, tolerance)
    return OPERATORS[operator](seen, expected, _absolute(expected, tolerance))


def require_expectation(operator: str, expected: Any, tolerance: float | str = 0.0) -> None:
    """Raises BadExpectation unless ``operator`` can work with these."""
    if operator == "within":
        if not (isinstance(expected, list) and len(expected) == 2 and all(map(is_number, expected))):
            raise BadExpectation("within needs [low, high], two numbers")
        if expected[0] > expected[1]:
            raise BadExpectation(f"within needs low before high, not [{expected[0]}, {expected[1]}]")
    elif operator in NUMERIC:
        if not is_number(expected):
            raise BadExpectation(f"{operator} needs a number")
    elif operator in ("one_of", "in_order"):
        if not isinstance(expected, list) or not expected:
            raise BadExpectation(f"{operator} needs a list with something in it")
        if operator == "in_order" and not all(isinstance(part, str) for part in expected):
            raise BadExpectation("in_order needs a list of texts")
    _require_tolerance(operator, expected, tolerance)


def _require_tolerance(operator: str, expected: Any, tolerance: float | str) -> None:
    if tolerance and operator not in NUMERIC:
        raise BadExpectation(f"{operator} knows no tolerance ({', '.join(NUMERIC)} do)")
    if isinstance(tolerance, str) and not _percentage(tolerance):
        raise BadExpectation(f"tolerance {tolerance!r} is neither a number nor a percentage like 5%")
    if _absolute(expected, tolerance) < 0:
        raise BadExpectation(f"tolerance {tolerance} is negative")


def unsaid(seen: Any, expected: Any) -> bool:
    """Whether ``seen`` leaves the question open: it is null, or agrees with ``expected`` but for nulls inside it."""
    if seen is None:
        return True
    if isinstance(seen, list) and seen:
        parts = expected if isinstance(expected, list) and len(expected) == len(seen) else [...] * len(seen)
        pairs = list(zip(seen, parts, strict=True))
        open_ = [unsaid(a, b) for a, b in pairs]
        return any(open_) and all(is_open or equals(a, b) for is_open, (a, b) in zip(open_, pairs, strict=True))
    return False


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _every(seen: Any, holds: Callable[[Any], bool]) -> bool:
    if isinstance(seen, list):
        return bool(seen) and all(_every(item, holds) for item in seen)
    return is_number(seen) and holds(seen)


def _absolute(expected: Any, tolerance: float | str) -> float:
    """A percentage is of the expected value, of a range's far end."""
    if not isinstance(tolerance, str):
        return tolerance
    numbers = expected if isinstance(expected, list) else [expected]
    share = float(tolerance.rstrip("% ")) / 100
    return share * float(max(abs(number) for number in numbers))


def _percentage(text: str) -> bool:
    digits = text.strip()
    return digits.endswith("%") and digits[:-1].strip().replace(".", "", 1).isdecimal()
