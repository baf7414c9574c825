"""TVM as its worker shows it: tools without it, and real compiles on the CPU and for sm_90."""

from __future__ import annotations

import inspect
import json
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

from tensor_assets.workers.adapters import discover
from tensor_assets_tests.adapters.captured import Captures, geometry, lines_of, rounded_in

ADAPTERS = Path(__file__).parents[2] / "adapters"
STAGES = [
    "relax", "legalized", "grouped", "fused", "destinations", "host-and-device", "lowered", "passes", "bytecode",
    "source", "machine",
]  # fmt: skip


@pytest.fixture
def toolchain():
    """The module of the adapter that needs no TVM."""
    package = sys.modules.setdefault("tvm_adapter", types.ModuleType("tvm_adapter"))
    package.__path__ = [str(ADAPTERS / "tvm")]
    return import_module("tvm_adapter.toolchain")


class TestTools:
    def test_its_ffi_is_upgraded_with_it_and_pinned_below_the_one_that_crashes(self):
        adapter = discover(ADAPTERS)["tvm"]
        assert adapter.companions == ("apache-tvm-ffi",)
        assert "apache-tvm-ffi==0.1.14.post1" in adapter.lock.read_text()

    def test_modules_are_remembered_only_while_asked_to(self, toolchain):
        search, frame = inspect.getmodule, inspect.currentframe()
        with toolchain.remembered_modules():
            assert inspect.getmodule is not search
            assert inspect.getmodule(frame) is inspect.getmodule(frame) is search(frame)
            assert inspect.getmodule(Path) is search(Path)
        assert inspect.getmodule is search


@pytest.fixture(scope="module")
def captures(tmp_path_factory) -> Captures:
    return Captures("tvm", tmp_path_factory.mktemp)


@pytest.mark.compilers
class TestOnTheCpu:
    def test_every_workload_keeps_the_contract(self, captures):
        judged = dict(captures.admissions("matrix_inspect"))
        assert {name: admission.reason for name, admission in judged.items() if not admission.admitted} == {}
        assert len(judged) == 20

    def test_weight_view_is_a_transpose_and_a_fused_contraction_with_every_stage(self, captures):
        record = captures.capture()
        assert record.outcome.status == "ok", record.outcome
        assert [stage.stage for stage in record.stages] == STAGES
        assert all(0 < stage.text.bytes < 2_000_000 for stage in record.stages)
        assert [(launch.name, launch.computes) for launch in record.plan.launches] == [
            ("transpose", ("w",)),
            ("fused_matmul_cast_add", ("p", "y")),
        ]
        (stored,) = (buffer for buffer in record.plan.buffers if buffer.role == "intermediate")
        assert (stored.name, stored.bytes, stored.first, stored.last) == ("w", 16 * 24 * 2, 0, 1)

    def test_the_graph_keeps_its_matmul_and_points_at_its_lines(self, captures):
        record = captures.capture()
        text = captures.text(record, "relax").splitlines()
        nodes = [node for node in record.capture.graph.nodes if node.role != "input"]
        assert [(node.op, node.role, node.program_ops) for node in nodes] == [
            ("relax.permute_dims", "view", ("w",)),
            ("relax.matmul", "contraction", ("p",)),
            ("relax.astype", "cast", ("p",)),
            ("relax.add", "epilogue", ("y",)),
        ]
        for node in nodes:
            assert f"R.{node.op.removeprefix('relax.')}(" in text[node.lines[0] - 1]

    def test_boundaries_are_rounded_by_the_types_of_tensor_ir(self, captures):
        rounded = {rounding.boundary: rounding for rounding in captures.capture().plan.roundings}
        assert [(name, rounding.launch) for name, rounding in rounded.items()] == [("p", 1), ("y", 1)]
        assert 'T.Cast("float16", p__0' in rounded["p"].evidence
        assert "p[v_ax0, v_ax1] + b[v_ax1]" in rounded["y"].evidence
        assert rounded_in(captures.capture()) == {"p": "in activity 2", "y": "in activity 2"}

    def test_the_virtual_machine_confirms_the_order(self, captures):
        decisions = {decision.subject: decision for decision in captures.capture().capture.decisions}
        assert decisions["fusion"].confirmed_by == "the virtual machine ran transpose, fused_matmul_cast_add"
        assert decisions["transpose w of wt"].result == "stored by transpose"

    def test_links_point_at_the_function_that_computes_the_op(self, captures):
        record = captures.capture()
        links = {(each.program_op, each.stage): each for each in record.capture.correspondences}
        words_of = {"fused": "def fused_matmul_cast_add(", "legalized": "def cast(", "source": "define "}
        for stage, words in words_of.items():
            assert words in lines_of(captures.text(record, stage), links["p", stage].lines)
        assert "fused_matmul_cast_add" in lines_of(captures.text(record, "machine"), links["p", "machine"].lines)

    def test_two_processes_run_the_same_code(self, captures):
        assert captures.again().fingerprint == captures.capture().fingerprint != ""

    @pytest.mark.parametrize(
        ("variant", "functions"),
        [("transpose_fused", ["fused_NT_matmul_cast_add"]), ("unfused", ["transpose", "matmul", "cast", "add"])],
    )
    def test_variants_fuse_more_and_less(self, captures, variant, functions):
        record = captures.capture(variant=variant)
        assert record.outcome.status == "ok", record.outcome
        assert [launch.name for launch in record.plan.launches] == functions
        assert {op for launch in record.plan.launches for op in launch.computes} == {"w", "p", "y"}

    def test_a_public_projection_is_stored_by_a_function_of_its_own(self, captures):
        assert [launch.computes for launch in captures.capture("bias").plan.launches] == [("p", "y")]
        assert [launch.computes for launch in captures.capture("public_projection").plan.launches] == [("p",), ("y",)]

    @pytest.mark.parametrize(("variant", "target"), [("unfused", "sm_90"), ("nonsense", "cpu")])
    def test_what_it_cannot_do_is_unsupported(self, captures, variant, target):
        outcome = captures.capture(variant=variant, target=target).outcome
        assert (outcome.status, bool(outcome.reason)) == ("unsupported", True)


@pytest.mark.compilers
class TestForSm90:
    @pytest.fixture
    def record(self, captures):
        return captures.capture("weight_view", "matrix", "default", "sm_90")

    def test_weight_view_is_the_transpose_and_the_tensor_core_kernel_of_the_article(self, captures, record):
        assert (record.outcome.status, record.admission.admitted) == ("ok", None)
        transpose, matrix = record.plan.launches
        assert (transpose.grid, transpose.block) == ((768, 1, 1), (1024, 1, 1))
        assert geometry(matrix) == ((8, 8, 1), (32, 16, 1), 122, 73_728, "HMMA.16816.F32")
        assert captures.text(record, "machine").count("HMMA.16816.F32") == 64
        assert "wmma_sync_16x16x16_f16f16f32" in matrix.parameters["tensor intrinsics"]

    def test_the_projection_is_rounded_before_the_bias(self, captures, record):
        sass = captures.text(record, "machine")
        assert sass.index("F2FP.F16.F32") < sass.index("HADD2")

    def test_rules_that_declined_are_kept(self, record):
        transpose, matrix = record.plan.launches
        assert (matrix.parameters["DLight rule"], "declined" in matrix.parameters) == ("Matmul", False)
        assert transpose.parameters["DLight rule"] == "Fallback"
        assert transpose.parameters["declined"] == "Matmul, GEMV, Reduction, GeneralReduction"

    def test_schedules_replay_from_their_text(self, captures, record):
        traces = json.loads(captures.text(record, "traces"))
        assert [trace["function"] for trace in traces] == ["fused_matmul_cast_add", "transpose"]
        assert all(trace["replays_structurally_equal"] for trace in traces)
        assert all(trace["replays_structurally_equal_from_json"] for trace in traces)
        assert all(trace["instructions"] > 0 for trace in traces)
