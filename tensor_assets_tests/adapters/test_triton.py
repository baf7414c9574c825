"""The authored Triton kernels: how programs are cut and written, and real compiles for sm_90 (marker ``compilers``)."""

from __future__ import annotations

import ast
import json
import math
import os
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_worker.adapter import Unsupported
from tensor_worker.candidates import read_candidates, read_untimed

from tensor_assets_tests.adapters.captured import FIXTURES, Captures, geometry, lines_of, program, workloads

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "adapters" / "triton"
WITHOUT_MATRIX_FAMILY = ("norm_projection", "rmsnorm", "softmax")


def module(name: str) -> types.ModuleType:
    """A module of the adapter that needs no Triton."""
    package = sys.modules.setdefault("triton_adapter", types.ModuleType("triton_adapter"))
    package.__path__ = [str(FOLDER)]
    return import_module(f"triton_adapter.{name}")


def cut(workload: str, shape: str = "matrix"):
    return module("family").cut(program(workload, shape))


def authored(workload: str, shape: str = "matrix"):
    kernels = cut(workload, shape)
    tiles = tuple(module("tiles").DEFAULT.clipped(kernel) for kernel in kernels)
    return module("authoring").author(program(workload, shape), kernels, tiles)


def test_a_search_that_is_cut_short_leaves_the_tiles_of_every_kernel_that_it_did_not_time(tmp_path, monkeypatch):
    package = module("tiles").__package__
    loading = types.SimpleNamespace(load_functions=None)  # needs Triton, and nothing is launched here
    monkeypatch.setitem(sys.modules, f"{package}.compiling", loading)
    search = module("search")
    times = iter((5e3, "out of resource: shared memory"))
    monkeypatch.setattr(search, "_measure", lambda *_: next(times))
    kernels = cut("two_layer")
    with pytest.raises(StopIteration):
        search.search_tiles(program("two_layer", "matrix"), kernels, None, tmp_path)
    offered = [f"{kernel.name} {tile.name}" for kernel in kernels for tile in search._tiles(kernel)]
    tried = [(one.name, one.measured_ns, one.refused) for one in read_candidates(tmp_path)]
    assert tried == [(offered[0], 5e3, ""), (offered[1], None, "out of resource: shared memory")]
    assert [one.name for one in read_untimed(tmp_path)] == offered[2:]


class TestFamily:
    @pytest.mark.parametrize(
        ("workload", "kernels"),
        [
            ("weight_view", [("p", "y")]),
            ("input_scale", [("xs", "p")]),
            ("projection_join", [("p", "q", "y")]),
            ("projection_chain", [("p",), ("y",)]),
            ("two_layer", [("h", "a", "g"), ("q", "y")]),
        ],
    )
    def test_contractions_that_read_another_start_a_kernel(self, workload, kernels):
        assert [tuple(op.name for op in kernel.ops) for kernel in cut(workload)] == kernels

    def test_what_goes_through_memory(self):
        first, second = cut("two_layer")
        assert (first.loads, first.stores) == (("x", "w1", "b1"), ("g",))
        assert (second.loads, second.stores) == (("g", "w2", "b2"), ("y",))
        assert cut("public_projection")[0].stores == ("p", "y")

    @pytest.mark.parametrize("workload", WITHOUT_MATRIX_FAMILY)
    def test_reductions_over_rows_are_unsupported(self, workload):
        with pytest.raises(Unsupported, match="over rows"):
            cut(workload)


class TestAuthoring:
    @pytest.mark.parametrize("workload", [name for name in workloads() if name not in WITHOUT_MATRIX_FAMILY])
    @pytest.mark.parametrize("shape", ["matrix", "matrix_inspect", "tail"])
    def test_each_line_of_an_op_says_so(self, workload, shape):
        source = authored(workload, shape)
        ast.parse(source.text)
        text = source.text.splitlines()
        for (kernel, op), line in source.results.items():
            assert text[line - 1].strip().startswith(f"{op}")
            first, last = source.spans[kernel]
            assert first <= line <= last

    def test_every_boundary_is_rounded_in_so_many_words(self):
        text = authored("residual_relu").text
        assert "p = p_sum.to(tl.float16)" in text
        assert "a = (p.to(tl.float32) + b.to(tl.float32)).to(tl.float16)" in text
        assert "c = (a.to(tl.float32) + r.to(tl.float32)).to(tl.float16)" in text

    def test_a_transpose_swaps_strides_and_stores_nothing(self):
        text = authored("weight_view").text
        assert "tl.load(wt_ptr + k[:, None] + n[None, :] * 768)" in text
        assert text.count("tl.store") == 1

    def test_where_the_tile_divides_nothing_is_masked(self):
        assert "mask=" not in authored("weight_view", "matrix").text
        assert authored("weight_view", "tail").text.count("mask=") == 1  # the store; 1000 rows wrap in the loads

    @given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 5000))
    def test_tiles_cover_the_output(self, m, n, k):
        kernel = types.SimpleNamespace(m=m, n=n, k=k)
        tile = module("tiles").DEFAULT.clipped(kernel)
        assert min(tile.m, tile.n, tile.k) >= 16
        assert tile.grid(kernel) == (math.ceil(m / tile.m) * math.ceil(n / tile.n), 1, 1)


class TestLocations:
    def test_names_and_call_sites_lead_to_the_source(self):
        text = """\
#loc = loc("kernels.py":6:1)
module {
    %p_sum = arith.constant dense<0.0> : tensor<16x32xf32> loc(#loc5)
    %p = arith.truncf %x : tensor<16x32xf32> to tensor<16x32xf16> loc(#loc4)
}
#loc1 = loc("standard.py":40:2)
#loc2 = loc("kernels.py":14:9)
#loc3 = loc("kernels.py":22:9)
#loc4 = loc("p"(#loc3))
#loc5 = loc(callsite(#loc1 at #loc2))
"""
        assert module("locations").source_lines("ttir", text) == {3: 14, 4: 22}

    def test_a_directive_holds_until_the_next(self):
        text = [
            ".loc\t1 21 15 // kernels.py:21:15",
            "add.f32 %a;",
            ".loc\t1 22 9 // kernels.py:22:9",
            "cvt.rn.f16.f32 %b;",
        ]
        assert module("locations").source_lines("ptx", "\n".join(text)) == {2: 21, 4: 22}


@pytest.fixture(scope="module")
def captures(tmp_path_factory) -> Captures:
    return Captures("triton", tmp_path_factory.mktemp)


@pytest.mark.compilers
class TestForSm90:
    STAGES = (
        "source",
        "ttir",
        "matrix_kernel_0.ttgir",
        "matrix_kernel_0.llir",
        "matrix_kernel_0.ptx",
        "matrix_kernel_0.sass",
    )

    @pytest.fixture
    def record(self, captures):
        return captures.capture("weight_view", "matrix", "default", "sm_90")

    def test_weight_view_is_one_kernel_on_the_tensor_cores(self, captures, record):
        assert (record.outcome.status, record.admission.admitted) == ("ok", None)
        assert tuple(stage.stage for stage in record.stages) == self.STAGES
        (launch,) = record.plan.launches
        assert geometry(launch)[:2] == ((128, 1, 1), (128, 1, 1))
        assert launch.shared_bytes == 3 * (128 * 64 + 64 * 64) * 2
        assert launch.instruction == "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
        assert "HGMMA.64x64x16.F32" in captures.text(record, "matrix_kernel_0.sass")
        assert launch.computes == ("w", "p", "y")
        assert not [buffer for buffer in record.plan.buffers if buffer.role == "intermediate"]

    def test_the_projection_is_rounded_before_the_bias(self, captures, record):
        ptx = " ".join(captures.text(record, "matrix_kernel_0.ptx").split())
        assert [(each.boundary, each.certain) for each in record.plan.roundings] == [("p", True), ("y", True)]
        projection, total = (each.evidence.split(" (PTX")[0] for each in record.plan.roundings)
        assert projection.startswith("cvt.rn.f16x2.f32")
        assert total.startswith("add.rn.f16x2")
        assert ptx.index(projection) < ptx.index(total)

    def test_the_graph_is_a_dot_between_loads_and_casts(self, captures, record):
        graph = record.capture.graph
        text = captures.text(record, "ttir").splitlines()
        assert [node.op for node in graph.nodes if node.role in ("contraction", "epilogue")] == ["tt.dot", "arith.addf"]
        for node in graph.nodes:
            assert node.op in text[node.lines[0] - 1]
        (dot,) = (node for node in graph.nodes if node.op == "tt.dot")
        assert dot.program_ops == ("p",)
        assert sum(edge.target == dot.id for edge in graph.edges) == 2
        assert sum(edge.source == dot.id for edge in graph.edges) == 1

    def test_each_op_is_found_in_every_stage(self, captures, record):
        linked = {(link.program_op, link.stage) for link in record.capture.correspondences}
        assert linked >= {("p", stage) for stage in self.STAGES}
        machine = captures.text(record, "matrix_kernel_0.sass")
        mine = [
            link.lines
            for link in record.capture.correspondences
            if (link.program_op, link.stage) == ("p", self.STAGES[-1])
        ]
        assert any("HGMMA" in lines_of(machine, lines) for lines in mine)

    def test_equal_programs_are_equal_code_in_any_process(self, captures):
        affine, bias = (captures.capture(name, "matrix", "default", "sm_90") for name in ("affine", "bias"))
        assert affine.fingerprint == bias.fingerprint
        assert affine.fingerprint != captures.capture("relu", "matrix", "default", "sm_90").fingerprint

    def test_there_is_no_cpu_backend(self, captures):
        outcome = captures.capture().outcome
        assert (outcome.status, "GPUs only" in outcome.reason) == ("unsupported", True)

    def test_the_arithmetic_is_right_in_triton_s_interpreter(self, captures, tmp_path):
        """The same source, run on the CPU: every exact fixture bit for bit, with tiles that hang over each edge."""
        script = Path(__file__).parent / "interpret_triton.py"
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "TRITON_INTERPRET": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "adapters" / "worker")]),
        }
        command = [str(captures.environment.python), str(script), str(FOLDER), str(FIXTURES)]
        printed = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=True).stdout
        found = json.loads(printed.splitlines()[-1])
        assert {name for name, result in found.items() if isinstance(result, str)} == set(WITHOUT_MATRIX_FAMILY)
        assert {n: r for n, r in found.items() if isinstance(r, dict) and any(r.values())} == {}
        assert len(found) == 20
