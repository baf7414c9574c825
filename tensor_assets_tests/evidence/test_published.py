from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tensor_assets.evidence.key import canonical
from tensor_assets.evidence.published import SEAL, seal_site, verify_site
from tensor_assets.evidence.verification import verify
from tensor_assets_tests.evidence.samples import Sample, campaign

# tvm's median is 5518 ns: the eighth of its fifteen samples (samples.py)
PAGE = """<!doctype html><title>x</title>
<p>Takes <data value="5518.0" data-evidence="{id}#/timings/0/median_ns">5.52&nbsp;µs</data>, from
<data value="15" data-evidence="{id}#/timings/0/series/0/samples">15</data> samples; drift
<data value="0.0" data-evidence="{id}#/timings/0/series/0/drift">0 %</data>.</p>
"""


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return campaign(tmp_path / "store")


@pytest.fixture
def site(sample: Sample, tmp_path: Path) -> Path:
    site, id = tmp_path / "site", sample.ids["benchmark tvm"]
    (site / "cells").mkdir(parents=True)
    (site / "evidence").mkdir()
    (site / "index.html").write_text("<!doctype html><title>home</title>", encoding="utf-8")
    (site / "cells" / "tvm.html").write_text(PAGE.format(id=id), encoding="utf-8")
    (site / "evidence" / f"{id}.json").write_bytes(canonical(sample.store.get(id)))
    (site / "evidence" / f"{sample.stage.sha256}.txt").write_bytes(sample.store.read(sample.stage))
    seal_site(site, root="r" * 64)
    return site


def test_a_built_site_is_sound(site: Path) -> None:
    report = verify(site)
    assert report.findings == ()
    assert (report.records, report.root) == (1, "r" * 64)


def edit(old: str, new: str):
    def attack(site: Path) -> None:
        page = site / "cells" / "tvm.html"
        text = page.read_text(encoding="utf-8")
        assert old in text
        record = next(path.stem for path in (site / "evidence").glob("*.json") if path.name != "seal.json")
        page.write_text(text.replace(old, new.replace("RECORD", record)), encoding="utf-8")

    return attack


def edit_both(site: Path) -> None:
    edit("5.52", "4.52")(site)
    edit("5518.0", "4518.0")(site)


def edit_record(site: Path) -> None:
    path = next(path for path in (site / "evidence").glob("*.json") if path.name != "seal.json")
    path.write_bytes(path.read_bytes().replace(b"5518.0", b"4518.0"))


def edit_record_and_page(site: Path) -> None:
    edit_both(site)
    edit_record(site)


def edit_text(site: Path) -> None:
    path = next((site / "evidence").glob("*.txt"))
    path.write_bytes(path.read_bytes().replace(b"addf", b"mulf"))


EDITS = {
    "a digit a reader sees": edit("5.52", "5.42"),
    "a unit's worth": edit("5.52", "55.2"),
    "a sign": edit("5.52", "−5.52"),
    "a count": edit(">15<", ">16<"),
    "the value behind the text": edit('"5518.0"', '"5418.0"'),
    "text and value": edit_both,
    "where a number points": edit("median_ns", "noise_degrees"),
    "a number that leads nowhere": edit("/timings/0/median_ns", "/timings/9/median_ns"),
    "a number without a record": edit("#/timings/0/median_ns", "0#/timings/0/median_ns"),
    "a record": edit_record,
    "a record, the value and the text": edit_record_and_page,
    "a stage's text": edit_text,
}


HOSTILE = {
    "a number that no float is": edit(">5.52&nbsp;µs<", ">1e999<"),
    "an exponent of five thousand digits": edit(">5.52&nbsp;µs<", f">1e{'9' * 5000}<"),
    "a ratio of one value": edit('/median_ns">5.52', '/median_ns" data-of="ratio">5.52'),
    "a ratio to nothing": edit(
        'series/0/drift">0 %', 'series/0/samples RECORD#/timings/0/series/0/drift" data-of="ratio">0 %'
    ),
    "a place that is no number": edit("/timings/0/median_ns", "/timings/²/median_ns"),
    "a place of five thousand digits": edit("/timings/0/median_ns", f"/timings/{'9' * 5000}/median_ns"),
    "a line that is no number": edit("<p>", f'<p><code data-excerpt="{"0" * 64}"><i data-line="²">x</i></code>'),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_page_is_a_finding_and_no_crash(site: Path, what: str) -> None:
    HOSTILE[what](site)
    seal_site(site, root="r" * 64)
    assert {(finding.kind, finding.path) for finding in verify_site(site).findings} == {
        ("inconsistent", "cells/tvm.html")
    }


def test_a_record_that_is_no_json_and_a_page_that_is_no_text_are_findings(site: Path) -> None:
    page, content = site / "cells" / "tvm.html", b"[" * 100_000
    name = hashlib.sha256(content).hexdigest()
    (site / "evidence" / f"{name}.json").write_bytes(content)
    told = f'<data value="1" data-evidence="{name}#/x">1</data>'
    page.write_bytes(b"\xff" + page.read_bytes() + told.encode())
    seal_site(site, root="r" * 64)
    assert ["is not on the site" in finding.message for finding in verify_site(site).findings] == [True]


@pytest.mark.parametrize("what", EDITS)
@pytest.mark.parametrize("sealed_again", [False, True])
def test_an_edit_is_found_even_if_the_site_is_sealed_again(site: Path, what: str, sealed_again: bool, tally) -> None:
    EDITS[what](site)
    if sealed_again:
        seal_site(site, root="r" * 64)
    report = verify_site(site)
    tally("a number or a text edited in a built site, then sealed again or not", 1, int(report.exit_code == 1))


def test_files_added_removed_or_edited_are_named(site: Path) -> None:
    (site / "index.html").write_text("<!doctype html><title>other</title>")
    (site / "extra.html").write_text("<!doctype html>")
    (site / "cells" / "tvm.html").unlink()
    found = {(finding.kind, finding.path) for finding in verify_site(site).findings}
    assert found == {("changed", "index.html"), ("foreign", "extra.html"), ("missing", "cells/tvm.html")}


def test_a_site_sealed_again_has_another_seal_than_the_one_noted(site: Path) -> None:
    noted = seal_site(site, root="r" * 64)
    assert verify_site(site, noted).sound
    (site / "index.html").write_text("<!doctype html><title>other</title>")
    assert seal_site(site, root="r" * 64) != noted
    assert verify_site(site).sound
    assert [finding.kind for finding in verify_site(site, noted).findings] == ["changed"]


def test_a_site_without_a_seal_is_not_sound(site: Path) -> None:
    (site / SEAL).unlink()
    assert [finding.kind for finding in verify_site(site).findings] == ["missing"]
