"""The tables hold one row for every configuration, whatever became of it, and never join what does not belong."""

from __future__ import annotations

import re

import msgspec
import pandas as pd
import pytest

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Allocation, BenchmarkRecord, CaptureRecord
from tensor_assets.report.columns import COLUMNS
from tensor_assets.report.tables import build_tables, write_tables
from tensor_assets.settings import ROOT
from tensor_assets_tests.report import campaign


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return campaign.fill(
        str(tmp_path_factory.mktemp("store")), ("weight_view", "softmax", "rmsnorm", "norm_projection")
    )


def test_every_configuration_has_a_row_whatever_its_outcome(store):
    cells = build_tables(store)["cells"]
    # 4 workloads × 7 compilers on the CPU, Inductor's native variant, weight_view on two more targets
    assert len(cells) == 4 * 7 + 1 + 2 * 7
    assert not cells.duplicated(["workload", "compiler", "variant", "target", "shape"]).any()
    assert set(cells.status) == {"ok", "rejected", "unavailable", "censored", "crashed", "blocked"}


def test_a_wrong_configuration_keeps_its_broken_boundary_and_has_no_time(store):
    cells = build_tables(store)["cells"].set_index(["workload", "compiler", "variant", "target"])
    native = cells.loc[("weight_view", "inductor", "native", "cpu")]
    assert native.boundary == "projection not rounded"
    assert pd.isna(native.median_ns)


def test_a_trial_says_why_it_has_no_time(store):
    trials = build_tables(store)["trials"]
    without = trials[trials.median_ns.isna()]
    assert set(without.reason) == {"stopped at its deadline of 600 s"}
    assert set(trials[trials.median_ns.notna()].reason) == {""}


def test_a_memset_is_an_activity_and_a_library_call_is_told_from_a_kernel(store):
    cells = build_tables(store)["cells"].set_index(["workload", "compiler", "variant", "target"])
    row = cells.loc[("weight_view", "max", "default", campaign.H200)]
    assert (row.launches, row.kernels, row.library_calls, row.memsets) == (3, 1, 1, 1)


def test_a_benchmark_of_another_implementation_is_not_joined(tmp_path):
    store = campaign.fill(str(tmp_path), ("gemm",))
    record = next(r for _, r in store.records(BenchmarkRecord) if r.key.compiler == "tvm" and r.outcome.status == "ok")
    store.put(msgspec.structs.replace(record, fingerprint="0" * 64))
    cells = build_tables(store)["cells"].set_index("compiler")
    assert pd.isna(cells.loc["tvm"].median_ns)
    assert "fingerprint" in cells.loc["tvm"].timing_reason


def test_numbers_that_the_data_page_says_count_from_0_do(store):
    """A rounding's launch is a kernel's position, and the first trial is of block 0."""
    page = (ROOT / "site" / "pages" / "data.md").read_text(encoding="utf-8")
    said = re.search(r"^(`.*) count from 0, as in the records", page, re.MULTILINE)[1]
    tables = build_tables(store)
    named = set(re.findall(r"`(\w+)`", said)) - {"trials"}
    assert named == {"position", "launch", "first", "last", "process", "replicate", "block"}
    assert named - {"block"} <= {column for table in tables.values() for column in table.columns}
    for name, column in [(name, "position") for name, table in tables.items() if "position" in table.columns] + [
        ("trials", "block"), ("processes", "process"), ("processes", "replicate"), ("roundings", "launch"),
    ]:  # fmt: skip
        assert tables[name][column].min() == 0, f"{column} of {name}"
    rounded = tables["roundings"].merge(
        tables["kernels"], left_on=["capture", "launch"], right_on=["capture", "position"], how="left"
    )
    assert all(row.boundary in row.computes.split() for row in rounded.itertuples())


def test_the_device_is_the_gpu_and_not_what_a_compiler_calls_it(tmp_path):
    store = campaign.fill(str(tmp_path), ("gemm",))
    record = next(r for _, r in store.records(CaptureRecord) if r.key.compiler == "tinygrad")
    named = msgspec.structs.replace(
        record, device="CUDA", allocation=Allocation(id="a", device=campaign.H200, device_uuid="GPU-1")
    )
    store.put(named)
    cells = build_tables(store)["cells"].set_index(["compiler", "target"])
    assert cells.loc[(named.key.compiler, named.key.target)].device == campaign.H200


def test_an_empty_store_gives_empty_tables_with_all_columns(tmp_path):
    tables = build_tables(EvidenceStore(str(tmp_path)))
    assert {name: list(table.columns) for name, table in tables.items()} == {
        name: list(columns) for name, columns in COLUMNS.items()
    }


def test_parquet_csv_and_json_hold_the_same_rows(store, tmp_path):
    tables = build_tables(store)
    write_tables(tables, tmp_path)
    for name, table in tables.items():
        parquet = pd.read_parquet(tmp_path / f"{name}.parquet")
        assert len(parquet) == len(pd.read_csv(tmp_path / f"{name}.csv")) == len(table)
        assert len(pd.read_json(tmp_path / f"{name}.json")) == len(table)
        pd.testing.assert_frame_equal(parquet, table, check_dtype=False)


def test_a_range_of_process_medians_is_what_its_name_says(store):
    timings = build_tables(store)["timings"]
    processes = build_tables(store)["processes"]
    axes = ["workload", "compiler", "variant", "target", "shape", "clock", "cache"]
    grouped = processes.groupby(axes).median_ns
    merged = timings.set_index(axes)
    assert (merged.process_low_ns == grouped.min()).all()
    assert (merged.process_high_ns == grouped.max()).all()
