"""The pages of releases: a row says which claims its release answers otherwise, and leads to them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CellChange, ChangesRecord, Key, Outcome, Provenance, TrialRecord
from tensor_assets.report.changes import ChangesPages, Told
from tensor_assets.report.faces import face_of
from tensor_assets.report.pages import SITE
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.rendering import Renderer
from tensor_assets_tests.claims.recorded import claim, put

OLD, NEW = {"tinygrad": "0.13.0"}, {"tinygrad": "0.14.0"}


TOLD = {
    "key": Key(compiler="tinygrad", target="NVIDIA H200", environment="release"),
    "outcome": Outcome(status="ok"),
    "provenance": Provenance(created="2026-12-02T04:00:00+00:00"),
}


def tell(store: EvidenceStore, decision: str, old: str, new: str) -> None:
    """A trial of one configuration, and what was decided of it."""
    cell = CellChange(
        workload="bias", shape="matrix", variant="default", target="NVIDIA H200", old=old, new=new, old_status="ok",
        new_status="ok", code="changed", numbers="same", speed="not timed",
    )  # fmt: skip
    lock = store.put_bytes(b"tinygrad==0.13.0\n", "text/plain", "tinygrad.lock.txt")
    trial = store.put(TrialRecord(**TOLD, previous=OLD, candidate=NEW, accepted_lock=lock, cells=(cell,)))
    store.put(
        ChangesRecord(
            **TOLD, previous=OLD, release=NEW, decision=decision, headline="tinygrad 0.14.0", counts={}, alert=False,
            reason="other code in 1 of 1", trial=trial, decided=trial,
        )
    )  # fmt: skip


def pages(store: EvidenceStore, folder: Path) -> dict[str, str]:
    """The list, the home page's part of it, and the page of each release."""
    public = PublicView(store)
    files = PublicFiles(public, folder / "out")
    renderer = Renderer(SITE, files)
    changes = ChangesPages(public, {}, files, renderer)
    changes.show_claims([claim()])
    found: dict[str, str] = {}
    changes.write(lambda path, title, html: found.__setitem__("release", html))
    for template in ("changes.html", "latest_changes.html"):
        found[template] = renderer.render(template, template, **changes.context())
    return found


def words_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


@pytest.mark.parametrize(
    ("decision", "before", "after", "words"),
    [
        ("accepted", (8, 16, 1), (1, 1, 1), "1 claim differs : plan-toy"),
        ("held", (8, 16, 1), (1, 1, 1), "1 claim would differ : plan-toy"),
        ("accepted", (1, 1, 1), (8, 16, 1), "1 claim holds again : plan-toy"),
    ],
)
def test_a_release_says_which_claims_it_changed(tmp_path: Path, decision: str, before, after, words: str) -> None:
    store = EvidenceStore(tmp_path / "store")
    tell(store, decision, put(store, version="0.13.0", grid=before), put(store, version="0.14.0", grid=after))
    found = pages(store, tmp_path)
    assert f"other code in 1 of 1; {words}" in words_of(found["changes.html"])
    assert f"; {words}" in words_of(found["latest_changes.html"])
    assert words in words_of(found["release"])
    assert 'href="claims.html#plan-toy"' in found["changes.html"]
    assert 'href="../claims.html#plan-toy"' in found["release"]
    assert "The kernel has 8 by 16 blocks." in found["release"]


@pytest.mark.parametrize(
    ("previous", "release", "news", "before", "beside"),
    [
        (OLD, NEW, "0.14.0", "0.13.0", ""),
        ({"tvm": "1", "ffi": "2"}, {"tvm": "1", "ffi": "3"}, "ffi 3", "2", "tvm 1"),
        ({"tvm": "1", "ffi": "2"}, {"tvm": "2", "ffi": "3"}, "ffi 3 with tvm 2", "ffi 2 with tvm 1", ""),
        ({"torch": "1", "triton": "1"}, {"torch": "2", "triton": "1"}, "torch 2", "1", "triton 1"),
        ({"tvm": "1", "ffi": "2"}, {"tvm": "1", "ffi": "2"}, "ffi 2 with tvm 1", "ffi 2 with tvm 1", ""),
    ],
)
def test_a_release_is_called_by_what_is_new_in_it(previous, release, news: str, before: str, beside: str) -> None:
    changes = ChangesRecord(
        **TOLD, previous=previous, release=release, decision="held", headline="", counts={}, alert=True, trial="",
        decided="",
    )  # fmt: skip
    one = Told(record_id="", changes=changes, face=face_of("tvm", {}), page="")
    assert (one.news, one.before, one.beside) == (news, before, beside)


def test_a_release_that_changes_no_claim_says_nothing_of_claims(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path / "store")
    tell(store, "accepted", put(store, version="0.13.0"), put(store, version="0.14.0"))
    found = pages(store, tmp_path)
    assert "claim" not in words_of(found["changes.html"] + found["latest_changes.html"] + found["release"])
