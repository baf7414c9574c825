"""Real compilers through the whole room: environment, cold capture, snapshot, warm timing worker."""

from __future__ import annotations

import pytest
from tensor_worker.messages import Compile, GetPlan, Run, Time

from tensor_assets.contract.arrays import save_arrays
from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Key, Outcome
from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.caches import restore
from tensor_assets.workers.capture import CaptureTask, capture_variant
from tensor_assets.workers.environments import build_environment
from tensor_assets.workers.installer import ask_uv
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets_tests.workers.programs import WEIGHT_VIEW

pytestmark = pytest.mark.compilers


@pytest.mark.parametrize("name", ["tinygrad", "max", "inductor", "tvm", "eager", "triton"])
def test_an_environment_has_all_that_its_packages_ask_for(name, tmp_path):
    """A lock made for every platform may miss what the wheels of one platform ask for; uv installs just the lock."""
    settings = load_settings()
    environment = build_environment(discover(settings.adapters)[name], settings)
    assert not isinstance(environment, Outcome), environment
    ask_uv(["pip", "check", "--python", str(environment.python)], tmp_path / "uv.log")


# The two whose environments and compilations are small; the others take the same way in `make report`.
@pytest.mark.parametrize("name", ["tinygrad", "tvm"])
def test_cold_captures_and_a_warm_worker_agree_on_the_implementation(name, tmp_path):
    settings, store = load_settings(), EvidenceStore(tmp_path / "store")
    adapter = discover(settings.adapters)[name]
    environment = build_environment(adapter, settings)
    assert not isinstance(environment, Outcome), environment
    fixtures = build_fixtures(WEIGHT_VIEW)
    task = CaptureTask(
        adapter=adapter,
        environment=environment,
        program=WEIGHT_VIEW,
        fixtures=fixtures,
        variant="default",
        target="cpu",
        key=Key(workload="weight_view", compiler=name, variant="default", target="cpu"),
    )
    records = []
    for attempt in ("one", "two"):
        (tmp_path / attempt).mkdir()
        records.append(capture_variant(task, store, tmp_path / attempt))
        store.put(records[-1])
    assert [record.outcome.status for record in records] == ["ok", "ok"], records[0].outcome.reason
    assert records[0].fingerprint == records[1].fingerprint
    assert [stage.fingerprint for stage in records[0].stages] == [stage.fingerprint for stage in records[1].stages]
    assert warm_fingerprint(task, records[0], store, tmp_path) == records[0].fingerprint


def warm_fingerprint(task, record, store, tmp_path):
    """Of a timing worker that starts from the capture's caches; it must compile nothing while it is timed."""
    folder = WorkerFolder(tmp_path / "timing")
    archive = tmp_path / "caches.tar"
    archive.write_bytes(store.read(record.cache))
    restore(archive, folder)
    inputs = folder.arrays / "search.inputs.npz"
    save_arrays(inputs, task.fixtures[0].inputs)
    request = Compile(
        program=WEIGHT_VIEW,
        variant="default",
        target="cpu",
        inputs=str(inputs),
        dump_dir=str(folder.dump),
        capture=False,
    )
    with worker_for(task.adapter, task.environment, folder) as worker:
        worker.ask(request)
        worker.ask(Run(inputs=str(inputs), outputs=str(folder.arrays / "out.npz")))
        timed = worker.ask(Time(invocations=5, warmup=2))
        assert timed.elapsed_ns > 0
        assert timed.compiled == 0
        return worker.ask(GetPlan()).fingerprint
