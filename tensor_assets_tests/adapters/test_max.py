"""MAX's text is read for what it says: parsers on its own MGP programs, plans from what a GPU would report."""

from __future__ import annotations

import hashlib
import importlib
import sys
import types
from pathlib import Path

import pytest
from tensor_worker.artifacts import Launch
from tensor_worker.fingerprint import fingerprint
from tensor_worker.program import Op, Program, Value

FOLDER = Path(__file__).parents[2] / "adapters" / "max"
TEXTS = Path(__file__).parent / "max"

M, K, N = 1024, 768, 1024
WEIGHT_VIEW = Program(
    workload="weight_view",
    shape="matrix",
    inputs=(
        Value(name="x", shape=(M, K), dtype="f16"),
        Value(name="wt", shape=(N, K), dtype="f16"),
        Value(name="b", shape=(N,), dtype="f16"),
    ),
    ops=(
        Op(name="w", op="transpose", of=("wt",), shape=(K, N), dtype="f16"),
        Op(name="p", op="matmul", of=("x", "w"), shape=(M, N), dtype="f16"),
        Op(name="y", op="add", of=("p", "b"), shape=(M, N), dtype="f16"),
    ),
    outputs=("y",),
)
SOFTMAX = Program(
    workload="softmax",
    shape="matrix",
    inputs=(Value(name="x", shape=(M, K), dtype="f16"),),
    ops=(
        Op(name="m", op="max", of=("x",), shape=(M, 1), dtype="f32"),
        Op(name="d", op="sub", of=("x", "m"), shape=(M, K), dtype="f32"),
        Op(name="e", op="exp", of=("d",), shape=(M, K), dtype="f32"),
        Op(name="z", op="sum", of=("e",), shape=(M, 1), dtype="f32"),
        Op(name="y", op="div", of=("e", "z"), shape=(M, K), dtype="f16"),
    ),
    outputs=("y",),
)


def module(name: str) -> types.ModuleType:
    """A module of the adapter folder, loaded as a package of its own, so that no other adapter's stands in its way."""
    package = sys.modules.setdefault("max_adapter", types.ModuleType("max_adapter"))
    package.__path__ = [str(FOLDER)]
    return importlib.import_module(f"max_adapter.{name}")


def invocation(name: str, program: Program):
    text = (TEXTS / f"{name}.mgp.mlir").read_text()
    return module("routines").read_invocation(text, tuple(op.name for op in program.ops))


def code(symbol: str = "__kernel_1", library: tuple[str, ...] = (), kernels=(), instruction: str = ""):
    found = tuple(kernel(*each) for each in kernels)
    return module("code").RoutineCode(
        symbol, "", hashlib.sha256(symbol.encode()).hexdigest(), instruction, library, found
    )


def kernel(name: str, instruction: str = "", registers: int = 26):
    return module("code").Kernel(name, "", registers, 256, 0, instruction, hashlib.sha256(name.encode()).hexdigest())


class TestLocations:
    LINES = (
        '#loc1 = #mogg.profile_scope<"p", #loc>',
        '#loc2 = #mogg.profile_scope<"y", #loc>',
        "#loc3 = loc(fused[#loc2, #loc1])",
        "#loc = loc(unknown)",
    )

    @pytest.fixture
    def locations(self):
        return module("locations").Locations(self.LINES, ["w", "p", "y"])

    def test_aliases_are_followed_and_named_in_program_order(self, locations):
        assert locations.of_line("    mogg.call @f %1 loc(#loc3)") == ("p", "y")
        assert locations.of_line("    %0 = mo.add(%1, %2) loc(#loc2)") == ("y",)

    def test_the_location_that_ends_the_line_counts(self, locations):
        assert locations.of_line("  f (%a: !p loc(#loc1)) -> !q loc(#loc2)") == ("y",)
        assert locations.of_line('  %2 = f() loc(#mogg.profile_scope<"p", loc(unknown)>)') == ("p",)

    def test_what_is_no_op_of_the_program_is_nothing(self, locations):
        assert locations.of_line('  f loc(#mogg.profile_scope<"other", #loc>)') == ()
        assert locations.of_line("  f loc(#loc)") == ()
        assert locations.of_line("  f") == ()

    def test_a_circle_ends(self):
        circle = module("locations").Locations(["#loc1 = loc(fused[#loc1, #loc2])", "#loc2 = loc(#loc1)"], ["p"])
        assert circle.of("#loc1") == ()


class TestCuts:
    TEXT = """\
!Int = !lit.struct<@std::@Int>
#loc = loc(unknown)
#loc5 = loc("max/kernels/linalg.mojo":12:8)
#loc9 = #mogg.profile_scope<"p", #loc>
#unused = #mogg.fusion<x>
module attributes {a = 1} {
  mo.graph @gemm(%arg0: !mo.tensor<[2], f16>) {
    %0 = mogg.call.opaque @builtin_kernels.linalg.MatmulCPU[transpose_b = true] loc(#loc9)
  } loc(#loc)
  mogg.kernel.decl @builtin_kernels.linalg.MatmulCPU registration = "mo.matmul" execute = !Int loc(#loc5)
  mogg.kernel.decl @builtin_kernels.conv.Conv registration = "mo.conv" loc(#loc5)
  mogg.primitive.decl @builtin_primitives.alloc loc(#loc)
} loc(#loc)
#loc10 = loc(fused[#loc9])
{-#
  dialect_resources: {}
#-}
"""

    @pytest.fixture
    def cut(self, tmp_path):
        path = tmp_path / "gemm.mogg-to-mgp.mlir"
        path.write_text(self.TEXT)
        return module("dumps").cut(path)

    def test_the_program_is_kept_and_the_library_is_not(self, cut):
        assert "mo.graph @gemm" in cut.text
        assert "decl" not in cut.text
        assert '#loc9 = #mogg.profile_scope<"p", #loc>' in cut.text
        assert "#unused" not in cut.text
        assert "!Int" not in cut.text

    def test_the_excerpt_says_which_lines_of_which_file(self, cut):
        lines = self.TEXT.splitlines(keepends=True)
        excerpt = cut.excerpt()
        assert "".join("".join(lines[first - 1 : last]) for first, last in excerpt.lines) == cut.text
        assert excerpt.sha256 == hashlib.sha256(self.TEXT.encode()).hexdigest()
        assert excerpt.bytes == len(self.TEXT.encode())

    def test_a_kernel_is_found_in_its_source(self, cut):
        assert cut.sources == {"builtin_kernels.linalg.MatmulCPU": "max/kernels/linalg.mojo:12:8"}

    def test_a_definition_that_is_the_library_is_left_out(self, tmp_path):
        long = self.TEXT.replace('#loc9 = #mogg.profile_scope<"p", #loc>', f'#loc9 = loc("{"x" * 9000}")')
        (tmp_path / "long.mlir").write_text(long)
        assert "xxx" not in module("dumps").cut(tmp_path / "long.mlir").text

    def test_a_file_without_a_module_is_whole(self, tmp_path):
        (tmp_path / "plain.mlir").write_text("a\nb\n")
        whole = module("dumps").cut(tmp_path / "plain.mlir")
        assert (whole.text, whole.excerpt()) == ("a\nb\n", None)


class TestInvocation:
    def test_weight_view_is_one_routine_without_storage(self):
        found = invocation("weight_view", WEIGHT_VIEW)
        (routine,) = found.routines
        assert routine.name == "matmul_static_broadcast_to_add"
        assert routine.computes == ("p", "y")
        assert [leaf.op for leaf in routine.leaves] == ["mo.matmul", "mo.static.broadcast_to", "mo.add"]
        assert routine.kernel == "builtin_kernels.linalg.MatmulCPU"
        assert routine.parameters == {"packed_b": False, "transpose_b": True, "hasEpilogueFusion": True}
        assert list(found.inputs.values()) == [M * K * 2, N * K * 2, N * 2]
        assert [(each.bytes, each.align) for each in found.allocations.values()] == [(M * N * 2, 64)]
        assert found.outputs == list(found.allocations)

    def test_the_gpus_output_is_aligned_to_256_bytes(self):
        (allocation,) = invocation("weight_view.gpu", WEIGHT_VIEW).allocations.values()
        assert (allocation.bytes, allocation.align) == (2_097_152, 256)

    def test_softmax_runs_in_order_and_widens_its_input_once(self):
        found = invocation("softmax", SOFTMAX)
        assert [routine.computes for routine in found.routines] == [
            ("m",), ("m",), ("d", "e", "z", "y"), ("d", "e", "y"),
        ]  # fmt: skip
        sizes = [each.bytes for each in found.allocations.values()]
        assert sizes == [M * K * 4, M * 4, M * 4, M * K * 2]
        assert all(routine.reads and len(routine.writes) == 1 for routine in found.routines)

    def test_a_text_without_a_program_is_refused(self):
        with pytest.raises(ValueError, match="no execute part"):
            module("routines").read_invocation("module {\n}\n", ())


class TestPlan:
    def plan(self, name: str, program: Program, steps):
        text = (TEXTS / f"{name}.mgp.mlir").read_text()
        return module("planning").make_plan(program, invocation(name, program), steps, text, [])

    def test_on_the_cpu_a_routine_is_a_launch(self):
        planning = module("planning")
        found = invocation("weight_view", WEIGHT_VIEW)
        plan = self.plan("weight_view", WEIGHT_VIEW, planning.host_steps(found, [code(instruction="vfmadd231ps")]))
        (launch,) = plan.launches
        assert (launch.kind, launch.computes, launch.instruction) == ("kernel", ("p", "y"), "vfmadd231ps")
        assert [(rounding.boundary, rounding.launch) for rounding in plan.roundings] == [("p", 0), ("y", 0)]
        assert "hands %val : f16 to its epilogue" in plan.roundings[0].evidence
        assert [buffer.role for buffer in plan.buffers] == ["input", "input", "input", "output"]

    def test_stored_intermediates_live_from_their_writer_to_their_last_reader(self):
        planning = module("planning")
        found = invocation("softmax", SOFTMAX)
        codes = [code(f"__kernel_{index}", instruction="vfmadd213ps") for index in range(4)]
        plan = self.plan("softmax", SOFTMAX, planning.host_steps(found, codes))
        stored = {buffer.name.split()[0]: buffer for buffer in plan.buffers if buffer.role == "intermediate"}
        assert [(b.bytes, b.first, b.last) for b in plan.buffers if b.role == "intermediate"] == [
            (M * K * 4, 0, 3), (M * 4, 1, 3), (M * 4, 2, 3),
        ]  # fmt: skip
        assert set(stored) == {"m", "y"}
        assert all(launch.instruction == "" for launch in plan.launches)  # no contraction, so no matrix instruction
        assert [(rounding.boundary, rounding.launch) for rounding in plan.roundings] == [("y", 3)]

    def compiled(self):
        """What the sm_90a build of weight_view holds."""
        naive = ("matmul_kernel_naive", "FFMA", 29)
        return code(library=("cublasGemmEx",), kernels=(naive, ("elementwise_r2_w8_b256_gs_False_2ba83ece",)))

    def test_without_a_gpu_the_library_call_and_the_epilogue_are_planned(self):
        planning = module("planning")
        found = invocation("weight_view.gpu", WEIGHT_VIEW)
        plan = self.plan("weight_view.gpu", WEIGHT_VIEW, planning.compiled_steps(found, [self.compiled()]))
        assert [(launch.kind, launch.name, launch.computes) for launch in plan.launches] == [
            ("library", "cublasGemmEx", ("p",)),
            ("kernel", "elementwise_r2_w8_b256_gs_False_2ba83ece", ("y",)),
        ]
        assert plan.launches[1].grid is None
        assert (plan.launches[1].block, plan.launches[1].registers) == ((256, 1, 1), 26)

    def observed(self, *, grid: int = 512):
        seen = module("planning").Observed
        return [
            seen(kind="memset", name="cuMemsetD32Async", bytes=33_554_432),
            seen(kind="kernel", name="nvjet_sm90_hsh", grid=(2, 64, 1), block=(384, 1, 1), shared_bytes=213_268),
            seen(kind="kernel", name="elementwise_r2_w8_b256", grid=(grid, 1, 1), block=(256, 1, 1)),
        ]

    def measured(self, trace):
        planning = module("planning")
        found = invocation("weight_view.gpu", WEIGHT_VIEW)
        return self.plan("weight_view.gpu", WEIGHT_VIEW, planning.observed_steps(found, [self.compiled()], trace))

    def test_on_a_gpu_the_launch_trace_decides(self):
        plan = self.measured(self.observed())
        assert [(launch.kind, launch.grid, launch.computes) for launch in plan.launches] == [
            ("memset", None, ()), ("library", (2, 64, 1), ("p",)), ("kernel", (512, 1, 1), ("y",)),
        ]  # fmt: skip
        assert plan.launches[0].parameters == {"bytes": 33_554_432}
        assert [(rounding.boundary, rounding.launch) for rounding in plan.roundings] == [("p", 1), ("y", 2)]

    def test_a_library_kernel_that_the_trace_does_not_see_stands_by_its_call(self):
        memset, _, epilogue = self.observed()
        plan = self.measured([memset, epilogue])
        assert [(launch.kind, launch.name, launch.grid) for launch in plan.launches] == [
            ("memset", "cuMemsetD32Async", None),
            ("library", "cublasGemmEx", None),
            ("kernel", "elementwise_r2_w8_b256_gs_False_2ba83ece", (512, 1, 1)),
        ]

    def test_the_projection_is_stored_between_two_kernels(self):
        buffers = {buffer.role: buffer for buffer in self.measured(self.observed()).buffers}
        assert (buffers["intermediate"].bytes, buffers["intermediate"].first, buffers["intermediate"].last) == (
            2_097_152,
            1,
            2,
        )
        assert (buffers["workspace"].bytes, buffers["workspace"].first) == (33_554_432, 0)

    def test_the_fingerprint_follows_geometry_and_code(self):
        first = fingerprint(self.measured(self.observed()))
        assert fingerprint(self.measured(self.observed())) == first
        assert fingerprint(self.measured(self.observed(grid=256))) != first
        assert fingerprint(self.measured(self.observed()[1:])) != first

    def test_when_the_other_branch_runs_it_computes_the_contraction_with_its_epilogue(self):
        seen = module("planning").Observed
        plan = self.measured([seen(kind="kernel", name="matmul_kernel_naive", grid=(64, 64, 1), block=(16, 16, 1))])
        assert [(launch.kind, launch.instruction, launch.computes) for launch in plan.launches] == [
            ("kernel", "FFMA", ("p", "y"))
        ]


class TestSemanticGraph:
    TEXT = """\
module {
  mo.graph @f(%arg0: !mo.tensor<[8, 16], f16>, %arg1: !mo.tensor<[24, 16], f16>, %arg2: !mo.tensor<[24], f16>) {
    %1 = mo.constant <#M.dense_array<1, 0> : tensor<2xsi64>> : !mo.tensor<[2], si64>
    %2 = rmo.mo.transpose(%arg1, %1) : (!mo.tensor<[24, 16], f16>, !mo.tensor<[2], si64>) -> !mo.tensor<[16, 24], f16>
    %3 = rmo.matmul(%arg0, %2) : (!mo.tensor<[8, 16], f16>, !mo.tensor<[16, 24], f16>) -> !mo.tensor<[8, 24], f16>
    mo.output %3 : !mo.tensor<[8, 24], f16>
  }
}
"""

    def test_a_line_is_a_node_with_its_operands(self):
        located = self.TEXT.replace(
            "-> !mo.tensor<[8, 24], f16>", '-> !mo.tensor<[8, 24], f16> loc(#mogg.profile_scope<"p", loc(unknown)>)'
        )
        graph = module("semantic").semantic_graph(self.TEXT, located, WEIGHT_VIEW)
        nodes = {node.id: node for node in graph.nodes}
        assert [(node.op, node.role, node.shape) for node in graph.nodes if node.role in ("view", "contraction")] == [
            ("rmo.mo.transpose", "view", (16, 24)), ("rmo.matmul", "contraction", (8, 24)),
        ]  # fmt: skip
        assert (nodes["%3"].program_ops, nodes["%3"].lines) == (("p",), (5, 5))
        assert nodes["%arg1"].program_ops == ("wt",)
        assert {(edge.source, edge.target) for edge in graph.edges} == {
            ("%arg1", "%2"), ("%1", "%2"), ("%arg0", "%3"), ("%2", "%3"), ("%3", "output"),
        }  # fmt: skip


def test_a_launch_without_code_is_known_by_its_name():
    """The library's kernel is in nobody's hands: its name and geometry stand for it."""
    plan = TestPlan().measured(TestPlan().observed())
    assert plan.launches[1] == Launch(
        kind="library", name="nvjet_sm90_hsh", grid=(2, 64, 1), block=(384, 1, 1), shared_bytes=213_268, computes=("p",)
    )
