"""MAX itself, through its worker: one compile for each target."""

from __future__ import annotations

import functools

import pytest
from tensor_worker.arrays import save_arrays
from tensor_worker.messages import Compile, GetPlan, Hello
from tensor_worker.program import Program

from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CaptureRecord, Key
from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.caches import restore
from tensor_assets.workers.capture import CaptureTask, capture_variant
from tensor_assets.workers.environments import Environment, build_environment
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets_tests.adapters.test_max_products import CHAIN
from tensor_assets_tests.workers.programs import WEIGHT_VIEW as INSPECTED


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """Captures of weight_view, or another program, by MAX itself, through its worker, one for each target."""
    settings = load_settings()
    adapter = discover(settings.adapters)["max"]
    environment = build_environment(adapter, settings)
    assert isinstance(environment, Environment), environment
    store = EvidenceStore(str(tmp_path_factory.mktemp("store")))
    fixtures = build_fixtures(INSPECTED)

    @functools.cache
    def capture(target: str, program: Program = INSPECTED) -> CaptureRecord:
        task = CaptureTask(
            adapter=adapter,
            environment=environment,
            program=program,
            fixtures=fixtures if program is INSPECTED else build_fixtures(program),
            variant="default",
            target=target,
            key=Key(workload=program.workload, shape=program.shape, compiler="max", variant="default", target=target),
        )
        return capture_variant(task, store, tmp_path_factory.mktemp(target))

    capture.store, capture.adapter, capture.environment, capture.fixtures = store, adapter, environment, fixtures
    return capture


@pytest.mark.compilers
class TestMax:
    OPS = ["rmo.mo.transpose", "rmo.matmul", "rmo.add"]

    def text(self, capture, record, stage: str) -> list[str]:
        found = next(each for each in record.stages if each.stage == stage)
        return capture.store.read(found.text).decode().splitlines()

    @pytest.mark.parametrize("target", ["cpu", "sm_90"])
    def test_the_graph_keeps_transpose_matmul_add(self, capture, target):
        record = capture(target)
        assert record.outcome.status == "ok", record.outcome
        computing = [node for node in record.capture.graph.nodes if node.role in ("view", "contraction", "epilogue")]
        assert [node.op for node in computing] == self.OPS
        assert [node.program_ops for node in computing] == [("w",), ("p",), ("y",)]
        lines = self.text(capture, record, "semantic")
        assert all(f"= {node.op}(" in lines[node.lines[0] - 1] for node in computing)

    @pytest.mark.parametrize("target", ["cpu", "sm_90"])
    def test_every_stage_is_there_and_small(self, capture, target):
        record = capture(target)
        stages = {each.stage: each.text.bytes for each in record.stages}
        assert list(stages) == ["semantic", "mo", "mapped", "fused", "mogg", "mgp", "mef", "mojo", "machine"]
        assert max(stages.values()) < 2_000_000
        (executable,) = (each for each in record.stages if each.compared)
        assert executable.stage == "mef"
        assert 'cFunctionIndex = "__kernel_' in capture.store.read(executable.compared).decode()
        assert "#mo.layout<NK>" in "\n".join(self.text(capture, record, "mo"))

    @pytest.mark.parametrize("target", ["cpu", "sm_90"])
    def test_links_point_at_lines_that_are_about_their_op(self, capture, target):
        record = capture(target)
        found = {(each.program_op, each.stage) for each in record.capture.correspondences}
        assert found >= {
            ("p", stage) for stage in ("semantic", "mo", "mapped", "fused", "mogg", "mgp", "mojo", "machine")
        }
        for each in record.capture.correspondences:
            assert each.lines[1] <= len(self.text(capture, record, each.stage))

    def test_on_the_cpu_it_is_right_and_one_routine(self, capture):
        record = capture("cpu")
        assert record.admission.admitted is True
        (launch,) = record.plan.launches
        assert launch.computes == ("p", "y")
        assert launch.parameters["transpose_b"] is True
        assert launch.instruction  # a multiply-add of this machine
        assert [rounding.boundary for rounding in record.plan.roundings] == ["p", "y"]
        subjects = {decision.subject: decision.result for decision in record.capture.decisions}
        assert subjects["transpose w"].startswith("absorbed")
        assert subjects["contraction p"].endswith("generated from builtin_kernels.linalg.MatmulCPU")

    def test_for_sm_90_it_is_cublas_and_an_elementwise_kernel_never_run(self, capture):
        record = capture("sm_90")
        assert record.admission.admitted is None
        assert [launch.kind for launch in record.plan.launches] == ["library", "kernel"]
        assert [launch.computes for launch in record.plan.launches] == [("p",), ("y",)]
        assert record.plan.launches[1].registers > 0
        assert "HADD2" in "\n".join(self.text(capture, record, "machine"))
        assert [candidate.parameters["instruction"] for candidate in record.capture.search.candidates] == ["FFMA"]

    def test_two_products_of_one_host_function_are_two_library_calls(self, capture):
        record = capture("sm_90", CHAIN)
        assert [(launch.kind, launch.name, launch.computes) for launch in record.plan.launches] == [
            ("library", "cublasGemmEx", ("p",)), ("library", "cublasGemmEx", ("y",)),
        ]  # fmt: skip
        assert not any("nothing seen" in note for note in record.plan.notes)
        subjects = {decision.subject: decision for decision in record.capture.decisions}
        assert subjects["contraction y"].result == "kept as one matmul, cuBLAS (cublasGemmEx)"
        assert "CPU" not in subjects["contraction p"].fixes

    def test_a_timing_worker_from_its_cache_runs_the_same_implementation(self, capture, tmp_path):
        record = capture("cpu")
        folder = WorkerFolder(tmp_path / "worker")
        archive = tmp_path / "caches.tar"
        archive.write_bytes(capture.store.read(record.cache))
        restore(archive, folder)
        inputs = folder.arrays / "search.npz"
        save_arrays(inputs, capture.fixtures[0].inputs)
        request = Compile(
            program=INSPECTED,
            variant="default",
            target="cpu",
            inputs=str(inputs),
            dump_dir=str(folder.dump),
            capture=False,
        )
        with worker_for(capture.adapter, capture.environment, folder) as worker:
            worker.ask(Hello())
            compiled = worker.ask(request)
            assert worker.ask(GetPlan()).fingerprint == record.fingerprint
        assert compiled.phases["compile"] < record.phases["compile"] / 2
