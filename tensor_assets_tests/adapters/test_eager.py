"""PyTorch eager: real captures on the CPU (marker ``compilers``)."""

from __future__ import annotations

import pytest

from tensor_assets_tests.adapters.captured import Captures, lines_of


@pytest.fixture(scope="module")
def captures(tmp_path_factory) -> Captures:
    return Captures("eager", tmp_path_factory.mktemp)


@pytest.mark.compilers
class TestOnTheCpu:
    def test_every_workload_keeps_the_contract(self, captures):
        judged = dict(captures.admissions("matrix_inspect"))
        assert {name: admission.reason for name, admission in judged.items() if not admission.admitted} == {}
        assert len(judged) == 20

    def test_each_operator_is_a_launch_and_a_view_is_none(self, captures):
        record = captures.capture()
        assert record.outcome.status == "ok", record.outcome
        assert [stage.stage for stage in record.stages] == ["source", "dispatched"]
        assert [(launch.name, launch.computes) for launch in record.plan.launches] == [
            ("aten.mm.default", ("w", "p")),
            ("aten.add.Tensor", ("y",)),
        ]
        assert [(each.boundary, each.launch) for each in record.plan.roundings] == [("p", 0), ("y", 1)]
        (stored,) = (buffer for buffer in record.plan.buffers if buffer.role == "intermediate")
        assert (stored.bytes, stored.first, stored.last) == (8 * 24 * 2, 0, 1)

    def test_the_graph_points_at_its_lines(self, captures):
        record = captures.capture()
        nodes = {node.id: node for node in record.capture.graph.nodes}
        assert [node.role for node in record.capture.graph.nodes] == [
            "input", "input", "input", "view", "contraction", "epilogue", "output",
        ]  # fmt: skip
        for node in nodes.values():
            if node.lines:
                assert node.op in lines_of(captures.text(record, "dispatched"), node.lines)
        edges = {(edge.source, edge.target) for edge in record.capture.graph.edges}
        assert edges == {
            ("wt", "%0"), ("x", "%1"), ("%0", "%1"), ("%1", "%2"), ("b", "%2"), ("%2", "output y"),
        }  # fmt: skip

    def test_two_fresh_processes_agree(self, captures):
        assert captures.again().fingerprint == captures.capture().fingerprint
        assert captures.capture("bias").fingerprint != captures.capture().fingerprint

    def test_there_is_nothing_to_compile_for_a_device_that_is_not_here(self, captures):
        outcome = captures.capture(target="sm_90").outcome
        assert (outcome.status, "generates none" in outcome.reason) == ("unsupported", True)
