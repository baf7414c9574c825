"""A claim on a page: the sentence, its verdict and its proof, whatever is in it; an unknown one ends the build."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.claims import view
from tensor_assets.claims.history import claim_record, sources
from tensor_assets.claims.reading import load_claims
from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Provenance
from tensor_assets.report.claims import ClaimPages
from tensor_assets.report.claims_view import view_parts
from tensor_assets.report.plain import plain
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.rendering import Renderer
from tensor_assets.settings import ROOT
from tensor_assets_tests.claims.recorded import GEOMETRY, claim, judged, put

HOSTILE = 'a_b_c *d* `e` [f](g) | <script>alert(1)</script> & {: .x } ~~h~~ https://i.j "k" 1. l'


def shown(page: str, folder: Path, *, text: str = GEOMETRY) -> str:
    """A page of this Markdown, as a browser gets it, with the claim of ``text`` and one record that answers it."""
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "own.yaml").write_text(text)
    (folder / "site" / "pages").mkdir(parents=True)
    (folder / "site" / "pages" / "page.md").write_text(page)
    store = EvidenceStore(folder / "store")
    put(store)
    public = PublicView(store)
    files = PublicFiles(public, folder / "out")
    pages = ClaimPages(public, load_claims([folder / "claims"]), read_snapshot(public), files)
    renderer = Renderer(folder / "site", files)
    renderer.environment.globals["claim"] = pages.function()
    return markdown.markdown(renderer.render("page.md", "page.html"), extensions=["tables", "attr_list", "def_list"])


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


def test_a_sentence_stands_with_its_verdict_what_was_seen_and_its_proof(tmp_path: Path) -> None:
    html = shown('Here: {{ claim("plan-toy") }} So it is.', tmp_path)
    words = text_of(html)
    assert words.startswith("Here: The kernel has 8 by 16 blocks. ✓ holds [[8, 16, 1]] ")
    assert 'href="claims.html#plan-toy"' in html
    (proof,) = re.findall(r'class="proof" href="(evidence/[0-9a-f]{64}\.json)"', html)
    assert (tmp_path / "out" / proof).is_file()


def test_a_claim_that_differs_says_since_when(tmp_path: Path) -> None:
    html = shown('{{ claim("plan-toy") }}', tmp_path, text=GEOMETRY.replace("[[8, 16, 1]]", "[[1, 1, 1]]"))
    assert "≠ differs [[8, 16, 1]], in every version seen, the first 0.14.0" in text_of(html)


def test_outside_its_scope_the_nearest_stands_beside_it(tmp_path: Path) -> None:
    html = shown('{{ claim("plan-toy") }}', tmp_path, text=GEOMETRY.replace("matrix,", "matrix, device: NVIDIA H100*,"))
    assert "– not measured nearest: [[8, 16, 1]] in bias × tinygrad on NVIDIA H200" in text_of(html)


def test_only_the_verdict_where_the_author_has_words_of_his_own(tmp_path: Path) -> None:
    assert text_of(shown('{{ claim("plan-toy", statement=False) }}', tmp_path)).startswith("✓ holds")


def test_in_a_table_and_with_hostile_words_it_stays_what_it_is(tmp_path: Path) -> None:
    text = GEOMETRY.replace("statement: The kernel has 8 by 16 blocks.", f"statement: '{HOSTILE}'")
    html = shown('| a | b |\n|---|---|\n| {{ claim("plan-toy") }} | c |', tmp_path, text=text)
    assert "<script" not in html
    assert html.count("<td>") == 2
    assert HOSTILE in text_of(html.replace("&lt;script&gt;", "&lt;script&gt;"))


def test_a_claim_that_does_not_exist_ends_the_build_and_names_the_page(tmp_path: Path) -> None:
    with pytest.raises(SiteBroken, match=r"page\.md: no claim is called 'plan-toi' \(did you mean plan-toy\?\)"):
        shown('{{ claim("plan-toi") }}', tmp_path)


@given(st.text(alphabet=st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=60))
def test_markdown_leaves_any_text_as_it_is(text: str) -> None:
    words = " ".join(text.split())
    if words:
        html = markdown.markdown(f"<span>{plain(words)}</span>", extensions=["tables", "attr_list", "def_list"])
        assert text_of(html) == words


def test_every_field_of_the_view_is_on_its_page() -> None:
    parts = {part.name: {field.name for field in part.fields} for part in view_parts()}
    for name, kind in vars(view).items():
        if isinstance(kind, type) and issubclass(kind, view.View) and kind is not view.View:
            assert parts[name.removesuffix("View").lower()] == set(kind.__struct_fields__)
    about = {field.name: field.about for part in view_parts() for field in part.fields if part.name == "document"}
    assert about["storage_bytes"] == "one write and one read of every intermediate"


def test_every_built_claim_page_lists_every_claim(built) -> None:  # type: ignore[no-untyped-def]
    page = (built.site / "claims.html").read_text(encoding="utf-8")
    for name in load_claims([ROOT / "fixtures" / "claims"]):
        assert f'id="{name}"' in page


def test_filed_verdicts_and_captures_of_older_versions_are_in_the_evidence_index(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path / "store")
    old = put(store, version="0.14.0")
    put(store, version="0.15.0", created="2026-12-01T00:00:00.000+00:00")
    asked = claim(versions="<0.15")
    judgement = judged(store, asked)
    verdict = store.put(claim_record(judgement, Provenance(created="2026-12-02", parents=sources(judgement))))
    public = PublicView(store)
    files = PublicFiles(public, tmp_path / "out")
    rows = ClaimPages(public, {"plan-toy": asked}, read_snapshot(public), files).evidence_rows()
    assert {(row.sha256, row.what) for row in rows} == {(verdict, "verdict record"), (old, "capture record")}
    assert {row.page for row in rows} == {"claims.html#plan-toy"}
    assert all((tmp_path / "out" / row.href).is_file() for row in rows)
