"""tinygrad as its worker shows it: what its tools are without it, and real compiles on the CPU and for sm_90."""

from __future__ import annotations

import json
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest
from tensor_worker.adapter import Unavailable

from tensor_assets.workers.adapters import discover
from tensor_assets_tests.adapters.captured import Captures, geometry, lines_of, rounded_in

ADAPTERS = Path(__file__).parents[2] / "adapters"
STAGES = ["tensor-uops", "kernels", "optimized", "linearized", "rewrites", "source-0", "machine-0"]


@pytest.fixture
def toolchain():
    """The module of the adapter that needs no tinygrad."""
    package = sys.modules.setdefault("tinygrad_adapter", types.ModuleType("tinygrad_adapter"))
    package.__path__ = [str(ADAPTERS / "tinygrad")]
    return import_module("tinygrad_adapter.toolchain")


class TestTools:
    def test_the_folder_says_what_it_needs(self):
        adapter = discover(ADAPTERS)["tinygrad"]
        (clang,) = adapter.system
        assert (clang.debian, clang.variable, clang.targets) == ("clang", "CC", ("cpu",))
        assert adapter.targets == ("cpu", "sm_90", "cuda")

    def test_a_versioned_clang_will_do(self, toolchain, monkeypatch, tmp_path):
        (tmp_path / "clang-14").write_text("#!/bin/sh\n")
        (tmp_path / "clang-14").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CC", raising=False)
        assert toolchain.find_clang() == "clang-14"

    def test_without_one_the_compiler_is_unavailable_with_the_command_that_mends_it(
        self, toolchain, monkeypatch, tmp_path
    ):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("CC", "gcc")
        with pytest.raises(Unavailable, match="clang") as refused:
            toolchain.require_clang()
        assert refused.value.remedy == "apt-get install clang"


@pytest.fixture(scope="module")
def captures(tmp_path_factory) -> Captures:
    return Captures("tinygrad", tmp_path_factory.mktemp)


@pytest.mark.compilers
class TestOnTheCpu:
    def test_every_workload_keeps_the_contract(self, captures):
        judged = dict(captures.admissions("matrix_inspect"))
        assert {name: admission.reason for name, admission in judged.items() if not admission.admitted} == {}
        assert len(judged) == 20

    def test_weight_view_is_one_kernel_with_every_stage(self, captures):
        record = captures.capture()
        assert record.outcome.status == "ok", record.outcome
        assert [stage.stage for stage in record.stages] == STAGES
        assert all(0 < stage.text.bytes < 2_000_000 for stage in record.stages)
        (launch,) = record.plan.launches
        assert launch.computes == ("w", "p", "y")
        assert launch.instruction.startswith(("vfmadd", "fmadd", "fmla"))
        assert {buffer.name: buffer.role for buffer in record.plan.buffers} == {
            "x": "input", "wt": "input", "b": "input", "y": "output",
        }  # fmt: skip

    def test_the_graph_has_no_matmul_and_points_at_its_lines(self, captures):
        record = captures.capture()
        text = captures.text(record, "tensor-uops").splitlines()
        graph = record.capture.graph
        computing = [node.op for node in graph.nodes if node.role in ("contraction", "cast", "epilogue")]
        assert computing == ["MUL", "CAST float", "REDUCE ADD, 1", "CAST half", "ADD"]
        for node in graph.nodes:
            assert f"Ops.{node.op.split()[0]}" in text[node.lines[0] - 1]
        (product,) = (node for node in graph.nodes if node.op == "CAST float")
        assert product.shape == (8, 24, 16)
        assert [node.program_ops for node in graph.nodes if node.op == "PERMUTE (1, 0)"] == [("w",)]

    def test_boundaries_are_rounded_where_the_source_shows_it(self, captures):
        record = captures.capture()
        rounded = {rounding.boundary: rounding for rounding in record.plan.roundings}
        assert set(rounded) == {"p", "y"}
        assert rounded["p"].certain
        assert "(__fp16)" in rounded["p"].evidence
        assert not rounded["y"].certain  # C computes the sum in FP32; the store rounds it

    def test_decisions_name_what_became_of_each_operation(self, captures):
        results = {decision.subject: decision.result for decision in captures.capture().capture.decisions}
        assert results["transpose w of wt"].startswith("absorbed into the loads of")
        assert results["contraction p"].startswith("expanded into MUL, CAST and REDUCE")
        assert results["contraction p: instruction"].startswith("stays scalar")
        assert results["kernel boundaries"] == "1 kernel(s): w, p, y"

    def test_links_point_into_their_stages(self, captures):
        record = captures.capture()
        found = {(each.program_op, each.stage) for each in record.capture.correspondences}
        assert found >= {("p", stage) for stage in ("tensor-uops", "kernels", "source-0", "machine-0")}
        for each in record.capture.correspondences:
            assert lines_of(captures.text(record, each.stage), each.lines)

    def test_the_rewrite_history_names_rules_and_where_they_stand(self, captures):
        history = json.loads(captures.text(captures.capture(), "rewrites"))
        rewrites = {rewrite["name"]: rewrite for group in history["groups"] for rewrite in group["rewrites"]}
        assert {"apply rangeify", "postopt symbolic", "remove reduces"} <= set(rewrites)
        match = rewrites["remove reduces"]["matches"][0]
        assert match["before"] != match["after"]
        assert history["rules"][match["rule"]]

    def test_two_processes_run_the_same_code(self, captures):
        assert captures.again().fingerprint == captures.capture().fingerprint != ""

    def test_a_public_projection_is_stored_by_a_kernel_of_its_own(self, captures):
        assert [launch.computes for launch in captures.capture("bias").plan.launches] == [("p", "y")]
        record = captures.capture("public_projection")
        assert [launch.computes for launch in record.plan.launches] == [("p",), ("y",)]
        assert rounded_in(record) == {"p": "in activity 1", "y": "in activity 2"}
        titles = [stage.title for stage in record.capture.stages if stage.name.startswith("machine-")]
        assert titles == ["Assembly of activity 1", "Assembly of activity 2"]
        links = {each.program_op: each.lines for each in record.capture.correspondences if each.stage == "kernels"}
        assert lines_of(captures.text(record, "kernels"), links["y"]).startswith("# activity 2: ")

    def test_a_search_keeps_every_candidate(self, captures):
        record = captures.capture(variant="tuned")
        assert record.outcome.status == "ok", record.outcome
        search = record.capture.search
        timed = [candidate for candidate in search.candidates if candidate.measured_ns is not None]
        assert search.tried == len(timed) > 1
        assert all(candidate.chosen == (candidate.refused == "") for candidate in search.candidates)
        assert sum(candidate.chosen for candidate in search.candidates) <= 1
        assert search.censored == ""
        assert len(record.alternatives) == min(3, len(timed) - 1)
        assert {alternative.outcome.status for alternative in record.alternatives} == {"ok"}
        assert all(alternative.distinct for alternative in record.alternatives), "a beam times no binary twice"

    @pytest.mark.parametrize(("variant", "target"), [("tuned", "sm_90"), ("nonsense", "cpu")])
    def test_what_it_cannot_do_is_unsupported(self, captures, variant, target):
        outcome = captures.capture(variant=variant, target=target).outcome
        assert (outcome.status, bool(outcome.reason)) == ("unsupported", True)


@pytest.mark.compilers
class TestForSm90:
    def matrix(self, captures, workload: str):
        return captures.capture(workload, "matrix", "default", "sm_90")

    def test_weight_view_is_the_tensor_core_kernel_of_the_article(self, captures):
        record = self.matrix(captures, "weight_view")
        assert (record.outcome.status, record.admission.admitted) == ("ok", None)
        (launch,) = record.plan.launches
        assert geometry(launch) == ((8, 16, 1), (32, 4, 1), 92, 0, "HMMA.16816.F32")
        sass = captures.text(record, "machine-0")
        assert sass.count("HMMA.16816.F32") == 64
        assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in captures.text(record, "ptx-0")
        assert launch.parameters["opt 0"].startswith("TC ")

    def test_the_projection_is_rounded_before_the_bias(self, captures):
        record = self.matrix(captures, "weight_view")
        ptx = captures.text(record, "ptx-0")
        assert ptx.index("cvt.rn.f16.f32") < ptx.index("add.f16")
        assert {rounding.boundary for rounding in record.plan.roundings if rounding.certain} == {"p", "y"}

    def test_a_join_of_projections_multiplies_in_fp16(self, captures):
        """The documents found it on a GPU: no tensor core, and products that are rounded before they are added."""
        record = self.matrix(captures, "projection_join")
        (launch,) = record.plan.launches
        assert launch.instruction == "HMUL2"
        results = {decision.subject: decision for decision in record.capture.decisions}
        assert "rounded to FP16" in results["contraction p: instruction"].fixes
