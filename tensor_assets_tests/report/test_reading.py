"""What stands for a cell, and what is never joined or shown under another's heading."""

from __future__ import annotations

import msgspec
import pandas as pd
import pytest
from tensor_worker.artifacts import Launch

from tensor_assets.records import CaptureRecord, FixtureRecord, Outcome, ProfileRecord
from tensor_assets.report.cell_page import configuration_page
from tensor_assets.report.matrix import matrix_views, shown_clock
from tensor_assets.report.measurements import judged_together
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.tables import tables_of
from tensor_assets_tests.report import campaign
from tensor_assets_tests.sessions.test_joining import benchmark


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


def tvm_on_the_gpu(store, kind):
    return next(
        record
        for _, record in store.records(kind)
        if (record.key.compiler, record.key.target) == ("tvm", campaign.H200) and record.outcome.status == "ok"
    )


def joined(store):
    return next(
        c for c in read_snapshot(store).configurations if (c.key.compiler, c.key.target) == ("tvm", campaign.H200)
    )


def test_a_profile_of_another_allocation_does_not_stand_beside_times(store):
    profile = tvm_on_the_gpu(store, ProfileRecord)
    assert joined(store).profile == profile
    elsewhere = msgspec.structs.replace(profile.allocation, id="another-lease")
    created = msgspec.structs.replace(profile.provenance, created="2026-12-24T00:00:00Z")
    store.put(msgspec.structs.replace(profile, allocation=elsewhere, provenance=created))
    found = joined(store)
    assert found.profile is None
    assert found.profile_apart.startswith("profile of tvm beside its times: records of different allocations")


@pytest.mark.parametrize("fingerprint", ["", "0" * 64])
def test_a_profile_of_another_implementation_does_not_stand_beside_times(store, fingerprint):
    profile = tvm_on_the_gpu(store, ProfileRecord)
    created = msgspec.structs.replace(profile.provenance, created="2026-12-24T00:00:00Z")
    store.put(msgspec.structs.replace(profile, fingerprint=fingerprint, provenance=created))
    found = joined(store)
    assert found.profile is None
    assert "was asked for" in found.profile_apart


def test_a_profile_that_measured_nothing_says_why(store):
    profile = tvm_on_the_gpu(store, ProfileRecord)
    created = msgspec.structs.replace(profile.provenance, created="2026-12-24T00:00:00Z")
    refused = Outcome(status="unavailable", reason="counters may not be read")
    store.put(
        msgspec.structs.replace(
            profile, outcome=refused, fingerprint="", allocation=None, kernels=(), provenance=created
        )
    )
    assert joined(store).profile.outcome == refused


def test_many_comparisons_are_judged_together(store):
    """Of twenty cells one has p = 0.04: alone it is told as slower, among twenty it is not."""
    one = joined(store)
    cells = [
        msgspec.structs.replace(one, benchmark_id=str(n), benchmark=benchmark(0.04 if n == 0 else 0.9))
        for n in range(20)
    ]
    found = judged_together(cells)
    assert [name for name, comparison in found.items() if comparison.verdict in ("slower", "faster")] == []
    assert found["0"].q == pytest.approx(0.8)
    assert judged_together(cells[:1])["0"].verdict == "slower"


def test_a_newer_build_with_a_patched_source_does_not_stand_for_the_compiler(store):
    plain = next(r for _, r in store.records(CaptureRecord) if (r.key.compiler, r.key.target) == ("tvm", "cpu"))
    store.put(
        msgspec.structs.replace(
            plain,
            key=msgspec.structs.replace(plain.key, patch="ab" * 32),
            provenance=msgspec.structs.replace(plain.provenance, created="2030-01-01T00:00:00.000+00:00"),
        )
    )
    shown = [c for c in read_snapshot(store).of_cell("weight_view", "tvm") if c.key.target == "cpu"]
    assert [c.key.patch for c in shown] == [""]


def test_a_plan_that_misses_the_product_is_told_apart(store):
    """As of MAX on an H200: a memset, and a packed multiply-add that was taken for the product's instruction."""
    _, whole = next(p for p in store.records(CaptureRecord) if p[1].key.compiler == "max" and p[1].key.target == "cpu")
    named = {name for launch in whole.plan.launches for name in launch.computes}
    memset = Launch(kind="memset", name="cuMemset")
    packed = Launch(kind="kernel", name="elementwise", computes=tuple(named), instruction="HFMA2.MMA")
    for launches in ((memset,), (memset, packed)):
        plan = msgspec.structs.replace(whole.plan, launches=launches)
        store.put(msgspec.structs.replace(whole, plan=plan))
        snapshot = read_snapshot(store)
        (found,) = (c for c in snapshot.configurations if c.key == whole.key)
        assert found.unseen == ("p",)
        row = next(row for row in tables_of(snapshot)["cells"].itertuples() if row.capture == found.capture_id)
        assert (pd.isna(row.launches), row.unseen) == (True, "p")
        cells = [cell for view in matrix_views(snapshot, {}) for row in view.rows for cell in row.cells]
        assert [cell.at_least for cell in cells if cell.capture == found.capture_id] == [True]
    assert not any(c.unseen for c in snapshot.configurations if c.key != whole.key)


def test_registers_of_code_that_was_assembled_apart_are_not_the_kernels(store):
    """As of tinygrad on an H200: 174 in what the driver assembled on demand, 92 in what it had loaded."""
    traced = next(c for c in read_snapshot(store).configurations if c.profile and c.key.compiler == "triton")

    def loaded(planned: int | None, ran: int) -> int | None:
        (launch,), (kernel,) = traced.capture.plan.launches, traced.profile.kernels
        plan = msgspec.structs.replace(
            traced.capture.plan, launches=(msgspec.structs.replace(launch, registers=planned),)
        )
        profile = msgspec.structs.replace(traced.profile, kernels=(msgspec.structs.replace(kernel, registers=ran),))
        capture = msgspec.structs.replace(traced.capture, plan=plan)
        return msgspec.structs.replace(traced, capture=capture, profile=profile).loaded_registers(0)

    assert loaded(174, 92) == 92
    assert loaded(92, 92) is None
    assert loaded(12, 16) is None, "the least that a driver allocates"
    assert loaded(None, 92) is None


def test_the_matrix_shows_the_clock_of_most_configurations_however_often_another_timed_each(store):
    """Recorded on an H200: the host timed each one warm, on zeros and cold, the device each one warm."""
    snapshot = read_snapshot(store)
    often = [
        c
        if c.benchmark is None
        else msgspec.structs.replace(
            c,
            benchmark=msgspec.structs.replace(
                c.benchmark,
                timings=(
                    *c.timings,
                    *(
                        msgspec.structs.replace(timing, cache=cache, data=data)
                        for timing in c.timings
                        if timing.clock == "host"
                        for cache, data in (("warm", "zeros"), ("cold", "random"), ("cold", "zeros"))
                    ),
                ),
            ),
        )
        for c in snapshot.configurations
    ]
    told = msgspec.structs.replace(snapshot, configurations=tuple(often))
    assert sum(t.clock == "host" for c in often for t in c.timings) > sum(
        t.clock == "device" for c in often for t in c.timings
    )
    assert shown_clock(told, campaign.H200) == "device"
    assert shown_clock(told, "cpu") == "host"
