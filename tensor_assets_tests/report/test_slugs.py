"""No two things share an id or an address, whatever they are called."""

from __future__ import annotations

import re
from collections import Counter

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from tensor_assets.evidence.public import PublicView
from tensor_assets.records import CaptureRecord
from tensor_assets.report.links import ATTRIBUTE, SCRIPT_BODY, TAG
from tensor_assets.report.names import names_of
from tensor_assets.report.pages import write_pages
from tensor_assets.report.slugs import slug, unique_slugs
from tensor_assets_tests.report import campaign

ALIKE = ("fx", "legalized.1", "legalized-1", "Legalized 1", "→", "…", "program", "launch", "stage", "stage-fx", "fx-2")


def ids(text: str) -> Counter[str]:
    """How often each id is given in a page."""
    tags = TAG.findall(SCRIPT_BODY.sub(r"\1</script>", text))
    return Counter(
        "".join(value) for _, attributes in tags for name, *value in ATTRIBUTE.findall(attributes) if name == "id"
    )


@given(st.lists(st.text(max_size=6), max_size=8))
@example(["a.b", "a-b", "a b", "a.b", "", "ä", "ö"])
def test_every_text_gets_a_slug_of_its_own(texts):
    found = unique_slugs(texts, taken=lambda name: name.startswith("a"))
    assert len(set(found)) == len(texts)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and not name.startswith("a") for name in found)
    plain = [slug(text) for text in texts]
    undisputed = {name for name, count in Counter(plain).items() if name and count == 1 and not name.startswith("a")}
    assert undisputed <= set(found)


def test_configurations_that_read_alike_have_addresses_of_their_own(tmp_path):
    (_, record) = next(campaign.fill(str(tmp_path / "store"), ("gemm",)).records(CaptureRecord))
    told = [("a.b", "c", "d"), ("a-b", "c", "d"), ("a", "b-c", "d"), ("index", "", ""), ("α", "β", "γ")]
    keys = {
        str(place): msgspec.structs.replace(record.key, variant=variant, target=target, shape=shape)
        for place, (variant, target, shape) in enumerate(told)
    }
    names = names_of(keys, [target for _, target, _ in told], ["x_y", "x__y"])
    for group in (names.below_cell, names.compared, names.targets, names.workloads):
        assert len(set(group.values())) == len(group)
    assert "index" not in names.below_cell.values()


def test_no_id_is_given_twice_on_any_page(built):
    for path in built.site.rglob("*.html"):
        twice = [name for name, count in ids(path.read_text(encoding="utf-8")).items() if count > 1]
        assert twice == [], path


def test_stages_of_names_that_read_alike_are_places_of_their_own(tmp_path):
    store = campaign.fill(str(tmp_path / "store"), ("gemm",))
    record = next(r for _, r in store.records(CaptureRecord) if r.capture and len(r.capture.stages) > 1)
    stage, file = record.capture.stages[0], record.stages[0]
    capture = msgspec.structs.replace(
        record.capture,
        stages=tuple(msgspec.structs.replace(stage, name=name, title=name) for name in ALIKE),
        graph=None,
    )
    files = tuple(msgspec.structs.replace(file, stage=name) for name in ALIKE)
    newer = msgspec.structs.replace(record.provenance, created="2030-01-01T00:00:00.000+00:00")
    store.put(msgspec.structs.replace(record, capture=capture, stages=files, provenance=newer))
    pages = write_pages(PublicView(store), tmp_path / "pages", article="")
    text = (pages / ".fragments" / "cells" / "gemm" / f"{record.key.compiler}.html").read_text(encoding="utf-8")
    assert [name for name, count in ids(text).items() if count > 1] == []
    shown = dict(re.findall(r'<section class="stage" id="stage-([^"]+)".*?<h2>([^<]+)</h2>', text, re.DOTALL))
    assert sorted(shown.values()) == sorted((*ALIKE, "Program"))
    assert [id for id, title in shown.items() if title in ("fx", "legalized.1")] == ["fx", "legalized-1"]
