"""A capture keeps what it saw, names what was wrong, and always comes back with a record."""

from __future__ import annotations

import hashlib
import platform
import sys
from pathlib import Path

import msgspec
import pytest
from tensor_worker.artifacts import Candidate, Compared, Stage
from tensor_worker.dump import write_stage
from tensor_worker.messages import Compile, GetPlan
from tensor_worker.normalize import code_sha256

from tensor_assets.contract.arrays import save_arrays
from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CaptureRecord, Key
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.caches import restore
from tensor_assets.workers.capture import CaptureTask, capture_variant
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets.workers.process import DEADLINE
from tensor_assets.workers.stages import keep_stages
from tensor_assets_tests.workers.programs import WEIGHT_VIEW

ADAPTERS = Path(__file__).parent / "adapters"
# This interpreter has all that the test adapters need, so it stands for their environment.
ENVIRONMENT = Environment(
    python=Path(sys.executable),
    hash="0" * 64,
    lock_sha256="0" * 64,
    python_version=platform.python_version(),
    freeze={},
    version="0",
    toolchain={},
)


@pytest.fixture(scope="module")
def fixtures():
    return build_fixtures(WEIGHT_VIEW)


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "store")


@pytest.fixture
def capture(fixtures, store, tmp_path):
    def capture(
        variant="default", adapter="numpy_reference", target="cpu", deadline=DEADLINE, fixtures=fixtures
    ) -> CaptureRecord:
        task = CaptureTask(
            adapter=adapter_folder(adapter),
            environment=ENVIRONMENT,
            program=WEIGHT_VIEW,
            fixtures=fixtures,
            variant=variant,
            target=target,
            key=Key(workload="weight_view", compiler=adapter, variant=variant, target=target),
            deadline=deadline,
        )
        (scratch := tmp_path / "scratch").mkdir()
        record = capture_variant(task, store, scratch)
        store.put(record)
        return record

    return capture


def adapter_folder(name: str) -> AdapterFolder:
    return AdapterFolder(path=ADAPTERS / name, name=name, title=name, colour="#777777", package="", targets=("cpu",))


def test_a_compiler_that_keeps_the_contract_is_admitted_with_all_it_showed(capture, store, fixtures):
    record = capture()
    assert (record.outcome.status, record.admission.admitted) == ("ok", True)
    assert {verdict.fixture for verdict in record.admission.verdicts} == {fixture.name for fixture in fixtures}
    assert all(verdict.passed for verdict in record.admission.verdicts if verdict.kind == "exact")
    (stage,) = record.stages
    assert (
        store.read(stage.text)
        == b"w = transpose(wt, dtype=f16)\np = matmul(x, w, dtype=f16)\ny = add(p, b, dtype=f16)\n"
    )
    assert [node.id for node in record.capture.graph.nodes] == ["w", "p", "y"]
    assert record.plan.launches[0].computes == ("w", "p", "y")
    assert len(record.fingerprint) == 64
    assert (record.device, list(record.phases)) == ("cpu", ["render"])
    assert record.first_execution_seconds > 0
    assert {"start", "compile", "stages", "plan", "run", "judge"} <= set(record.provenance.seconds)
    assert record.outcome.log.private


def test_what_a_search_did_not_choose_is_judged_too(capture, fixtures):
    record = capture("searched")
    assert record.outcome.status == "ok", "the chosen one is right, whatever the others are"
    hasty, same = record.alternatives
    assert (hasty.candidate, hasty.outcome.status, hasty.distinct) == ("hasty", "rejected", True)
    assert "projection not rounded" in hasty.outcome.reason
    assert (same.candidate, same.outcome.status, same.distinct) == ("the same by another name", "ok", False)
    assert same.fingerprint == record.fingerprint
    assert same.fixtures == tuple(fixture.name for fixture in fixtures if fixture.exact)


def test_where_no_fixture_is_exact_no_candidate_is_called_wrong(capture, fixtures):
    some = tuple(fixture for fixture in fixtures if not fixture.exact)
    outcomes = [alternative.outcome for alternative in capture("searched", fixtures=some).alternatives]
    assert [outcome.status for outcome in outcomes] == ["blocked", "blocked"]
    assert "no exact fixture" in outcomes[0].reason


def test_a_worker_that_cannot_build_a_candidate_says_so(fixtures, tmp_path):
    """It must not pass its own choice off as the one it was given."""
    with worker_for(adapter_folder("numpy_reference"), ENVIRONMENT, WorkerFolder(tmp_path)) as worker:
        save_arrays(tmp_path / "inputs.npz", fixtures[0].inputs)
        request = Compile(
            program=WEIGHT_VIEW, variant="default", target="cpu", inputs=str(tmp_path / "inputs.npz"),
            dump_dir=str(tmp_path), candidate=Candidate(name="one", chosen=False),
        )  # fmt: skip
        with pytest.raises(WorkerFailed, match="cannot build a given candidate of 'default'") as failure:
            worker.ask(request)
    assert failure.value.outcome.status == "unsupported"


def test_dropped_rounding_is_rejected_and_its_boundary_named(capture):
    record = capture("unrounded")
    assert (record.outcome.status, record.admission.admitted) == ("rejected", False)
    assert record.admission.boundary == "projection not rounded"
    assert "projection not rounded" in record.outcome.reason
    assert record.stages, "what was captured stays"
    assert record.cache is None, "what is not admitted is not timed"


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        ("lazy", "unwritten output"),
        ("constant", "constant answer"),
        ("double", "wrong dtype"),
        ("tampering", "mutated input"),
        ("spoiling", "depends on earlier invocations"),
        ("overwriting", "mutated input"),
    ],
)
def test_cheating_is_rejected_by_its_name(capture, variant, says):
    record = capture(variant)
    assert record.outcome.status == "rejected"
    assert any(says in verdict.reason for verdict in record.admission.verdicts if not verdict.passed)


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        ({"target": "sm_90"}, "unsupported", "NumPy does not compile for sm_90"),
        ({"variant": "absent"}, "unavailable", "not installed"),
        ({"variant": "escaping"}, "crashed", "no file below its dump folder"),
        ({"variant": "dying"}, "crashed", "SIGABRT while answering plan"),
        ({"variant": "segfault", "adapter": "broken"}, "crashed", "SIGSEGV while answering compile"),
        ({"variant": "hang", "adapter": "broken", "deadline": 2.0}, "censored", "within the 2 s of its worker"),
        ({"adapter": "nowhere"}, "crashed", "exited with status 2 while answering hello"),
    ],
)
def test_whatever_the_worker_does_a_record_comes_back_with_its_log(capture, store, options, status, says):
    record = capture(**options)
    assert record.outcome.status == status
    assert says in record.outcome.reason
    assert record.admission is None
    assert store.read(record.outcome.log)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "loop/x", "..", "", "/etc/passwd"])
def test_a_stage_whose_path_is_no_file_of_the_dump_is_a_crash_by_name(tmp_path, store, name):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    stage = Stage(name="s", title="S", level="code", language="c", path=name, produced_by="a pass")
    with pytest.raises(WorkerFailed, match="no file below its dump folder") as failed:
        keep_stages([stage], tmp_path, store)
    assert failed.value.outcome.status == "crashed"


@pytest.mark.parametrize("name", ["absent.c", "../outside.c", "/etc/passwd"])
def test_what_a_stage_is_compared_by_is_a_file_of_the_dump_too(tmp_path, store, name):
    (tmp_path / "outside.c").write_text("x")
    (tmp_path / "dump").mkdir()
    stage = write_stage(tmp_path / "dump", "s", "S", "code", "c", "x;\n", "a pass")
    stage = msgspec.structs.replace(stage, compared=Compared(path=name, reason="numbered anew"))
    with pytest.raises(WorkerFailed, match="no file below its dump folder"):
        keep_stages([stage], tmp_path / "dump", store)


def test_a_stage_is_known_by_what_it_is_compared_by(tmp_path, store):
    """Its own text stays as it is, beside it."""
    kept = []
    for number in (4, 7):
        folder = tmp_path / str(number)
        why = ("call f;\n", "numbered anew")
        stage = write_stage(folder, "s", "S", "code", "c", f"call {number};\n", "a pass", compared=why)
        kept += keep_stages([stage], folder, store)
    assert [store.read(file.text) for file in kept] == [b"call 4;\n", b"call 7;\n"]
    assert [store.read(file.compared) for file in kept] == [b"call f;\n"] * 2
    assert kept[0].fingerprint == kept[1].fingerprint == code_sha256("call f;\n", "c")


def test_what_was_seen_before_a_crash_is_kept(capture):
    record = capture("dying")
    assert [stage.stage for stage in record.stages] == ["program"]
    assert record.plan is None


def test_a_timing_worker_starts_from_the_snapshot_and_runs_the_same_code(capture, store, tmp_path):
    record = capture()
    folder = WorkerFolder(tmp_path / "timing")
    archive = tmp_path / "caches.tar"
    archive.write_bytes(store.read(record.cache))
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == record.cache.sha256
    restore(archive, folder)
    inputs = next((tmp_path / "scratch").rglob("search.inputs.npz"))
    request = Compile(
        program=WEIGHT_VIEW,
        variant="default",
        target="cpu",
        inputs=str(inputs),
        dump_dir=str(folder.dump),
        capture=False,
    )
    with worker_for(adapter_folder("numpy_reference"), ENVIRONMENT, folder) as worker:
        worker.ask(request)
        assert worker.ask(GetPlan()).fingerprint == record.fingerprint
