"""The campaigns that ship with the project: whole, free of what is private, taken once, shown with their gaps."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from pathlib import Path

import msgspec
import pytest

from tensor_assets.campaign import publish
from tensor_assets.campaign.benchmark import benchmark_cell
from tensor_assets.campaign.capture import capture_cell, captures_of
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.recorded import import_recorded
from tensor_assets.campaign.session import admitted_captures, time_workload
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.selection import Filters
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle, import_bundle, is_imported
from tensor_assets.evidence.verification import verify
from tensor_assets.publishing.scan import BINARIES, TEXTS
from tensor_assets.publishing.versions import read_site
from tensor_assets.records import BenchmarkRecord, CaptureRecord, EffortRecord, ProfileRecord
from tensor_assets.releases.difference import code_change
from tensor_assets.settings import ROOT

BUNDLES = sorted((ROOT / "fixtures" / "recorded").glob("*.bundle"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> EvidenceStore:
    store = EvidenceStore(tmp_path_factory.mktemp("recorded") / "store")
    for bundle in BUNDLES:
        import_bundle(store, bundle)
    return store


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.stem)
def test_a_recorded_campaign_verifies(bundle):
    report = verify(bundle)
    assert report.sound, report.findings


def test_the_h200_captures_are_what_they_say(space: Workspace):
    bundles = [each for each in import_recorded(space) if each.stem.startswith("h200-")]
    assert all(is_imported(space.store, bundle) for bundle in bundles)
    before = {record_id for record_id, _ in space.store.records(history=True)}
    for bundle in bundles:
        import_bundle(space.store, bundle)
    assert {record_id for record_id, _ in space.store.records(history=True)} == before
    captures = [record for _, record in PublicView(space.store).records(CaptureRecord)]
    assert {capture.key.target for capture in captures} == {"NVIDIA H200"}
    found = {(c.key.workload, c.key.compiler, c.key.variant): c for c in captures}
    tinygrad = found["weight_view", "tinygrad", "default"].plan.launches
    assert [(launch.grid, launch.block, launch.instruction) for launch in tinygrad] == [
        ((8, 16, 1), (32, 4, 1), "HMMA.16816.F32")
    ]
    assert found["weight_view", "inductor", "addmm"].admission.boundary == "projection not rounded"
    assert found["projection_join", "tinygrad", "default"].outcome.reason.endswith("product rounded: p, q")


def test_the_newest_campaign_stands_where_several_measured(recorded: EvidenceStore):
    """Though the first one timed Inductor's weight_view twice, and so wrote more often under its key."""
    where = {(r.key.workload, r.allocation.id) for _, r in recorded.records(BenchmarkRecord)}
    assert len(where) == len({workload for workload, _ in where}) == 10
    together = {frozenset(workload for workload, at in where if at == allocation) for _, allocation in where}
    assert {"gemm", "projection_join", "relu", "residual"} in together
    assert sorted(map(len, together)) == [4, 6]
    made = {r.provenance.created[:10] for _, r in recorded.records(BenchmarkRecord, history=True)}
    assert made == {"2026-11-29", "2026-11-30"}


def test_what_the_h200_ran_is_counted_as_the_driver_loaded_it(recorded: EvidenceStore):
    profiles = {(p.key.workload, p.key.compiler, p.key.variant): p for _, p in recorded.records(ProfileRecord)}
    tinygrad, library = profiles["weight_view", "tinygrad", "default"], profiles["weight_view", "eager", "default"]
    (kernel,) = tinygrad.kernels
    assert (kernel.name, kernel.registers, tinygrad.loaded) == ("r_16_8_32_4_2_2_4_4_48_2", 92, (kernel.name,))
    (product,) = (name for name in library.loaded if name.startswith("nvjet_sm90"))
    assert any(opcode.startswith("HGMMA.64x") for opcode in library.opcodes[product])


def test_ptx_that_was_captured_twice_is_the_same_code_both_times(recorded: EvidenceStore):
    """In its debug sections stands the scratch folder of each capture, another one each time."""
    made: dict[str, list[CaptureRecord]] = defaultdict(list)
    for _, record in recorded.records(CaptureRecord, history=True):
        if record.key.compiler == "inductor" and record.fingerprint:
            made[f"{record.key.workload} {record.fingerprint}"].append(record)
    pairs = [pair for captures in made.values() for pair in combinations(captures, 2)]
    compared = [
        stage for pair in pairs for stage in code_change(*pair, recorded).stages if stage.stage.endswith(".ptx")
    ]
    assert len(compared) >= 12
    assert {stage.change for stage in compared} == {"same"}
    assert any(stage.old != stage.new for stage in compared), "their bytes differ"


def test_a_search_that_chose_a_wrong_kernel_is_recorded_as_one(recorded: EvidenceStore):
    """tinygrad 0.14.0: beside a tensor core's warp axis, three local axes put other lanes into a hardware warp."""
    (effort,) = (record for _, record in recorded.records(EffortRecord) if record.key.compiler == "tinygrad")
    (wrong,) = (trial for trial in effort.trials if trial.outcome.status == "rejected")
    (chosen,) = (candidate for candidate in wrong.search.candidates if candidate.chosen)
    assert (wrong.block, wrong.variant, wrong.series) == (2, "tuned", None)
    assert sum(str(option).startswith("LOCAL") for option in chosen.parameters.values()) == 3


def test_a_search_that_was_stopped_on_a_gpu_is_recorded_with_its_candidates(recorded: EvidenceStore):
    """Inductor's exhaustive one: all of 1,401 choices are compiled before the first is timed."""
    (effort,) = (record for _, record in recorded.records(EffortRecord) if record.key.compiler == "inductor")
    stopped = [trial for trial in effort.trials if trial.outcome.status == "censored"]
    assert {(trial.variant, trial.outcome.reason) for trial in stopped} == {
        ("expanded", "no answer to compile within 370 s")
    }
    assert [(trial.search.tried, trial.search.untimed) for trial in stopped] == [(737, 664), (748, 653), (785, 616)]
    assert {len(trial.search.candidates) for trial in stopped} == {1401}


def test_what_a_bundle_left_out_is_said_and_breaks_no_page(space: Workspace):
    import_recorded(space)
    assert publish.charts(space)
    publish.pages(space)
    publish.site(space)
    assert (space.settings.site / "cells" / "projection_join" / "tinygrad.html").is_file()
    files = [Path(path) for path in read_site(space.settings.site).hashes if not path.startswith("licences/")]
    assert {path.suffix for path in files} <= TEXTS | BINARIES, "each is of a kind that may be published"
    view = PublicView(space.store)
    withheld = {file.stage: why for _, record in view.records(CaptureRecord) for file in record.stages
                if (why := view.why_private(file.text))}  # fmt: skip
    assert withheld == {}


def test_a_newer_environment_that_came_in_a_bundle_hides_none_of_this_hosts_captures(space: Workspace, tmp_path):
    """Another host's packed environment of the same lock: its hash differs, and so do its captures' keys."""
    (own,) = capture_cell(space, "gemm", "toy", Options(shape="matrix_inspect"))[:1]
    ready = environment_record(space, "toy").stored.record
    key = msgspec.structs.replace(ready.key, environment="packed elsewhere")
    made = msgspec.structs.replace(ready.provenance, created="2999-01-01T00:00:00.000+00:00")
    there = EvidenceStore(tmp_path / "there")
    there.put(msgspec.structs.replace(ready, key=key, provenance=made))
    export_bundle(there, tmp_path / "a.bundle")
    import_bundle(space.store, tmp_path / "a.bundle")
    assert own.id in {capture.id for capture in captures_of(space, "gemm", "cpu", "matrix_inspect")}


def test_times_that_came_in_a_bundle_are_not_this_hosts_and_stay_those_captures_own(space: Workspace, tmp_path):
    options = Options(shape="matrix_inspect", processes=1)
    captured_here = capture_cell(space, "gemm", "toy", options)
    timed_here = time_workload(space, "gemm", options)
    there = Workspace(msgspec.structs.replace(space.settings, store=str(tmp_path / "there")))
    for each in (capture_cell(there, "gemm", "toy", options), [time_workload(there, "gemm", options)]):
        assert {stored.record.outcome.status for stored in each} == {"ok"}
    theirs = benchmark_cell(there, "gemm", "toy", options)
    export_bundle(there.store, tmp_path / "a.bundle")
    import_bundle(space.store, tmp_path / "a.bundle")
    # The bundle's records are newer under the same keys, and none of ours.
    assert [capture.id for capture in capture_cell(space, "gemm", "toy", options)] == [c.id for c in captured_here]
    assert time_workload(space, "gemm", options).id == timed_here.id
    assert {b.record.session for b in benchmark_cell(space, "gemm", "toy", options)} == {timed_here.id}
    another = Workspace(msgspec.structs.replace(space.settings, store=str(tmp_path / "another")))
    import_bundle(another.store, tmp_path / "a.bundle")
    assert [b.id for b in benchmark_cell(another, "gemm", "toy", options)] == [b.id for b in theirs]


@pytest.mark.parametrize("public", [True, False])
def test_what_came_in_a_bundle_is_read_and_not_taken_for_this_hosts_own(space: Workspace, tmp_path, public):
    """Not even where the bundle brought the caches along: a timing worker would run the code that is in them."""
    options = Options(shape="matrix_inspect", processes=2)
    there = capture_cell(space, "gemm", "toy", options)
    export_bundle(space.store, tmp_path / "a.bundle", Filters(public_only=public))
    here = Workspace(msgspec.structs.replace(space.settings, store=str(tmp_path / "another")))
    import_bundle(here.store, tmp_path / "a.bundle")
    assert len(here.store.imported()) == len(list(here.store.records(history=True)))
    assert captures_of(here, "gemm", "cpu", "matrix_inspect")[0].id == there[0].id
    assert admitted_captures(here, "gemm", "cpu", "matrix_inspect") == []
    again = capture_cell(here, "gemm", "toy", options)
    assert not again[0].reused
    assert here.store.imported().isdisjoint(record_id for record_id, _ in here.store.records())
    assert again[0].record.fingerprint == there[0].record.fingerprint
    assert {capture.id for capture in admitted_captures(here, "gemm", "cpu", "matrix_inspect")} == {
        capture.id for capture in again
    }
