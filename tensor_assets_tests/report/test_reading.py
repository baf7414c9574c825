"""What stands for a cell, and what is never joined or shown under another's heading."""

from __future__ import annotations

import msgspec
import pytest

from tensor_assets.records import CaptureRecord, FixtureRecord
from tensor_assets.report.cell_page import configuration_page
from tensor_assets.report.matrix import matrix_views
from tensor_assets.report.reading import read_snapshot
from tensor_assets_tests.report import campaign


@pytest.fixture
def store(tmp_path):
    return campaign.fill(str(tmp_path), ("weight_view",))


def test_the_timed_device_stands_for_a_cell_where_it_has_something_to_show(store):
    snapshot = read_snapshot(store)
    assert [c.key.target for c in snapshot.of_cell("weight_view", "tvm")] == [campaign.H200, "cpu", "sm_90"]
    # Luminal has nothing anywhere; Triton has nothing on the CPU and something without a device.
    assert [c.key.target for c in snapshot.of_cell("weight_view", "triton")] == [campaign.H200, "sm_90", "cpu"]


def test_an_inspection_size_never_stands_where_a_larger_one_was_tried(store):
    _, capture = next(
        p for p in store.records(CaptureRecord) if p[1].key.compiler == "tvm" and p[1].key.target == "cpu"
    )
    _, fixtures = next(store.records(FixtureRecord))
    small = msgspec.structs.replace(fixtures.key, shape="matrix_inspect")
    store.put(msgspec.structs.replace(fixtures, key=small, program=campaign.program("weight_view", 8, 16, 24)))
    store.put(msgspec.structs.replace(capture, key=msgspec.structs.replace(capture.key, shape="matrix_inspect")))
    snapshot = read_snapshot(store)
    assert snapshot.main_shape("weight_view", "cpu") == "matrix"
    inspect = next(c for c in snapshot.configurations if c.key.shape == "matrix_inspect")
    assert configuration_page(snapshot, inspect) == "cells/weight_view/tvm/default-cpu-matrix-inspect.html"


def test_a_target_with_only_an_inspection_size_says_so(store):
    for _, capture in list(store.records(CaptureRecord)):
        if capture.key.target == "cpu":
            key = msgspec.structs.replace(capture.key, shape="matrix_inspect", target="NVIDIA H100 80GB HBM3")
            store.put(msgspec.structs.replace(capture, key=key))
    snapshot = read_snapshot(store)
    view = next(view for view in matrix_views(snapshot, {}) if "H100" in view.title)
    assert view.shape == "matrix_inspect"
    assert [cell.status for cell in view.rows[0].cells].count("ok") == 5


def test_every_configuration_has_its_own_page(store):
    snapshot = read_snapshot(store)
    pages = [configuration_page(snapshot, c) for c in snapshot.configurations]
    assert len(set(pages)) == len(pages)


def test_the_newest_record_of_a_configuration_counts_whatever_its_environment(store):
    _, capture = next(
        p for p in store.records(CaptureRecord) if p[1].key.compiler == "max" and p[1].key.target == "cpu"
    )
    later = msgspec.structs.replace(
        capture,
        key=msgspec.structs.replace(capture.key, environment="another"),
        provenance=msgspec.structs.replace(capture.provenance, created="2026-12-24T00:00:00Z"),
        version="26.8.0",
    )
    store.put(later)
    found = [c for c in read_snapshot(store).configurations if c.key == later.key or c.key == capture.key]
    assert [c.capture.version for c in found] == ["26.8.0"]
    assert found[0].benchmark is None  # the old environment's times are not the new one's
