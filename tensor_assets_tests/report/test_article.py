"""The article, from the campaign that ships: what it says is in the records; what is gone ends the build."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

import pytest

from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.shown import false_statements
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import import_bundle
from tensor_assets.report.faces import load_faces
from tensor_assets.report.pages import SITE, PageWriter
from tensor_assets.report.written import WrittenPages
from tensor_assets.settings import ROOT

PARTS = ("part1.md", "part2.md")
# What the campaign that ships did not capture. Anything else that the article names must be there.
ABSENT_ALLOWED = {"luminal", "tuned", "expanded", "rmsnorm"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> EvidenceStore:
    store = EvidenceStore(str(tmp_path_factory.mktemp("recorded") / "store"))
    for bundle in sorted((ROOT / "fixtures" / "recorded").glob("*.bundle")):
        import_bundle(store, bundle)
    return store


def fill_in(store: EvidenceStore, out: Path, source: Path = SITE) -> Path:
    """The article alone: cells, charts and tables are tested elsewhere."""
    writer = PageWriter(PublicView(store), out, load_faces(ROOT / "adapters"), None, source)
    writer.show_claims([ROOT / "fixtures" / "claims"])
    pages = WrittenPages(writer, [], [])
    for part in PARTS:
        pages.fill_in(part)
    return out


@pytest.fixture(scope="module")
def article(recorded: EvidenceStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_in(recorded, tmp_path_factory.mktemp("article"))


def shown(article: Path) -> str:
    return "".join(path.read_text() for path in sorted(article.rglob("*")) if path.suffix in (".md", ".html"))


def test_every_number_word_and_line_is_in_the_records(article: Path) -> None:
    assert list(false_statements(article)) == []
    text = shown(article)
    assert text.count("data-evidence") > 150
    assert text.count("data-line") > 20


def test_no_comment_is_said_to_decide_anything(article: Path) -> None:
    deciding = re.findall(r'class="l deciding"><i>\d+</i>(.*?)<em>', shown(article), re.DOTALL)
    lines = [unescape(re.sub(r"<[^>]+>", "", line)).strip() for line in deciding]
    assert len(lines) > 10
    assert [line for line in lines if line.startswith(("# ", "// "))] == []


def test_nothing_that_ships_is_called_absent(article: Path) -> None:
    absent = set(re.findall(r'data-absent="([^"]+)"', shown(article)))
    assert {what for what in absent if not any(word in what.lower() for word in ABSENT_ALLOWED)} <= {
        "a device timeline and counters on NVIDIA H200"
    }


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda text: re.sub(r"(data-of=\"sum\">)2(\.00\s*MiB)", r"\g<1>3\2", text), "does not show"),
        (lambda text: text.replace("HMMA</span>", "HGMMA</span>").replace(">HMMA.16816.F32<", ">HGMMA.16816.F32<"), ""),
        (lambda text: re.sub(r"(launches/#\">)1<", r"\g<1>2<", text), "does not show"),
    ],
    ids=["a sum", "an instruction", "a count"],
)
def test_an_edited_page_is_found_and_named(article: Path, tmp_path: Path, edit, found: str) -> None:
    shutil.copytree(article, tmp_path / "site")
    edited = set()
    for path in (tmp_path / "site").rglob("*.html"):
        before = path.read_text()
        path.write_text(edit(before))
        if path.read_text() != before:
            edited.add(path.relative_to(tmp_path / "site").as_posix())
    problems = list(false_statements(tmp_path / "site"))
    assert edited
    assert {page for page, _, _ in problems} == edited
    assert all(found in problem for _, _, problem in problems)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"mma_sync"', '"mma_async_never"', "has no line like 'mma_async_never'"),
        ('excerpt(tvm, "machine"', 'excerpt(tvm, "machinery"', "has no stage 'machinery'"),
        ('captured("weight_view", "tvm")', 'captured("weight_veiw", "tvm")', "'weight_veiw', which does not exist"),
        ('captured("weight_view", "tvm")', 'captured("weight_view", "tvn")', "'tvn', which has no adapter"),
        ('article.launch_of(tinygrad, "p")', 'article.launch_of(tinygrad, "z")', "no launch computes 'z'"),
    ],
)
def test_a_page_that_names_something_missing_ends_the_build(
    recorded: EvidenceStore, tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    source = tmp_path / "site"
    shutil.copytree(SITE, source, ignore=shutil.ignore_patterns("build*", "assets"))
    page = source / "pages" / "part2.md"
    assert old in page.read_text()
    page.write_text(page.read_text().replace(old, new))
    with pytest.raises(SiteBroken, match=re.escape(complaint)):
        fill_in(recorded, tmp_path / "out", source)


def test_a_store_without_the_campaign_says_so(tmp_path: Path) -> None:
    text = shown(fill_in(EvidenceStore(str(tmp_path / "empty")), tmp_path / "out"))
    assert "not captured here" in text
    assert "data-evidence" not in text
