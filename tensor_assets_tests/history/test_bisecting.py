"""The search against versions whose states are known: it finds a change that is there, and says what it cannot know."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.history.bisecting import Conclusion, conclude, next_version


def search(truth: Sequence[str | None], *, every: bool = False) -> tuple[Conclusion, list[str]]:
    """Ask until nothing more can be learnt; with the versions in the order they were tried."""
    versions = [f"{place}.0" for place in range(len(truth))]
    states: dict[str, str | None] = {}
    while (version := next_version(versions, states, every=every)) is not None:
        assert version not in states
        assert conclude(versions, states, every=every).verdict == "open"
        states[version] = truth[versions.index(version)]
    return conclude(versions, states, every=every), list(states)


@given(before=st.integers(1, 40), after=st.integers(1, 40))
def test_one_change_is_found_in_about_as_many_tries_as_halvings(before: int, after: int) -> None:
    found, tried = search(["a"] * before + ["b"] * after)
    assert (found.verdict, found.last, found.first) == ("found", f"{before - 1}.0", f"{before}.0")
    assert len(tried) <= 2 + (before + after).bit_length()


@given(states=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=2, max_size=25))
def test_what_it_calls_the_first_that_differs_does_differ_whatever_the_truth(states: list[str | None]) -> None:
    found, _ = search(states)
    if found.verdict in ("found", "several"):
        last, first = (int(float(version)) for version in (found.last, found.first))
        assert last < first
        assert None not in (states[last], states[first])
        assert states[last] != states[first]
        # Nothing that says something was left between the two.
        assert all(states[place] is None for place in range(last + 1, first))
        assert len(found.between) == first - last - 1


@given(states=st.lists(st.sampled_from(["a", "b", None]), min_size=2, max_size=15))
def test_every_version_tried_tells_every_turn(states: list[str | None]) -> None:
    found, tried = search(states, every=True)
    assert len(tried) == len(states)
    assert found.untried == 0
    told = [state for state in states if state is not None]
    turns = sum(one != other for one, other in pairwise(told))
    expected = "undecided" if len(told) < 2 else "same" if not turns else "found" if turns == 1 else "several"
    assert found.verdict == expected
    assert len(found.turns) == (turns if turns > 1 else 0)


def test_ends_that_say_nothing_are_stood_in_for() -> None:
    found, tried = search([None, "a", "a", "b", None])
    assert (found.verdict, found.last, found.first) == ("found", "2.0", "3.0")
    assert tried[:4] == ["0.0", "1.0", "4.0", "3.0"]


def test_silent_versions_at_the_change_are_named_as_possible_firsts() -> None:
    found, _ = search(["a", "a", None, None, "b"])
    assert (found.last, found.first, found.between) == ("1.0", "4.0", ("2.0", "3.0"))


def test_equal_ends_are_called_equal_and_the_rest_untried() -> None:
    found, tried = search(["a", "b", "b", "a"])
    assert (found.verdict, found.untried, len(tried)) == ("same", 2, 2)
    assert search(["a", "b", "b", "a"], every=True)[0].turns == (("0.0", "1.0"), ("2.0", "3.0"))


def test_nothing_that_says_something_is_undecided() -> None:
    assert search([None, None, None])[0].verdict == "undecided"
    assert search([None, "a", None])[0].verdict == "undecided"
