"""Where times of several allocations stand on one page, each says which it is of."""

from __future__ import annotations

import msgspec
import pandas as pd
import pytest

from tensor_assets.errors import AllocationMismatch
from tensor_assets.records import SessionRecord
from tensor_assets.report import charts
from tensor_assets.report.allocations import allocations_of, one_allocation_each
from tensor_assets.report.faces import load_faces
from tensor_assets.report.measurements import Measurements, by_allocation
from tensor_assets.report.reading import Configuration, read_snapshot
from tensor_assets.report.tables import tables_of
from tensor_assets.settings import ROOT
from tensor_assets_tests.report import campaign

FACES = load_faces(ROOT / "adapters")


def timed(**allocations: str) -> pd.DataFrame:
    return pd.DataFrame([{"workload": name, "allocation": of} for name, of in allocations.items()])


def test_a_chart_names_the_allocations_of_its_rows_the_larger_as_the_rest():
    rows = timed(gemm="1b822c21ab12ef", bias="0e5c3a94cd34ef", relu="0e5c3a94cd34ef")
    assert one_allocation_each(rows, "H200", left_out=2) == [
        "rows come from 2 allocations; compare within a row only; 2 timed on another allocation left out",
        "1b822c21ab12: gemm; 0e5c3a94cd34: the rest",
    ]
    assert allocations_of(rows[rows.workload == "gemm"], "row") == ["all on one allocation"]


def test_many_allocations_are_counted_and_not_named():
    rows = timed(a="1", b="2", c="3", d="4")
    assert allocations_of(rows, "line") == ["lines come from 4 allocations; compare within a line only"]


def test_a_row_of_two_allocations_is_refused():
    rows = pd.concat([timed(gemm="1b822c21ab12ef"), timed(gemm="0e5c3a94cd34ef")])
    with pytest.raises(AllocationMismatch, match="gemm on H200 come from 2 allocations"):
        one_allocation_each(rows, "H200")


@pytest.fixture(scope="module")
def snapshot(built):
    return read_snapshot(built.store)


def moved(c: Configuration, allocation: str, day: str) -> Configuration:
    assert c.benchmark
    assert c.benchmark.allocation
    benchmark = msgspec.structs.replace(
        c.benchmark,
        allocation=msgspec.structs.replace(c.benchmark.allocation, id=allocation),
        provenance=msgspec.structs.replace(c.benchmark.provenance, created=f"{day}T08:00:00+00:00"),
    )
    return msgspec.structs.replace(c, benchmark=benchmark)


def test_the_table_of_times_opens_each_allocation_the_newest_first(snapshot):
    first, second, third = [c for c in snapshot.configurations if c.benchmark and c.benchmark.allocation][:3]
    rows = [
        {"c": moved(first, "old allocation", "2026-11-28")},
        {"c": moved(second, "new allocation", "2026-11-29")},
        {"c": moved(third, "old allocation", "2026-11-27")},
    ]
    ordered = by_allocation(rows)
    assert [row["c"].benchmark.provenance.created[:10] for row in ordered] == ["2026-11-29", "2026-11-28", "2026-11-27"]
    assert [row["opening"] for row in ordered] == [
        {"allocation": "new allocati", "day": "2026-11-29", "count": 1},
        {"allocation": "old allocati", "day": "2026-11-28", "count": 2},
        None,
    ]
    assert [row["opening"] for row in by_allocation(rows[::2])] == [None, None]
    assert by_allocation([]) == []


def test_how_it_was_made_tells_of_the_sessions_whose_times_stand(built, snapshot):
    """Recorded on an H200: 22 sessions were listed, and ten of them had made what the page shows."""
    used = {c.benchmark.session for c in snapshot.configurations if c.benchmark}
    older = msgspec.structs.replace(next(iter(snapshot.sessions.values())), seed=77)
    both = msgspec.structs.replace(snapshot, sessions={**snapshot.sessions, "older": older})
    shown = Measurements(_Writer(both), "measurements.md")
    assert {row["id"] for method in shown.methods() for row in method["rows"]} == used & snapshot.sessions.keys()
    assert shown.older_sessions() == 1 + len(snapshot.sessions.keys() - used)
    assert isinstance(built.store.get(next(iter(used))), SessionRecord)


class _Writer:
    """What the methods ask of the page's writer."""

    def __init__(self, snapshot):
        self.snapshot, self.files = snapshot, self

    def add_record(self, record_id, record, what):
        assert record_id in self.snapshot.sessions


def test_a_program_that_computes_something_else_is_left_out_of_the_count_of_activities(snapshot):
    kernels = tables_of(snapshot)["kernels"].copy()
    own = (kernels.target == campaign.H200) & (kernels.workload == "weight_view") & (kernels.variant == "default")

    def drawn():
        return charts.activities(kernels, campaign.H200, "H200", FACES, ["weight_view"], "weight_view")

    before = drawn()
    kernels.loc[own & (kernels.compiler == "tinygrad"), "status"] = "rejected"
    after = drawn()
    assert "of wrong values" not in before.subtitle
    assert after.subtitle.endswith("; 1 of wrong values left out")
    assert "tinygrad" in {row["compiler"] for row in before.spec["datasets"]["rows"]}
    assert "tinygrad" not in {row["compiler"] for row in after.spec["datasets"]["rows"]}


def test_compilers_that_took_as_long_do_not_hide_each_other(snapshot):
    cells = tables_of(snapshot)["cells"]
    chart = charts.latency_overview(cells, campaign.H200, "device", "H200", FACES, snapshot.workloads())
    offsets = [layer["encoding"]["yOffset"] for layer in chart.spec["layer"]]
    titles = {row["compiler"] for row in chart.spec["datasets"]["rows"]}
    assert all(offset["field"] == "compiler" and set(offset["sort"]) == titles for offset in offsets)
