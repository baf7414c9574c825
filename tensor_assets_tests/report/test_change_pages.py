"""The pages of releases: a row says which claims its release answers otherwise, and leads to them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CellChange, ChangesRecord, Key, Outcome, Provenance, TrialRecord
from tensor_assets.report.changes import ChangesPages
from tensor_assets.report.pages import SITE
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.rendering import Renderer
from tensor_assets_tests.claims.recorded import claim, put

OLD, NEW = {"tinygrad": "0.13.0"}, {"tinygrad": "0.14.0"}


def tell(store: EvidenceStore, decision: str, old: str, new: str) -> None:
    """A trial of one configuration, and what was decided of it."""
    key = Key(compiler="tinygrad", target="NVIDIA H200", environment="release")
    told = {"key": key, "outcome": Outcome(status="ok"), "provenance": Provenance(created="2026-12-02T04:00:00+00:00")}
    cell = CellChange(
        workload="bias", shape="matrix", variant="default", target="NVIDIA H200", old=old, new=new, old_status="ok",
        new_status="ok", code="changed", numbers="same", speed="not timed",
    )  # fmt: skip
    lock = store.put_bytes(b"tinygrad==0.13.0\n", "text/plain", "tinygrad.lock.txt")
    trial = store.put(TrialRecord(**told, previous=OLD, candidate=NEW, accepted_lock=lock, cells=(cell,)))
    store.put(
        ChangesRecord(
            **told, previous=OLD, release=NEW, decision=decision, headline="tinygrad 0.14.0", counts={}, alert=False,
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


def test_a_release_that_changes_no_claim_says_nothing_of_claims(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path / "store")
    tell(store, "accepted", put(store, version="0.13.0"), put(store, version="0.14.0"))
    found = pages(store, tmp_path)
    assert "claim" not in words_of(found["changes.html"] + found["latest_changes.html"] + found["release"])
