"""The steps of a cell with a toy compiler, from its folder to its page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import msgspec
import pytest

from tensor_assets.campaign import campaign, publish
from tensor_assets.campaign.benchmark import benchmark_cell
from tensor_assets.campaign.capture import capture_cell, captures_of, default_capture
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.fixtures import fixture_record, fixture_records, load_fixtures
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.session import time_workload
from tensor_assets.campaign.workspace import Workspace, resolved_target
from tensor_assets.errors import EvidenceDamaged, SettingsError
from tensor_assets.evidence.verification import verify
from tensor_assets.records import FixtureRecord, SessionRecord
from tensor_assets.sessions.lease import Lease

SMALL = Options(shape="matrix_inspect", processes=2)


def test_a_compiler_is_a_folder(space: Workspace):
    captured = capture_cell(space, "weight_view", "toy", SMALL)
    assert [stored.record.outcome.status for stored in captured] == ["ok", "rejected"]  # it offers a wrong variant too
    assert captured[0].record.admission is not None
    assert captured[0].record.admission.admitted is True
    session = time_workload(space, "weight_view", SMALL)
    assert [process.recheck for process in session.record.processes] == [True, True]
    timed, wrong = benchmark_cell(space, "weight_view", "toy", SMALL)
    assert wrong.record.outcome.status == "blocked"
    assert timed.record.outcome.status == "ok"
    assert timed.record.timings[0].median_ns > 0
    assert publish.results(space)["cells"] == 2
    publish.pages(space)
    publish.site(space)
    page = (space.settings.site / "cells" / "weight_view" / "toy.html").read_text()
    assert "right on every fixture" in page
    assert publish.latency_image(space, captured, [timed, wrong]).startswith("![")
    assert verify(space.settings.store).sound


def test_a_record_says_how_it_came_to_be_and_names_nobody(space: Workspace, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/home/ada/bin/tensor-assets", "report", "--bundle", "/home/ada/out.bundle"])
    for name, value in {"OMP_NUM_THREADS": "2", "MY_PASSWORD": "correct horse", "TRITON_API_KEY": "battery"}.items():
        monkeypatch.setenv(name, value)
    made = space.store.get(fixture_record(space, "gemm", "matrix_inspect").id).provenance
    assert made.command[:3] == ("tensor-assets", "report", "--bundle")
    assert "ada" not in str(made)
    assert made.environment["OMP_NUM_THREADS"] == "2"
    assert not {"MY_PASSWORD", "TRITON_API_KEY", "HOME", "PATH"} & set(made.environment)


def test_fixtures_of_many_are_built_beside_each_other_and_are_the_same(space: Workspace, tmp_path):
    names = ["gemm", "bias", "gemm"]
    beside = [stored.record for stored in fixture_records(space, names, "inspect")]
    assert [record.key.workload for record in beside] == names
    assert len(list(space.store.records(FixtureRecord))) == 2
    alone = Workspace(msgspec.structs.replace(space.settings, store=str(tmp_path / "alone")))
    for record in beside:
        assert [f.hashes for f in fixture_record(alone, record.key.workload, "inspect").record.fixtures] == [
            fixture.hashes for fixture in record.fixtures
        ]
        assert all(space.store.has(fixture.arrays.sha256) for fixture in record.fixtures)
    again = [stored.id for stored in fixture_records(space, names, "inspect")]
    assert again == [space.store.latest(FixtureRecord, record.key)[0] for record in beside]
    with pytest.raises(SettingsError, match="nonsense"):
        list(fixture_records(space, ["gemm", "nonsense"], "inspect"))


def test_unchanged_keys_recompute_nothing(space: Workspace):
    first = capture_cell(space, "gemm", "toy", SMALL)
    session = time_workload(space, "gemm", SMALL)
    again = Workspace(space.settings)
    assert [stored.id for stored in capture_cell(again, "gemm", "toy", SMALL)] == [stored.id for stored in first]
    assert time_workload(again, "gemm", SMALL).id == session.id
    forced = capture_cell(again, "gemm", "toy", msgspec.structs.replace(SMALL, force=True))
    assert forced[0].id != first[0].id


def test_an_edited_adapter_is_captured_again(space: Workspace, adapters):
    first = capture_cell(space, "gemm", "toy", SMALL)
    source = adapters / "toy" / "adapter.py"
    source.write_text(source.read_text() + "\n# edited\n")
    from tensor_assets.campaign.method import source_hash

    source_hash.cache_clear()  # sources are read once per process
    again = Workspace(space.settings)
    assert captures_of(again, "gemm", "cpu", "matrix_inspect") == []
    assert capture_cell(again, "gemm", "toy", SMALL)[0].id != first[0].id


def test_an_environment_that_cannot_be_built_is_an_outcome(space: Workspace, adapters):
    (adapters / "toy" / "requirements.lock").write_text("numpy==0.0.1 --hash=sha256:" + "0" * 64 + "\n")
    record = environment_record(space, "toy", "cpu").stored.record
    assert record.outcome.status == "unavailable"
    (captured,) = capture_cell(space, "gemm", "toy", SMALL)
    assert captured.record.outcome.status == "unavailable"
    assert "cannot be built" in captured.record.outcome.reason
    session = time_workload(space, "gemm", SMALL)
    assert session.record.outcome.status == "blocked"
    (timed,) = benchmark_cell(space, "gemm", "toy", SMALL)
    assert timed.record.outcome.status == "blocked"


def test_a_shut_gate_blocks_the_rest(space: Workspace, adapters):
    adapter = adapters / "toy" / "adapter.py"
    adapter.write_text(adapter.read_text() + "\n\nADAPTER.compile = lambda *_: 1 / 0\n")
    gate, *_ = capture_cell(space, "gemm", "toy", SMALL)
    assert gate.record.outcome.status == "crashed"
    assert "division by zero" in gate.record.outcome.reason
    (behind,) = capture_cell(space, "bias", "toy", SMALL)
    assert behind.record.outcome.status == "blocked"
    assert behind.record.outcome.reason.startswith("gemm, the gate of every other workload, is crashed")


def test_without_a_gpu_a_device_target_is_unavailable(space: Workspace):
    (captured,) = capture_cell(space, "gemm", "toy", Options(shape="matrix_inspect", target="NVIDIA H100 80GB HBM3"))
    assert captured.record.outcome.status == "unavailable"
    assert default_capture(space, "gemm", "toy", "NVIDIA H100 80GB HBM3", "matrix_inspect") is not None


def test_fixtures_left_out_of_a_bundle_are_made_again(space: Workspace):
    stored = fixture_record(space, "gemm", "matrix_inspect")
    whole = load_fixtures(space, stored.record)
    elsewhere = Workspace(msgspec.structs.replace(space.settings, store=space.settings.store + "-elsewhere"))
    made = load_fixtures(elsewhere, stored.record)
    assert [fixture.hashes for fixture in made] == [fixture.hashes for fixture in whole]


def test_fixtures_that_come_out_differently_are_refused(space: Workspace):
    record = fixture_record(space, "gemm", "matrix_inspect").record
    wrong = msgspec.structs.replace(record.fixtures[0], hashes={"x": "0" * 64}, arrays=_absent(record))
    with pytest.raises(EvidenceDamaged, match="do not come out as recorded"):
        load_fixtures(space, msgspec.structs.replace(record, fixtures=(wrong, *record.fixtures[1:])))


def _absent(record: FixtureRecord):
    return msgspec.structs.replace(record.fixtures[0].arrays, sha256="1" * 64)


@pytest.mark.parametrize("target", ["tpu", "", "H100", "../cpu"])
def test_an_unknown_target_is_told(target: str):
    with pytest.raises(SettingsError, match="is not known"):
        resolved_target(target)


def test_a_session_without_anybody_needs_no_device(space: Workspace):
    record = time_workload(space, "gemm", Options(shape="matrix_inspect", target="NVIDIA H200")).record
    assert isinstance(record, SessionRecord)
    assert record.outcome.status == "blocked"


def test_a_search_has_the_host_to_itself(space: Workspace, monkeypatch):
    held = []

    def holding(mode: str, hold: Callable) -> Callable:
        def enter(self: Lease, purpose: str, *more: object) -> AbstractContextManager[None]:
            held.append((mode, purpose))
            return hold(self, purpose, *more)

        return enter

    for mode in ("shared", "exclusive"):
        monkeypatch.setattr(Lease, mode, holding(mode, getattr(Lease, mode)))
    options = msgspec.structs.replace(SMALL, variants=("searched",))
    assert [stored.record.outcome.status for stored in capture_cell(space, "gemm", "toy", options)] == ["ok", "ok"]
    assert [mode for mode, _ in held] == ["shared", "exclusive"]
    held.clear()
    time_workload(space, "gemm", options)
    assert held == [
        ("shared", f"compiling gemm on {held[0][1].rpartition(' on ')[2]}"),
        ("exclusive", held[0][1].replace("compiling", "searching")),
        ("exclusive", held[0][1].replace("compiling", "timing")),
    ]


def test_a_variant_is_offered_on_a_device_by_whichever_name(space: Workspace, monkeypatch):
    """A real device has its own name; adapters call every one of them cuda."""
    record = environment_record(space, "toy", "cpu").stored.record
    offered = tuple(msgspec.structs.replace(one, targets=("cuda",)) for one in record.variants)
    on_device = msgspec.structs.replace(record, variants=offered)
    ready = environment_record(space, "toy", "cpu")
    found = ready._replace(stored=ready.stored._replace(record=on_device))
    monkeypatch.setattr(campaign, "environment_record", lambda *_: found)
    request = campaign.Request(workloads=("gemm",), compilers=("toy",), options=Options(target="NVIDIA H200"))
    assert campaign._Campaign(space, request)._offered("toy", ("searched",)) == ("unrounded", "searched")
