"""Eight ways to say a right number wrongly: each ends the build, and the right way to say it does not."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tensor_assets.errors import SiteBroken
from tensor_assets.report.said_rightly import wrong_sayings
from tensor_assets.report.site import build_site
from tensor_assets_tests.report.conftest import Built

CAPTURE: dict[str, Any] = {
    "record": "capture",
    "key": {"workload": "bias", "shape": "matrix", "target": "NVIDIA H200"},
    "plan": {
        "launches": [
            {"kind": "library", "name": "nvjet_sm90_hsh_128x64_64x8", "parameters": {}},
            {"kind": "kernel", "name": "matmul", "parameters": {"BLOCK_M": 128}},
        ]
    },
}
BENCHMARK: dict[str, Any] = {
    "record": "benchmark",
    "key": {"workload": "bias", "shape": "matrix", "target": "NVIDIA H200"},
    "allocation": {"id": "one", "device": "NVIDIA H200"},
    "timings": [{"clock": "host", "median_ns": 50000.0, "series": [{"median_ns": 49000.0}, {"median_ns": 51000.0}]}],
}
OTHER = BENCHMARK | {"allocation": {"id": "two", "device": "NVIDIA H200"}}
SMALL = BENCHMARK | {"key": BENCHMARK["key"] | {"shape": "inspect"}}
H100 = BENCHMARK | {"allocation": {"id": "one", "device": "NVIDIA H100"}}
PROFILE: dict[str, Any] = {
    "record": "profile",
    "key": {"workload": "bias", "shape": "matrix", "target": "NVIDIA H200"},
    "opcodes": {"matmul": {"HMMA": 64}},
}
CELL = "&#34;".join(["{", "workload", ":", "bias", ",", "shape", ":", "matrix", ",", "target", ":", "NVIDIA H200", "}"])


class Page:
    """A site of one page, to which records are quoted."""

    def __init__(self, site: Path) -> None:
        self.site = site
        (site / "evidence").mkdir()
        (site / "charts").mkdir()

    def quote(self, record: dict[str, Any], pointer: str, text: str = "1") -> str:
        data = msgspec.json.encode(record, order="sorted")
        record_id = hashlib.sha256(data).hexdigest()
        (self.site / "evidence" / f"{record_id}.json").write_bytes(data)
        return f'<data value="1" data-evidence="{record_id}#{pointer}">{text}</data>'

    def says(self, body: str, *, cell: bool = False) -> list[str]:
        about = f' data-cell="{CELL}"' if cell else ""
        (self.site / "page.html").write_text(f"<article{about}>{body}</article>")
        return wrong_sayings(self.site)

    def draws(self, title: str, subtitle: str, rows: list[dict[str, Any]], **more: Any) -> list[str]:
        chart = {"title": {"text": title, "subtitle": subtitle}, "datasets": {"rows": rows}} | more
        (self.site / "charts" / "chart.json").write_text(json.dumps(chart))
        return wrong_sayings(self.site)


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(tmp_path)


@pytest.mark.parametrize(("record", "complaint"), [(SMALL, "shape inspect"), (H100, "device NVIDIA H100")])
def test_another_shapes_or_devices_evidence_under_a_cell(page: Page, record: dict[str, Any], complaint: str) -> None:
    body = f"<p>{page.quote(record, '/timings/0/median_ns')}</p>"
    assert complaint in page.says(body, cell=True)[0]
    assert page.says(body) == []  # on a page about several it may stand
    assert page.says(f"<p>{page.quote(BENCHMARK, '/timings/0/median_ns')}</p>", cell=True) == []


def test_a_range_of_process_medians_shown_as_a_confidence_interval(page: Page) -> None:
    low, high = (page.quote(BENCHMARK, f"/timings/0/series/{n}/median_ns") for n in range(2))
    for words in ("95 % interval", "confidence interval", "CI"):
        assert "range of process medians" in page.says(f"<p>{low}–{high} µs ({words})</p>")[0]
        table = f"<table><tr><th>{words}</th></tr><tr><td>{low}–{high}</td></tr></table>"
        assert "range of process medians" in page.says(table)[0]
    assert page.says(f"<p>process medians {low}–{high}, a range and not an interval of confidence</p>") == []
    rows = [{"low": 1, "high": 2}]
    assert page.draws("Times", "dot: median; line: 95 % confidence interval", rows)
    assert page.draws("Times", "dot: median; line: the range of process medians", rows) == []


def test_a_cell_is_read_under_its_own_columns_head(page: Page) -> None:
    count = page.quote(PROFILE, "/opcodes/matmul/HMMA")
    rows = f"<tr><th>FFMA</th><td>{count}</td><td>–</td></tr>" * 2
    for head, complaints in (("<th>executed</th><th>stands</th>", 1), ("<th>stands</th><th>executed</th>", 0)):
        table = f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>"
        assert len(page.says(table)) == complaints


def test_static_opcode_counts_shown_as_dynamic(page: Page) -> None:
    count = page.quote(PROFILE, "/opcodes/matmul/HMMA")
    assert "static opcode counts" in page.says(f"<p>HMMA executed {count} times</p>")[0]
    assert page.says(f"<p>HMMA stands {count} times in the code</p>") == []


def test_a_tile_inferred_from_a_library_kernels_name(page: Page) -> None:
    library, generated = (page.quote(CAPTURE, f"/plan/launches/{n}/name") for n in range(2))
    assert "reads a tile" in page.says(f"<p>{library} computes tiles of 128×64</p>")[0]
    assert page.says(f"<p>{generated} computes tiles of 128×64</p>") == []
    assert page.says(f"<p>{library} is the library's</p>") == []


def test_host_latency_divided_into_flops(page: Page) -> None:
    host = page.quote(BENCHMARK, "/timings/0/median_ns")
    assert "divides host latency" in page.says(f"<p>{host} TFLOP/s</p>")[0]
    assert "divides host latency" in page.says(f"<table><tr><th>GFLOP/s</th></tr><tr><td>{host}</td></tr></table>")[0]
    device = BENCHMARK | {"timings": [BENCHMARK["timings"][0] | {"clock": "device"}]}
    assert page.says(f"<p>{page.quote(device, '/timings/0/median_ns')} TFLOP/s</p>") == []
    assert page.draws("gemm: 31 TFLOP/s", "host clock", [{"x": 1}])


def test_a_count_of_kernels_shown_as_a_speed(page: Page) -> None:
    count = page.quote(CAPTURE, "/plan/launches/#", "2")
    assert "as a speed" in page.says(f"<p>{count} kernels, so it is faster</p>")[0]
    assert "as a speed" in page.says(f"<ul><li>{count} kernels: a 2× speedup</li></ul>")[0]
    assert page.says(f"<p>{count} kernels; a count is no speed</p>") == []


def test_an_average_over_different_completed_sets_without_its_coverage(page: Page) -> None:
    both = page.quote(BENCHMARK, "/timings/0/median_ns") + page.quote(OTHER, "/timings/0/median_ns")
    said = page.says(f"<p>On average {both} µs, each on its allocation</p>")
    assert "without saying of how many" in said[0]
    assert page.says(f"<p>The average of 2 of 5 cells, {both} µs, each on its allocation</p>") == []
    rows, averaged = [{"x": 1}], {"encoding": {"x": {"aggregate": "mean"}}}
    assert page.draws("Means", "host clock", rows, **averaged)
    assert page.draws("Means", "of 9 of 10 programs", rows, **averaged) == []


def test_records_of_two_allocations_without_saying_so(page: Page) -> None:
    both = page.quote(BENCHMARK, "/timings/0/median_ns") + page.quote(OTHER, "/timings/0/median_ns")
    assert "2 allocations beside each other" in page.says(f"<p>{both}</p>")[0]
    assert page.says(f"<p>{both}, each from an allocation of its own</p>") == []
    rows = [{"allocation": "one"}, {"allocation": "two"}]
    assert "2 allocations" in page.draws("Times", "host clock", rows)[0]
    assert page.draws("Times", "rows come from 2 allocations", rows) == []
    assert page.draws("Times", "host clock", rows[:1]) == []


def test_the_build_ends(built: Built, tmp_path: Path) -> None:
    """On real pages: a sentence beside a cell's own number, written by hand."""
    pages = tmp_path / "pages"
    shutil.copytree(built.pages, pages)
    fragment = pages / ".fragments" / "cells" / "weight_view" / "max.html"
    text = fragment.read_text()
    edited = re.sub(r"(/plan/launches/#\">\d+</data></span>)", r"\1 so it is faster,", text)
    assert edited != text
    fragment.write_text(edited)
    site = tmp_path / "site"
    with pytest.raises(SiteBroken, match=r"weight_view/max\.html: "):
        build_site(pages, site)
    assert not site.exists()
