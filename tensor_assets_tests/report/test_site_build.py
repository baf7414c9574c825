"""The site is built whole or not at all, and holds nothing it must not."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
import threading

import markdown
import msgspec
import pytest
from mkdocs.utils.meta import get_data

from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import STATUSES, CaptureRecord
from tensor_assets.report import charts
from tensor_assets.report.figures import Figures
from tensor_assets.report.links import broken_links
from tensor_assets.report.pages import PageWriter, write_pages
from tensor_assets.report.site import build_site
from tensor_assets.report.written import WrittenPages
from tensor_assets_tests.report import campaign

# What a browser asks for to show the home page.
FIRST_VIEW = (
    "index.html", "assets/*.css", "assets/site.js", "assets/claims.js", "assets/iframe-worker.js",
    "assets/javascripts/bundle*.js", "assets/stylesheets/*.css", "search/search_index.js",
)  # fmt: skip


def test_every_cell_has_a_page_and_every_outcome_is_shown(built):
    cells = {(r.key.workload, r.key.compiler) for _, r in built.store.records(CaptureRecord)}
    assert all((built.site / "cells" / workload / f"{compiler}.html").exists() for workload, compiler in cells)
    home = (built.site / "index.html").read_text()
    assert all(f"cell-{status}" in home for status in STATUSES)


def test_a_variant_and_another_target_have_pages_of_their_own(built):
    below = {path.name for path in (built.site / "cells/weight_view/inductor").iterdir()}
    assert below == {"default-cpu-matrix.html", "native-cpu-matrix.html", "default-sm-90-matrix.html"}


def test_nothing_leads_nowhere_or_to_another_host(built):
    assert broken_links(built.site) == []


@pytest.mark.parametrize(
    ("markup", "complaint"),
    [
        ('<a href="cells/none.html">x</a>', "leads to no file"),
        ('<a href="index.html#nowhere">x</a>', "names no place"),
        ('<a href="index.html#a=nothing">x</a>', "nothing, which is not there"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ("<img src='//example.org/x.png'>", "loads //example.org/x.png"),
        ('<a href="javascript:alert(1)">x</a>', "scheme javascript"),
    ],
)
def test_the_check_finds_what_it_looks_for(tmp_path, markup, complaint):
    (tmp_path / "index.html").write_text(f'<p id="here">{markup}</p>')
    assert complaint in " ".join(broken_links(tmp_path))


def test_hostile_names_are_text(built):
    page = (built.site / "cells/bias/tvm.html").read_text()
    assert "<img src=x" not in page
    assert '<script>alert("x")' not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_records_are_carried_as_the_bytes_their_names_say(built):
    records = list((built.site / "evidence").glob("*.json"))
    texts = list((built.site / "evidence").glob("*.txt"))
    assert records
    assert texts
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.stem for path in records + texts)


def test_private_evidence_is_named_and_stays_in_the_store(built):
    record = next(r for _, r in built.store.records(CaptureRecord) if r.outcome.log)
    assert not list((built.site / "evidence").glob(f"{record.outcome.log.sha256}*"))
    page = (built.site / f"cells/{record.key.workload}/{record.key.compiler}.html").read_text()
    assert record.outcome.log.sha256 in page
    assert not any(b"Killed" in path.read_bytes() for path in built.site.rglob("*.txt"))


def test_a_number_carries_its_clock_spread_and_evidence(built):
    page = (built.site / "cells/weight_view/max.html").read_text()
    rail = page[page.rindex("<h2>Fast?</h2>") :][:1500]
    for part in ("15.6", "µs", "device, warm", "A/A noise", 'class="proof"'):
        assert part in rail


def test_every_line_of_a_stage_can_be_linked_to(built):
    page = (built.site / "cells/weight_view/tvm.html").read_text()
    text = (campaign.NATIVE / "tir.txt").read_text().rstrip("\n").split("\n")
    assert all(f'id="legalized-{number}"' in page for number in range(1, len(text) + 1))


def test_budgets_of_bytes(built):
    transferred = sum(
        len(gzip.compress(path.read_bytes())) for pattern in FIRST_VIEW for path in built.site.glob(pattern)
    )
    assert transferred < 200_000
    assert max(path.stat().st_size for path in built.site.rglob("*.html")) < 1_500_000


def test_a_missing_page_ends_the_build_and_the_old_site_stays(built, tmp_path):
    site = tmp_path / "site"
    build_site(built.pages, site)
    before = (site / "index.html").read_bytes()
    broken = tmp_path / "pages"
    write_pages(PublicView(EvidenceStore(str(tmp_path / "empty"))), broken)
    (broken / "limits.md").write_text("# Limits\n\n[gone](nowhere.md)\n")
    with pytest.raises(SiteBroken, match="nowhere"):
        build_site(broken, site)
    assert (site / "index.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".site")] == []


def test_a_missing_fragment_ends_the_build(tmp_path):
    pages = write_pages(PublicView(EvidenceStore(str(tmp_path / "empty"))), tmp_path / "pages")
    (pages / "limits.md").write_text("# Limits\n\n<!-- fragment: not/there.html -->\n")
    with pytest.raises(SiteBroken):
        build_site(pages, tmp_path / "site")


def test_what_a_page_says_of_itself_is_text(tmp_path):
    about, title = '"><script>alert(1)</script> & more', "T &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    pages = write_pages(PublicView(EvidenceStore(str(tmp_path / "empty"))), tmp_path / "pages")
    writer = PageWriter(PublicView(EvidenceStore(str(tmp_path / "empty"))), tmp_path / "one", {}, None)
    writer.add_page("some.html", title, "<p>here</p>", description=about)
    for name in ("some.md", ".fragments/some.html"):
        (pages / name).parent.mkdir(exist_ok=True)
        (pages / name).write_bytes((tmp_path / "one" / name).read_bytes())
    text = (build_site(pages, tmp_path / "site").parent / "some.html").read_text()
    assert "<script>alert(1)" not in text
    assert f'<meta name="description" content="{html.escape(about)}">' in text


def test_a_reason_on_a_written_page_is_no_markdown(tmp_path):
    store = campaign.fill(str(tmp_path / "store"), ("projection_join",))
    reason = "*x*{: onclick=alert(1) } [y](javascript:alert(2)) <!-- fragment: z -->"
    for _, record in list(store.records(CaptureRecord)):
        if record.outcome.status == "rejected":
            newer = msgspec.structs.replace(record.provenance, created="2030-01-01T00:00:00.000+00:00")
            outcome = msgspec.structs.replace(record.outcome, reason=reason)
            store.put(msgspec.structs.replace(record, outcome=outcome, provenance=newer))
    writer = PageWriter(PublicView(store), tmp_path / "pages", {}, None)
    writer.show_claims([])
    WrittenPages(writer, [], []).fill_in("method.md")
    text, _ = get_data((tmp_path / "pages" / "method.md").read_text(encoding="utf-8"))
    made = markdown.markdown(text, extensions=["attr_list", "def_list", "tables"])
    (shown,) = re.findall(r"was rejected: (.*?)\.</p>", made)
    assert "<" not in shown
    assert html.unescape(shown) == reason


def test_an_empty_store_gives_a_site_that_says_so(tmp_path):
    pages = write_pages(PublicView(EvidenceStore(str(tmp_path / "empty"))), tmp_path / "pages")
    assert "Nothing has been materialized" in build_site(pages, tmp_path / "site").read_text()


def test_a_reader_sees_the_old_site_or_the_new_one(built, tmp_path):
    site, stop, seen = tmp_path / "site", threading.Event(), []
    build_site(built.pages, site)

    def read() -> None:
        while not stop.is_set():
            seen.append((site / "index.html").exists() and (site / "data.html").exists())

    reader = threading.Thread(target=read)
    reader.start()
    build_site(built.pages, site)
    stop.set()
    reader.join()
    assert len(seen) > 100
    assert all(seen)


def test_charts_are_loaded_as_scripts_that_name_no_host(built):
    for path in (built.site / "charts").glob("*.js"):
        call = re.fullmatch(r"tensorAssetsChart\(\"[\w-]+\", (.*)\);\n", path.read_text(), re.DOTALL)[1]
        spec, narrow = json.loads(f"[{call}]")
        assert spec["datasets"]["rows"]
        assert spec["title"]["text"]
        assert spec["title"]["subtitle"]
        assert not {"title", "datasets", "config"} & narrow.keys(), "its data and style come with the wide one"


def test_every_row_of_a_device_timeline_has_the_columns_of_its_head(built):
    page = (built.site / "cells/weight_view/max.html").read_text()
    (table,) = re.findall(r'aria-label="Device timeline">(<table.*?</table>)', page, re.DOTALL)
    head, *rows = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
    assert len(rows) == 3
    assert {len(re.findall(r"<t[dh]\b", row)) for row in (head, *rows)} == {12}
    assert all(f"{level}<small>of its roof" in head for level in ("HBM", "L2"))


def test_charts_of_one_name_do_not_stand_for_each_other(tmp_path):
    spec = {"data": {"values": [{"x": 1}]}, "mark": "bar", "encoding": {"x": {"field": "x"}}}
    one = charts.Chart(name="timeline-a", spec=spec, title="one", subtitle="", alternative="")
    other = msgspec.structs.replace(one, spec=spec | {"mark": "point"})
    figures = Figures(tmp_path, None)
    shown = [re.findall('data-chart="(.*?)"', figures.figure(chart, "."))[0] for chart in (one, other, one)]
    assert shown[0] == shown[2] != shown[1]
    marks = [json.loads((tmp_path / "charts" / f"{name}.json").read_text())["mark"] for name in shown]
    assert marks == ["bar", "point", "bar"]


@pytest.mark.parametrize("title", ["𝑥 → 𝑦", "a: b # c", '"quoted"', "--- ", "\x7f", "a\nb"])
def test_a_title_is_what_it_is_whatever_yaml_makes_of_it(tmp_path, title):
    writer = PageWriter(PublicView(EvidenceStore(str(tmp_path / "store"))), tmp_path / "pages", {}, None)
    writer.add_page("some.html", title, "<p>here</p>")
    text = (tmp_path / "pages" / "some.md").read_text(encoding="utf-8")
    assert get_data(text)[1]["title"] == title
