"""What a release made of claims: only where both releases answer, both are in scope, and one of them disagrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensor_assets.claims.library import Library
from tensor_assets.claims.moved import Move, moved
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets_tests.claims.recorded import claim, empty, put

OTHER = (1, 1, 1)


def moves(store: EvidenceStore, old: str, new: str, **changes: object) -> list[Move]:
    library = Library(PublicView(store), (old, new))
    return moved([claim(**changes)], [(library.subjects[old], library.subjects[new])], library)


@pytest.mark.parametrize(("before", "after", "differs"), [((8, 16, 1), OTHER, True), (OTHER, (8, 16, 1), False)])
def test_a_claim_that_one_of_two_releases_does_not_bear_out(tmp_path: Path, before, after, differs: bool) -> None:
    store = empty(tmp_path)
    old, new = put(store, version="0.13.0", grid=before), put(store, version="0.14.0", grid=after)
    (move,) = moves(store, old, new)
    assert (move.claim.id, move.differs) == ("plan-toy", differs)
    assert (move.before.value, move.after.value) == ([list(before)], [list(after)])


def test_a_claim_that_both_contradict_is_none_of_the_releases_doing(tmp_path: Path) -> None:
    store = empty(tmp_path)
    old, new = put(store, version="0.13.0", grid=OTHER), put(store, version="0.14.0", grid=(2, 2, 2))
    assert moves(store, old, new) == []


def test_a_release_outside_the_range_that_its_author_closed_changes_nothing(tmp_path: Path) -> None:
    store = empty(tmp_path)
    old, new = put(store, version="0.13.0"), put(store, version="0.14.0", grid=OTHER)
    assert moves(store, old, new, versions="<0.14") == []
    assert moves(store, old, new, device="NVIDIA H100*") == []


def test_a_release_that_crashes_answers_nothing(tmp_path: Path) -> None:
    store = empty(tmp_path)
    assert moves(store, put(store, version="0.13.0"), put(store, version="0.14.0", status="crashed")) == []


def test_a_companion_of_the_same_version_is_asked_by_its_own_capture(tmp_path: Path) -> None:
    store = empty(tmp_path)
    old, new = put(store, environment="ffi 1"), put(store, environment="ffi 2", grid=OTHER)
    assert [move.differs for move in moves(store, old, new)] == [True]
