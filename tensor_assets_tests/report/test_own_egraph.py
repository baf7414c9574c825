"""The e-graph that ships with the project: what egglog makes of our own rules, and nobody's result."""

from __future__ import annotations

import json
from collections import defaultdict

import msgspec
import pytest
from markupsafe import Markup

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import import_bundle
from tensor_assets.records import Alternative, CaptureRecord, EGraphRecord, Outcome
from tensor_assets.report.article_page import ArticlePage
from tensor_assets.report.faces import load_faces
from tensor_assets.report.pages import ARTICLE, PageWriter
from tensor_assets.settings import ROOT
from tensor_assets_tests.report.own_egraph import SOURCE, record_of

BUNDLE = ROOT / "fixtures" / "recorded" / "own-egraph-weight-view.bundle"


@pytest.fixture
def store(tmp_path) -> EvidenceStore:
    store = EvidenceStore(str(tmp_path / "store"))
    import_bundle(store, BUNDLE)
    return store


@pytest.fixture
def shipped(store) -> EGraphRecord:
    ((_, record),) = store.records(EGraphRecord)
    return record


def test_it_is_what_egglog_makes_of_the_rules_that_are_shown(store, shipped):
    again = record_of(store)
    assert msgspec.structs.replace(again, provenance=shipped.provenance) == shipped
    assert store.read(shipped.source) == SOURCE.read_bytes()


def test_no_compiler_is_named_as_having_made_it(store, shipped):
    assert (shipped.key.compiler, shipped.key.target, shipped.key.variant) == ("", "", "")
    assert "luminal" not in json.dumps(msgspec.to_builtins(shipped)).lower()
    assert b"luminal" not in store.read(shipped.egraph).lower()
    assert list(store.records(CaptureRecord)) == []


def test_what_the_article_says_of_it(store, shipped):
    egraph = json.loads(store.read(shipped.egraph))
    named = {about["let"]: eclass for eclass, about in egraph["class_data"].items() if "let" in about}
    ops = defaultdict(list)
    for node in egraph["nodes"].values():
        ops[node["eclass"]].append(node["op"])
    assert sorted(ops[named["p"]]) == ["Cast", "GemmNN", "GemmNT", "GemmTN", "Transpose"]
    assert ops[named["y"]] == ["Add"]  # nothing moves the bias across the rounding
    assert named["sum"] != named["p"]
    assert (len(egraph["nodes"]), len(ops)) == (shipped.nodes, shipped.classes)


class TestTheMap:
    """Rows of the map in part 1: which holds what."""

    @pytest.fixture
    def rows(self, tmp_path):
        def rows(*, searched: bool = False, own: bool = True) -> dict[str, str]:
            store = EvidenceStore(str(tmp_path / "recorded"))
            for bundle in sorted(BUNDLE.parent.glob("*.bundle")):
                if own or bundle != BUNDLE:
                    import_bundle(store, bundle)
            if searched:
                _search(store)
            writer = PageWriter(PublicView(store), tmp_path / "pages", load_faces(ROOT / "adapters"), None)
            table = ArticlePage(writer, "part1.html", Markup).says()["map"]().split("</table>")[0]
            return {row.split("</th>")[0].split(" <small>")[0]: row for row in table.split('<th scope="row">')[1:]}

        return rows

    def test_without_a_search_and_without_an_egraph_there_is_one_form(self, rows):
        found = rows(own=False)
        assert "MAX" in found["one form"]
        assert 'class="point"' not in found["several forms at once"]

    def test_an_egraph_holds_several_and_says_whose_it_is(self, rows):
        held = rows()["several forms at once"]
        assert "our own rules" in held
        assert "egglog" in held
        assert ">5</data> forms" in held
        assert "Luminal" not in held

    def test_what_a_search_built_and_found_right_is_counted(self, rows):
        found = rows(searched=True)
        built = found["one form, chosen among others that were built"]
        assert "TVM" in built
        assert ">2</data> more built" in built
        assert "TVM" not in found["one form"]


def _search(store: EvidenceStore) -> None:
    """Files TVM's capture again with four alternatives, of which two are right and of their own."""
    ok, wrong = Outcome(status="ok"), Outcome(status="rejected", reason="wrong numbers")
    judged = tuple(
        Alternative(candidate=f"c{n}", outcome=outcome, distinct=distinct)
        for n, (outcome, distinct) in enumerate([(ok, True), (ok, False), (wrong, True), (ok, True)])
    )
    for _, capture in list(store.records(CaptureRecord)):
        key = capture.key
        if (key.workload, key.compiler, key.variant, key.target) == ("weight_view", "tvm", "default", ARTICLE):
            later = msgspec.structs.replace(capture.provenance, created="2030-01-01T00:00:00Z")
            found = msgspec.structs.replace(capture, alternatives=judged, provenance=later, cache=None)
            store.put(found)
