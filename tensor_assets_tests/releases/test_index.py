"""What an index says, and what becomes of one that says nothing or nonsense: a skip with its reason."""

from __future__ import annotations

import socket

import pytest

from tensor_assets.records import Outcome
from tensor_assets.releases import index as releases_index
from tensor_assets.releases.index import newest, published
from tensor_assets_tests.releases.indexes import NAME, answering, folder_index, use, wheel

VERSIONS = ("1.0", "1.1", "1.2", "2.0rc1")


@pytest.fixture
def index(tmp_path, monkeypatch):
    files = [wheel(tmp_path / "files", version) for version in VERSIONS]
    use(
        monkeypatch,
        folder_index(tmp_path / "simple", {NAME: files}, yanked=(f"{NAME}-1.2-py3-none-any.whl",)),
        tmp_path,
    )


def test_the_newest_is_no_prerelease_and_not_yanked(index):
    assert newest("tiny-compiler") == "1.1"


def test_prereleases_are_taken_where_they_are_wanted(index):
    assert newest("tiny_compiler", pre=True) == "2.0rc1"


def test_published_versions_are_told_oldest_first(index):
    assert published("tiny-compiler", "1.0", "1.9") == ["1.0", "1.1"]
    assert published("tiny-compiler", "1.1", "1.1") == ["1.1"]
    nothing = published("tiny-compiler", "3", "4")
    assert isinstance(nothing, Outcome)
    assert nothing.reason == "the index has no tiny-compiler from 3 to 4"
    assert isinstance(published("tiny-compiler", "one", "two"), Outcome)


def test_an_index_that_falls_silent_half_way_has_told_of_no_versions(monkeypatch):
    silent = Outcome(status="unavailable", reason="silent")
    answers = ["1.3", "1.2"]
    monkeypatch.setattr(releases_index, "newest", lambda *_, **__: answers.pop(0) if answers else silent)
    assert published("tiny-compiler", "1.0", "1.3") == silent
    older = {"": "1.3", "1.3": "1.2", "1.2": silent}
    monkeypatch.setattr(releases_index, "newest", lambda package, pre=False, below="": older[below])
    assert published("tiny-compiler", "1.0", "1.3") == ["1.2", "1.3"], "nothing is older"


def test_an_index_that_was_away_for_one_question_still_tells_of_every_version(monkeypatch):
    silent = Outcome(status="unavailable", reason="no answer within 120 s")
    answers = {"": ["1.2"] * 9, "1.2": [silent, "1.1"], "1.1": ["1.0"]}
    monkeypatch.setattr(releases_index, "newest", lambda package, pre=False, below="": answers[below].pop(0))
    assert published("tiny-compiler", "1.0", "1.2") == ["1.0", "1.1", "1.2"]


def test_a_version_of_somebodys_own_build_ends_no_list(tmp_path, monkeypatch):
    for version in ("1.0", "1.1+cpu"):
        wheel(tmp_path / "wheels", version)
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    assert published("tiny-compiler", "1.0", "1.9") == ["1.0", "1.1+cpu"]


def test_a_folder_of_wheels_is_an_index_too(tmp_path, monkeypatch):
    wheel(tmp_path / "wheels", "0.9")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    assert newest("tiny-compiler") == "0.9"


def test_a_package_the_index_does_not_have_is_a_skip(index):
    said = newest("no-such-compiler")
    assert isinstance(said, Outcome)
    assert (said.status, "\n" in said.reason) == ("unavailable", False)
    assert "no-such-compiler" in said.reason


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"the index is down"),
        (200, b"\x00\xff rubbish \xfe" * 1000),
        (200, b"<html><body><a href='nonsense'>not-a-wheel.exe</a></body></html>"),
        (200, b""),
    ],
)
def test_an_index_that_fails_or_talks_rubbish_is_a_skip(status, body, tmp_path, monkeypatch):
    with answering(status, body) as address:
        use(monkeypatch, address, tmp_path)
        said = newest("tiny-compiler")
    assert isinstance(said, Outcome)
    assert said.reason.startswith("the package index says nothing of tiny-compiler: ")


def test_an_index_that_is_not_there_is_a_skip(tmp_path, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        use(monkeypatch, f"http://127.0.0.1:{unused.getsockname()[1]}/simple", tmp_path)
        assert isinstance(newest("tiny-compiler"), Outcome)
