"""Ranges of versions mean what PEP 440 says, and newest first is an order."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from tensor_assets.claims.versions import in_range, newest_first, require_range

releases = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
versions = st.builds("{}{}".format, releases, st.sampled_from(["", "rc1", ".post2", ".dev3", "+cu130"]))
commits = st.text("abcdef", min_size=7, max_size=7)


@given(versions, releases)
def test_an_open_range_holds_everything_from_its_start_on(version: str, start: str) -> None:
    assert in_range(version, f">={start}") == (Version(version) >= Version(start))


@given(versions, releases, releases)
def test_a_closed_range_is_both_of_its_ends(version: str, start: str, end: str) -> None:
    assert in_range(version, f">={start},<={end}") == (
        in_range(version, f">={start}") and in_range(version, f"<={end}")
    )


@given(versions | commits)
def test_every_version_lies_in_the_empty_range(version: str) -> None:
    assert in_range(version, "")


@given(commits)
def test_a_commit_lies_in_no_other(version: str) -> None:
    assert not in_range(version, ">=0")


def test_a_pre_release_counts() -> None:
    assert in_range("26.7.0rc1", ">=26.6")


@pytest.mark.parametrize("text", ["0.14", ">= x", "newer than 1", ">=1,", "~1"])
def test_what_is_no_range_is_told(text: str) -> None:
    if text == ">=1,":
        require_range(text)  # PEP 440 allows it
    else:
        with pytest.raises(ValueError, match="is no range of versions"):
            require_range(text)


@given(st.lists(versions | commits, max_size=6))
def test_newest_first_does_not_depend_on_the_order_given(given_: list[str]) -> None:
    expected = newest_first(given_)
    assert len(expected) == len(set(given_))
    for other in itertools.islice(itertools.permutations(given_), 24):
        assert newest_first(other) == expected


@given(st.lists(versions, min_size=2, max_size=6))
def test_no_version_comes_before_a_newer_one(given_: list[str]) -> None:
    ordered = newest_first(given_)
    assert all(Version(a) >= Version(b) for a, b in itertools.pairwise(ordered))
