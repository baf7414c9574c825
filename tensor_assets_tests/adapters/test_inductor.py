"""Inductor: its generated code is read for what it says, and real captures on the CPU (marker ``compilers``).

The two texts beside this file are output code that Inductor 2.14.1 wrote for an sm_90 device.
"""

from __future__ import annotations

import ast
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_worker.adapter import Unavailable
from tensor_worker.arrays import save_arrays
from tensor_worker.messages import Activity, Compile, GetPlan, Hello

from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.workers.caches import restore
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets_tests.adapters.captured import Captures, lines_of, program, rounded_in, workloads

FOLDER = Path(__file__).parents[2] / "adapters" / "inductor"
TEXTS = Path(__file__).parent / "inductor"


def module(name: str) -> types.ModuleType:
    """A module of the adapter that needs no PyTorch."""
    package = sys.modules.setdefault("inductor_adapter", types.ModuleType("inductor_adapter"))
    package.__path__ = [str(FOLDER)]
    return import_module(f"inductor_adapter.{name}")


def output_code(name: str):
    return module("output_code").read_output_code((TEXTS / f"{name}.txt").read_text())


class TestSource:
    def body(self, workload: str, form: str) -> list[str]:
        text = module("source").write_source(program(workload, "matrix"), form).text
        return [line.strip() for line in text.splitlines()[4:-1]]

    def test_the_contract_form_writes_every_cast_around_a_boundary(self):
        assert self.body("weight_view", "contract") == [
            "w = wt.transpose(0, 1)",
            "p = torch.matmul(x, w)",
            "y = (p.float() + b.float()).half()",
        ]

    def test_the_native_form_is_what_a_user_writes(self):
        assert self.body("weight_view", "native") == ["w = wt.transpose(0, 1)", "p = torch.matmul(x, w)", "y = p + b"]

    def test_an_fp32_interior_is_never_rounded_in_between(self):
        assert self.body("rmsnorm", "native") == [
            "s = torch.square(x.float())",
            "v = s.mean(dim=-1, keepdim=True)",
            "t = v + 1e-05",
            "r = torch.rsqrt(t)",
            "c = x.float() * r",
            "y = (c * gamma).half()",
        ]

    @pytest.mark.parametrize("workload", workloads())
    @pytest.mark.parametrize("form", ["contract", "native"])
    def test_each_op_is_assigned_on_its_line(self, workload, form):
        wanted = program(workload, "matrix")
        source = module("source").write_source(wanted, form)
        lines = source.text.splitlines()
        identifier = module("source").identifier
        assert list(source.lines) == [op.name for op in wanted.ops]
        for op, line in source.lines.items():
            assert lines[line - 1].strip().startswith(f"{identifier(op)} = ")
            assert source.op_at(line) == op

    @given(st.text(min_size=1, max_size=8))
    def test_any_name_becomes_a_variable_that_hides_nothing(self, name):
        made = module("source").identifier(name)
        ast.parse(f"{made} = 1")
        assert made != "torch"


class TestOutputCode:
    def test_a_library_call_and_a_kernel_in_their_order(self):
        code = output_code("residual_relu.default")
        assert [(call.name, call.reads, call.writes) for call in code.calls] == [
            ("extern_kernels.mm", ("arg0_1", "arg1_1"), ("buf0",)),
            ("triton_poi_fused__to_copy_add_relu_0", ("buf1", "arg2_1", "arg3_1"), ("buf1",)),
        ]
        assert code.calls[1].handle == "triton_poi_fused__to_copy_add_relu_0:2"
        assert code.calls[0].source_nodes == ("matmul",)
        assert code.returned == ("buf1",)

    def test_memory_that_is_taken_over_is_known(self):
        allocations = output_code("residual_relu.default").allocations
        assert {name: (each.bytes, each.reuses) for name, each in allocations.items()} == {
            "buf0": (1024 * 1024 * 2, ""),
            "buf1": (1024 * 1024 * 2, "buf0"),
        }

    def test_a_fused_template_is_one_launch_with_its_parameters(self):
        code = output_code("weight_view.tuned")
        (call,) = code.calls
        assert call.reads == ("arg0_1", "arg1_1", "arg2_1")
        assert call.writes == ("buf1",)
        assert call.arguments[-3:] == ("128", "1", "1")
        constants = module("triton_kernels").template_constants(call.kernel)
        assert {name: constants[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_stages", "num_warps")} == {
            "BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "num_stages": 3, "num_warps": 4,
        }  # fmt: skip

    def test_half_arithmetic_is_told_in_the_order_it_appears(self):
        ptx = [
            "cvt.rn.f16x2.f32 %r1, %r2, %r3;",
            "cvt.rn.f16x2.f32 %r4, %r5, %r6;",
            "add.rn.f16x2 %r7, %r1;",
            "add.f32 %r9;",
        ]
        assert module("triton_kernels").half_arithmetic("\n".join(ptx)) == "cvt.rn.f16x2.f32 x2, add.rn.f16x2 x1"

    def test_text_without_a_call_is_refused(self):
        with pytest.raises(module("output_code").NotOutputCode, match="call"):
            module("output_code").read_output_code("import torch\n")


def cpp(body: str):
    text = f"""
extern "C"  void  kernel(at::Half* in_out_ptr0,
                       const at::Half* in_ptr0)
{{
{body}
}}
"""
    return module("output_code").Kernel("cpp_fused_0", "cpp", text, (1, 1))


class TestNarrowing:
    def narrowings(self, kernel) -> tuple[str, ...]:
        return module("narrowing").narrowings(kernel)

    def test_a_template_rounds_the_projection_and_the_sum(self):
        (call,) = output_code("weight_view.tuned").calls
        assert self.narrowings(call.kernel) == ("tmp0 = acc.to(tl.float16)", "tmp10 = tmp9.to(tl.float16)")

    def test_both_fused_sums_are_rounded_and_what_is_half_already_does_not_count(self):
        kernel = output_code("residual_relu.default").calls[1].kernel
        assert self.narrowings(kernel) == ("tmp9 = tmp8.to(tl.float16)", "tmp21 = tmp20.to(tl.float16)")

    def test_a_rounding_that_nobody_reads_does_not_count(self):
        """PyTorch 2.11 leaves the first conversion in the text and adds the unrounded sum."""
        kernel = cpp("""
            auto tmp0 = at::vec::Vectorized<at::Half>::loadu(in_out_ptr0 + static_cast<int64_t>(x0), 16);
            auto tmp3 = at::vec::Vectorized<at::Half>::loadu(in_ptr0 + static_cast<int64_t>(x0), 16);
            auto tmp1 = at::vec::convert<float>(tmp0);
            auto tmp4 = at::vec::convert<float>(tmp3);
            auto tmp6 = tmp1 + tmp4;
            auto tmp7 = at::vec::convert<at::Half>(tmp6);
            auto tmp10 = tmp6 + tmp4;
            auto tmp12 = at::vec::clamp_min(tmp10, decltype(tmp10)(0));
            auto tmp13 = at::vec::convert<at::Half>(tmp12);
            tmp13.store(in_out_ptr0 + static_cast<int64_t>(x0), 16);""")
        assert self.narrowings(kernel) == ("auto tmp13 = at::vec::convert<at::Half>(tmp12);",)

    def test_the_remainder_of_a_vector_loop_repeats_nothing(self):
        kernel = cpp("""
            if(C10_LIKELY(x0 < 16L))
            {
                auto tmp0 = at::vec::Vectorized<at::Half>::loadu(in_ptr0 + static_cast<int64_t>(x0), 16);
                auto tmp1 = at::vec::convert<float>(tmp0);
                auto tmp2 = tmp1 + tmp1;
                auto tmp3 = at::vec::convert<at::Half>(tmp2);
                tmp3.store(in_out_ptr0 + static_cast<int64_t>(x0), 16);
            }
            if(C10_UNLIKELY(x0 >= 16L))
            {
                auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
                auto tmp1 = c10::convert<float>(tmp0);
                auto tmp2 = float(tmp1 + tmp1);
                auto tmp3 = c10::convert<at::Half>(tmp2);
                in_out_ptr0[static_cast<int64_t>(x0)] = tmp3;
            }""")
        assert len(self.narrowings(kernel)) == 1

    def test_a_relu_of_half_is_half(self):
        kernel = cpp("""
            auto tmp0 = at::vec::Vectorized<at::Half>::loadu(in_ptr0 + static_cast<int64_t>(x0), 16);
            auto tmp1 = at::vec::convert<float>(tmp0);
            auto tmp2 = at::vec::clamp_min(tmp1, decltype(tmp1)(0));
            auto tmp3 = at::vec::convert<at::Half>(tmp2);
            tmp3.store(in_out_ptr0 + static_cast<int64_t>(x0), 16);""")
        assert self.narrowings(kernel) == ()


class TestTools:
    def test_without_a_cpp_compiler_it_says_what_brings_one(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)
        request = Compile(program=program("bias", "inspect"), variant="default", target="cpu", inputs="", dump_dir="")
        with pytest.raises(Unavailable, match=r"g\+\+, which is not installed") as refused:
            module("adapter").ADAPTER().compile(request, {}, tmp_path)
        assert refused.value.remedy == "apt-get install g++"


class TestAligning:
    """Which traced activity belongs to which launch."""

    def align(self, launches, names):
        found = module("observed").align(launches, [Activity(kind="kernel", name=name) for name in names])
        return None if found is None else [tuple(each.name for each in group) for group in found]

    def test_a_library_call_has_everything_before_the_next_generated_kernel(self):
        assert self.align([None, "bias"], ["memset", "nvjet", "bias"]) == [("memset", "nvjet"), ("bias",)]

    def test_calls_beside_each_other_have_one_each(self):
        assert self.align([None, None, "join"], ["nvjet", "nvjet", "join"]) == [("nvjet",), ("nvjet",), ("join",)]

    def test_where_nothing_tells_them_apart_nothing_is_said(self):
        assert self.align([None, None, "join"], ["nvjet", "split", "nvjet", "join"]) is None
        assert self.align([None, "bias"], ["nvjet"]) is None
        assert self.align(["bias"], ["bias", "more"]) is None


@pytest.fixture(scope="module")
def captures(tmp_path_factory) -> Captures:
    return Captures("inductor", tmp_path_factory.mktemp)


@pytest.mark.compilers
class TestOnTheCpu:
    STAGES = (
        "source", "dynamo", "fx_diagnostic", "fx", "fx_transformed", "ir_pre_fusion", "ir_post_fusion", "output_code",
        "kernel.cpp_fused__to_copy_add_0", "kernel.cpp_fused__to_copy_add_0.asm", "provenance",
    )  # fmt: skip

    def test_every_workload_keeps_the_contract(self, captures):
        judged = dict(captures.admissions("matrix_inspect"))
        assert {name: admission.reason for name, admission in judged.items() if not admission.admitted} == {}
        assert len(judged) == 20

    def test_weight_view_is_a_library_call_and_a_bias_kernel_with_every_stage(self, captures):
        record = captures.capture()
        assert record.outcome.status == "ok", record.outcome
        assert tuple(stage.stage for stage in record.stages) == self.STAGES
        assert all(0 < stage.text.bytes < 2_000_000 for stage in record.stages)
        assert [(launch.kind, launch.computes) for launch in record.plan.launches] == [
            ("library", ("w", "p")),
            ("kernel", ("y",)),
        ]
        (stored,) = (buffer for buffer in record.plan.buffers if buffer.role == "intermediate")
        assert (stored.bytes, stored.first, stored.last) == (8 * 24 * 2, 0, 1)

    def test_the_graph_is_the_one_of_the_article(self, captures):
        """One mm, two widening casts and a narrowing one; the transpose a view with strides (1, K)."""
        record = captures.capture()
        nodes = [node for node in record.capture.graph.nodes if node.role not in ("input", "output")]
        assert [(node.op, node.role, node.dtype, node.program_ops) for node in nodes] == [
            ("aten.permute.default", "view", "float16", ("w",)),
            ("aten.mm.default", "contraction", "float16", ("p",)),
            ("prims.convert_element_type.default", "cast", "float32", ("y",)),
            ("prims.convert_element_type.default", "cast", "float32", ("y",)),
            ("aten.add.Tensor", "epilogue", "float32", ("y",)),
            ("prims.convert_element_type.default", "cast", "float16", ("y",)),
        ]
        text = captures.text(record, record.capture.graph.stage).splitlines()
        for node in nodes:
            assert f"torch.ops.{node.op}(" in text[node.lines[0] - 1]
        subjects = {each.subject: each.result for each in record.capture.decisions}
        assert subjects["transpose w"] == "a view, strides (1, 16): no kernel, no copy"

    def test_links_point_at_lines_about_their_op(self, captures):
        record = captures.capture()
        words = {"w": "permute", "p": "mm", "y": "add"}
        for link in record.capture.correspondences:
            text = lines_of(captures.text(record, link.stage), link.lines)
            assert text, link
            if link.stage in ("fx", "fx_transformed"):
                assert words[link.program_op] in text
        linked = {(link.program_op, link.stage) for link in record.capture.correspondences}
        assert linked >= {("y", stage) for stage in self.STAGES if stage not in ("fx_diagnostic", "provenance")}

    def test_roundings_are_the_words_of_the_code(self, captures):
        record = captures.capture("residual_relu")
        assert [(each.boundary, each.launch, each.certain) for each in record.plan.roundings] == [
            ("p", 0, True), ("a", 1, True), ("c", 1, True),
        ]  # fmt: skip
        assert rounded_in(record) == {"p": "in activity 1", "a": "in activity 2", "c": "in activity 2"}
        kernel = captures.text(record, record.plan.launches[1].stage)
        for rounding in record.plan.roundings[1:]:
            assert rounding.evidence in kernel

    def test_addmm_is_rejected_for_the_boundary_it_breaks(self, captures):
        record = captures.capture(variant="addmm")
        assert (record.outcome.status, record.admission.boundary) == ("rejected", "projection not rounded")
        (launch,) = record.plan.launches
        assert (launch.name, launch.computes) == ("extern_kernels.addmm", ("w", "p", "y"))
        assert "p: no narrowing of its own in extern_kernels.addmm" in record.plan.notes
        assert "aten.mm.default" in captures.text(record, "fx")
        assert "aten.addmm.default" in captures.text(record, "fx_transformed")

    def test_an_observable_projection_keeps_its_buffer(self, captures):
        hidden, public = captures.capture(), captures.capture("public_projection")
        assert [len(each.plan.launches) for each in (hidden, public)] == [2, 2]
        reused = [[d.subject for d in each.capture.decisions if "memory of" in d.result] for each in (hidden, public)]
        assert reused == [["memory of buf1"], []]
        assert [buffer.role for buffer in public.plan.buffers if buffer.name.startswith("buf")] == ["output", "output"]

    def test_two_fresh_processes_agree_and_one_from_the_cache_agrees_with_them(self, captures, tmp_path):
        record = captures.capture()
        assert captures.again().fingerprint == record.fingerprint
        folder, archive = WorkerFolder(tmp_path / "worker"), tmp_path / "caches.tar"
        archive.write_bytes(captures.store.read(record.cache))
        restore(archive, folder)
        wanted = program("weight_view", "matrix_inspect")
        inputs = folder.arrays / "search.npz"
        save_arrays(inputs, build_fixtures(wanted, ("search",))[0].inputs)
        request = Compile(
            program=wanted,
            variant="default",
            target="cpu",
            inputs=str(inputs),
            dump_dir=str(folder.dump),
            capture=False,
        )
        with worker_for(captures.adapter, captures.environment, folder) as worker:
            worker.ask(Hello())
            compiled = worker.ask(request)
            assert worker.ask(GetPlan()).fingerprint == record.fingerprint
        assert compiled.phases["compile"] < record.phases["compile"] / 2

    @pytest.mark.parametrize(
        ("variant", "target", "status", "words"),
        [
            ("tuned", "cpu", "unsupported", "constant weights"),
            ("default", "sm_90", "unavailable", "needs the GPU it compiles for"),
        ],
    )
    def test_what_there_is_not_has_its_reason(self, captures, variant, target, status, words):
        outcome = captures.capture(variant=variant, target=target).outcome
        assert (outcome.status, words in outcome.reason) == (status, True)
