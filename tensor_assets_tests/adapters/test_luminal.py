"""Luminal is honest about what is missing; a capture made elsewhere is read strictly, or refused with one sentence.

The e-graph is real: egglog saturates a program of this project's own (a reduction, the matmul it is recognized as, its
transposed product, two library calls).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import sys
import types
from pathlib import Path

import msgspec
import pytest
from egglog.bindings import EGraph
from tensor_worker.adapter import Unavailable
from tensor_worker.fingerprint import fingerprint
from tensor_worker.messages import Compile, Hello

from tensor_assets.campaign.imported import import_capture
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import BundleRefused, SettingsError
from tensor_assets.records import CaptureRecord
from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets_tests.workers.programs import WEIGHT_VIEW

FOLDER = Path(__file__).parents[2] / "adapters" / "luminal"
# A named worker brings its own everything; nothing of an environment is used.
ENVIRONMENT = Environment(
    python=Path("python"), hash="", lock_sha256="", python_version="", freeze={}, version="", toolchain={}
)

# The logical program of weight_view at 8 × 16 × 24, widened, with the rules that recognize its contraction.
RULES = """
(datatype DType (F16) (F32))
(datatype Tensor
  (Input String) (Cast Tensor DType) (Transpose Tensor)
  (BroadcastRows Tensor i64) (BroadcastColumns Tensor i64)
  (Mul Tensor Tensor) (ReduceSum Tensor i64) (MatMul Tensor Tensor) (Add Tensor Tensor)
  (LibraryRowMajor Tensor Tensor) (LibraryColumnMajor Tensor Tensor))
(rewrite (ReduceSum (Mul (BroadcastColumns a n) (BroadcastRows b m)) 0) (MatMul a b))
(rewrite (MatMul a b) (Transpose (MatMul (Transpose b) (Transpose a))))
(rewrite (Transpose (Transpose a)) a)
(rewrite (MatMul a b) (LibraryRowMajor a b))
(rewrite (MatMul a (Transpose b)) (LibraryColumnMajor a b))
"""
WIDENED = """\
; y = x @ wt.T + b, the projection rounded before the bias
(let v0 (Input "x"))
(let v1 (Input "wt"))
(let v2 (Input "b"))
(let v3 (Transpose v1))
(let v4 (Cast v0 (F32)))
(let v5 (Cast v3 (F32)))
(let v6 (BroadcastColumns v4 24))
(let v7 (BroadcastRows v5 8))
(let v8 (Mul v6 v7))
(let v9 (ReduceSum v8 0))
(let v10 (Cast v9 (F16)))
(let v11 (BroadcastRows v2 8))
(let v12 (Add v10 v11))
"""
NATIVE = WIDENED.replace("(Cast v0 (F32))", "(BroadcastRows v0 1)").replace("(Cast v3 (F32))", "(BroadcastRows v3 1)")
ROUND = 'extern "C" __global__ void k(const float* a, __half* out) { out[threadIdx.x] = (__half)a[threadIdx.x]; }\n'
BIAS = 'extern "C" __global__ void k(const __half* p, const __half* b, __half* out) { out[0] = p[0] + b[0]; }\n'


def module(name: str) -> types.ModuleType:
    """A module of the adapter folder, loaded as a package of its own, so that no other adapter's stands in its way."""
    package = sys.modules.setdefault("luminal_adapter", types.ModuleType("luminal_adapter"))
    package.__path__ = [str(FOLDER)]
    return importlib.import_module(f"luminal_adapter.{name}")


@functools.cache
def serialized(program: str = WIDENED, **limits: int) -> bytes:
    egraph = EGraph()
    egraph.run_program(*egraph.parse_program(RULES + program + "(run 4)"))
    return egraph.serialize([], **limits).to_json().encode()


def write_bundle(folder: Path, **changes: object) -> Path:
    """A good bundle, with ``changes`` to its manifest or, for names with a dot or slash, to its files."""
    files: dict[str, bytes] = {
        "logical.egg": WIDENED.encode(),
        "egraph.json": serialized(),
        "candidates.jsonl": lines(
            {"name": "plan-0", "chosen": True, "parameters": {"launches": 3}, "measured_ns": 31000.0},
            {"name": "plan-1", "parameters": {"launches": 4}, "measured_ns": 40500.0, "refused": "slower"},
            {"name": "plan-2", "refused": "intermediate of 4,294,967,296 bytes is over the cap"},
        ),
        "plan.json": json.dumps(selected_plan()).encode(),
        "kernels/round.cu": ROUND.encode(),
        "kernels/bias.cu": BIAS.encode(),
    }
    files |= {name: data for name, data in changes.items() if isinstance(data, bytes)}
    manifest = {
        "format": "luminal-capture",
        "version": 1,
        "luminal": "77d3060f01dc9d6f649687cf16a651e3f288aa0c",
        "egglog": "13.2.0",
        "runtime": "cuda_lite",
        "device": {"name": "NVIDIA H100 80GB HBM3", "driver": "610.57.04"},
        "variant": "default",
        "cohort": "widened",
        "seed": 0,
        "program": msgspec.to_builtins(WEIGHT_VIEW),
        "lets": {"v0": "x", "v1": "wt", "v2": "b", "v3": "w", "v8": "p", "v9": "p", "v10": "p", "v12": "y"},
        "options": {"generations": 2, "offspring": 4},
    }
    manifest |= {"files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}}
    manifest |= {name: value for name, value in changes.items() if not isinstance(value, bytes)}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def selected_plan(**changes: object) -> dict[str, object]:
    plan = {
        "steps": [
            {"kind": "library", "name": "sgemm_128x128_tn", "grid": [1, 1, 1], "block": [256, 1, 1], "computes": ["p"]},
            {"kind": "kernel", "name": "k", "source": "kernels/round.cu", "computes": ["p"], "grid": [1, 1, 1]},
            {"kind": "kernel", "name": "k", "source": "kernels/bias.cu", "computes": ["y"], "grid": [1, 1, 1]},
        ],
        "buffers": [
            {"name": "projection, FP32", "role": "intermediate", "bytes": 768, "first": 0, "last": 1},
            {"name": "projection, FP16", "role": "intermediate", "bytes": 384, "first": 1, "last": 2},
        ],
        "roundings": [{"boundary": "p", "launch": 1, "evidence": "(__half)a[i]"}],
    }
    return plan | changes


@pytest.fixture
def read(tmp_path):
    return lambda **changes: module("bundle").read_bundle(write_bundle(tmp_path / "bundle", **changes))


@pytest.fixture
def refused(read):
    """The sentence with which a changed bundle is refused."""

    def refused(**changes: object) -> str:
        with pytest.raises(module("errors").BundleError) as caught:
            read(**changes)
        return str(caught.value)

    return refused


class TestWithoutLuminal:
    def test_it_says_what_is_missing_and_what_to_do(self, monkeypatch):
        monkeypatch.delenv("TENSOR_ASSETS_LUMINAL_BUNDLE", raising=False)
        with pytest.raises(Unavailable, match="no package index carries today's Luminal") as caught:
            module("adapter").ADAPTER().greeting()
        assert "TENSOR_ASSETS_LUMINAL_WORKER" in caught.value.remedy
        assert module("adapter").PINNED_REVISION in caught.value.remedy
        assert "TENSOR_ASSETS_LUMINAL_BUNDLE" in caught.value.remedy

    def test_a_bad_bundle_is_unavailable_with_its_reason(self, monkeypatch, tmp_path):
        write_bundle(tmp_path, seed="zero")
        monkeypatch.setenv("TENSOR_ASSETS_LUMINAL_BUNDLE", str(tmp_path))
        with pytest.raises(Unavailable, match=r"refused: manifest.json: Expected `int`, got `str` - at `\$.seed`"):
            module("adapter").ADAPTER().greeting()


class TestANamedWorker:
    """An executable of the user's own, in any language: here a shell script that greets and says goodbye."""

    @pytest.fixture
    def greet(self, tmp_path):
        def greet(version: str):
            greeting = {"type": "hello", "protocol": 1, "compiler": "luminal", "version": version, "versions": {}}
            greeting |= {"toolchain": {}, "variants": []}
            script = tmp_path / "luminal-worker"
            script.write_text(
                f"#!/bin/sh\nread request\necho '{json.dumps(greeting)}'\nread request\necho '{{\"type\":\"bye\"}}'\n"
            )
            script.chmod(0o755)
            adapter = discover(FOLDER.parent)["luminal"]
            named = {"TENSOR_ASSETS_LUMINAL_WORKER": str(script), "PATH": os.environ["PATH"]}
            with worker_for(adapter, ENVIRONMENT, WorkerFolder(tmp_path / "worker"), environ=named) as worker:
                return worker.ask(Hello())

        return greet

    def test_it_serves_in_the_adapters_place(self, greet):
        assert greet(module("adapter").PINNED_REVISION).compiler == "luminal"

    def test_another_revision_is_refused(self, greet):
        with pytest.raises(WorkerFailed) as failed:
            greet("0123456789abcdef0123456789abcdef01234567")
        assert failed.value.outcome.status == "unavailable"
        assert "was built from 0123456789abcdef" in failed.value.outcome.reason
        assert failed.value.outcome.remedy == f"build it from {module('adapter').PINNED_REVISION}"


class TestImport:
    def test_one_eclass_holds_every_form_of_the_contraction(self, read):
        egraph = read().egraph
        members = [egraph.nodes[name].op for name in egraph.members[egraph.named["v9"]]]
        assert sorted(members) == ["LibraryColumnMajor", "LibraryRowMajor", "MatMul", "ReduceSum", "Transpose"]

    def test_the_program_reaches_all_it_reads(self, read):
        egraph = read().egraph
        reached = egraph.reachable([egraph.named["v12"]])
        assert {egraph.named[name] for name in ("v0", "v1", "v2", "v3", "v8")} <= reached
        assert egraph.reachable([egraph.named["v0"]]) == {egraph.named["v0"], egraph.nodes["primitive-String-0"].eclass}

    def test_the_graph_is_the_logical_program_line_by_line(self, read, tmp_path):
        graph = module("imported").capture_of(read(), tmp_path).graph
        nodes = {node.id: node for node in graph.nodes}
        text = (tmp_path / "stages/logical.egg").read_text().splitlines()
        assert all(f"(let {node.id} ({node.op} " in text[node.lines[0] - 1] for node in graph.nodes)
        assert [nodes[name].role for name in ("v0", "v3", "v4", "v8", "v9", "v12")] == [
            "input", "view", "cast", "epilogue", "reduction", "epilogue",
        ]  # fmt: skip
        assert (nodes["v10"].program_ops, nodes["v10"].shape, nodes["v10"].dtype) == (("p",), (8, 24), "f16")
        assert nodes["v9"].shape == ()  # the FP32 sum is not yet the program's p
        assert {(edge.source, edge.target) for edge in graph.edges if edge.target == "v12"} == {
            ("v10", "v12"),
            ("v11", "v12"),
        }

    def test_the_plan_hashes_what_it_runs(self, read):
        plan = module("imported").plan_of(read())
        assert [(launch.kind, launch.computes) for launch in plan.launches] == [
            ("library", ("p",)), ("kernel", ("p",)), ("kernel", ("y",)),
        ]  # fmt: skip
        assert plan.launches[0].code_sha256 == ""  # a library's code is in nobody's hands
        assert plan.launches[1].code_sha256 != plan.launches[2].code_sha256
        assert any("not run here" in note for note in plan.notes)

    def test_the_fingerprint_follows_the_sources_alone(self, read, tmp_path):
        plan_of = module("imported").plan_of
        first = fingerprint(plan_of(read()))
        assert fingerprint(plan_of(read(seed=7))) == first
        commented = b"// made at 2026-10-18\n" + ROUND.encode()
        assert fingerprint(plan_of(read(**{"kernels/round.cu": commented}))) == first
        assert (
            fingerprint(plan_of(read(**{"kernels/round.cu": ROUND.replace("0]", "1]").encode() + b"int more;"})))
            != first
        )

    def test_candidates_keep_why_they_were_refused(self, read, tmp_path):
        search = module("imported").capture_of(read(), tmp_path).search
        assert [(candidate.name, candidate.chosen, candidate.measured_ns) for candidate in search.candidates] == [
            ("plan-0", True, 31000.0), ("plan-1", False, 40500.0), ("plan-2", False, None),
        ]  # fmt: skip
        assert search.tried == 2
        assert "over the cap" in search.candidates[2].refused

    def test_the_ledger_names_the_alternatives(self, read, tmp_path):
        decisions = module("imported").capture_of(read(), tmp_path).decisions
        contraction = next(decision for decision in decisions if decision.subject == "expression of v9")
        assert contraction.result.startswith(
            "5 equivalent expressions kept: LibraryColumnMajor, LibraryRowMajor, MatMul"
        )

    def test_the_worker_shows_it_and_runs_nothing(self, monkeypatch, tmp_path):
        monkeypatch.setenv("TENSOR_ASSETS_LUMINAL_BUNDLE", str(write_bundle(tmp_path / "bundle")))
        adapter = module("adapter").ADAPTER()
        assert [variant.name for variant in adapter.greeting().variants] == ["default-widened"]
        request = Compile(
            program=WEIGHT_VIEW, variant="default-widened", target="cuda", inputs="", dump_dir=str(tmp_path / "dump")
        )
        imported = adapter.compile(request, {}, tmp_path / "dump")
        assert len(imported.plan().launches) == 3
        assert {stage.name for stage in imported.capture().stages} >= {"logical", "egraph", "plan", "kernel-round"}
        with pytest.raises(Unavailable, match="it was not run here"):
            imported.upload({})
        other = msgspec.structs.replace(request, variant="default")
        with pytest.raises(Unavailable, match="variant default-widened, not default"):
            adapter.compile(other, {}, tmp_path / "dump")


@pytest.mark.compilers
class TestFiled:
    """Through the adapter's worker in its own environment, into a store."""

    @pytest.fixture
    def space(self, tmp_path):
        return Workspace(msgspec.structs.replace(load_settings(), store=str(tmp_path / "store")))

    def test_an_import_is_a_record_like_ours_with_its_own_key(self, space, tmp_path):
        folder = write_bundle(tmp_path / "bundle")
        stored = import_capture(space, "luminal", folder)
        record = space.store.latest(CaptureRecord, stored.record.key)[1]
        assert (record.key.workload, record.key.variant, record.key.target) == (
            "weight_view", "default-widened", "NVIDIA H100 80GB HBM3",
        )  # fmt: skip
        assert record.key.environment == hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
        assert record.outcome.status == "unavailable"
        assert "was not run here" in record.outcome.reason
        assert record.admission is None
        assert [launch.kind for launch in record.plan.launches] == ["library", "kernel", "kernel"]
        egraph = next(each.text for each in record.stages if each.stage == "egraph")
        assert space.store.read(egraph) == serialized()

    def test_a_patched_build_is_filed_apart(self, space, tmp_path):
        patch = b"--- a/site.egg\n+++ b/site.egg\n"
        declared = {
            "patch.diff": patch,
            "patch": {"sha256": hashlib.sha256(patch).hexdigest(), "summary": "FP16 operands"},
        }
        plain = import_capture(space, "luminal", write_bundle(tmp_path / "plain")).record.key
        patched = import_capture(space, "luminal", write_bundle(tmp_path / "patched", **declared)).record.key
        assert patched.patch == hashlib.sha256(patch).hexdigest()
        assert (plain.patch, plain.variant == patched.variant) == ("", False)

    def test_a_refused_bundle_files_nothing(self, space, tmp_path):
        with pytest.raises(
            BundleRefused, match=r"the capture bundle is refused: manifest\.json: Object contains unknown field"
        ):
            import_capture(space, "luminal", write_bundle(tmp_path / "bundle", speed=1))
        assert list(space.store.records()) == []

    def test_a_compiler_that_imports_nothing_says_so(self, space, tmp_path):
        with pytest.raises(SettingsError, match="max reads no captures made elsewhere"):
            import_capture(space, "max", tmp_path)


class TestNeverPooled:
    def test_cohort_and_patch_are_in_the_variant(self, read):
        patch = b"--- a/cublaslt_marker_site.egg\n+++ b/cublaslt_marker_site.egg\n"
        digest = hashlib.sha256(patch).hexdigest()
        native = {"cohort": "native", "logical.egg": NATIVE.encode(), "egraph.json": serialized(NATIVE)}
        assert read(**native).variant == "default"
        assert read().variant == "default-widened"
        declared = {"patch.diff": patch, "patch": {"sha256": digest, "summary": "FP16 operands for cuBLASLt"}}
        assert read(**declared).variant == f"default-widened-patch-{digest[:12]}"

    def test_the_cohort_is_what_the_program_shows(self, refused):
        assert refused(cohort="native") == "logical.egg at line 6: v4 widens an operand, but the cohort is native"
        assert (
            refused(**{"logical.egg": NATIVE.encode()})
            == "logical.egg: nothing is cast to F32, but the cohort is widened"
        )

    def test_a_patch_is_declared_by_the_hash_of_its_file(self, refused):
        assert "no patch is declared" in refused(**{"patch.diff": b"+1"})
        assert "not the patch.diff of the bundle" in refused(patch={"sha256": "0" * 64, "summary": "none"})


class TestRefused:
    def test_a_changed_file(self, read, refused, tmp_path):
        read()
        (tmp_path / "bundle/kernels/bias.cu").write_text("changed")
        with pytest.raises(
            module("errors").BundleError, match=r"kernels/bias.cu: its sha256 is \w{12}…, the manifest says"
        ):
            module("bundle").read_bundle(tmp_path / "bundle")

    def test_a_file_that_nobody_lists(self, read, tmp_path):
        read()
        (tmp_path / "bundle/kernels/extra.cu").write_text("")
        with pytest.raises(module("errors").BundleError, match=r"kernels/extra\.cu: the manifest does not list it"):
            module("bundle").read_bundle(tmp_path / "bundle")

    @pytest.mark.parametrize(
        "name", ["../outside.cu", "/etc/passwd", "kernels/../../x.cu", "kernels/deep/x.cu", "x.so"]
    )
    def test_a_name_that_is_no_file_of_a_bundle(self, refused, name):
        assert refused(files={name: "0" * 64}) == f"manifest.json at files: {name!r} is no file of a bundle"

    def test_a_link_out_of_the_bundle(self, read, tmp_path):
        read()
        path = tmp_path / "bundle/kernels/bias.cu"
        path.rename(tmp_path / "bias.cu")
        path.symlink_to(tmp_path / "bias.cu")
        with pytest.raises(module("errors").BundleError, match=r"kernels/bias\.cu: the bundle has no such file"):
            module("bundle").read_bundle(tmp_path / "bundle")

    def test_a_missing_part(self, refused):
        assert refused(files={"logical.egg": "0" * 64}) == "manifest.json at files: egraph.json is not listed"

    def test_a_field_nobody_knows(self, refused):
        assert "Object contains unknown field `speed`" in refused(speed=1)

    def test_a_child_that_is_no_node(self, refused):
        egraph = json.loads(serialized())
        egraph["nodes"]["function-0-Add"]["children"][0] = "function-99-Cast"
        changed = refused(**{"egraph.json": json.dumps(egraph).encode()})
        assert changed == "egraph.json at nodes/function-0-Add: child 'function-99-Cast' is no node of the e-graph"

    def test_an_eclass_without_data(self, refused):
        egraph = json.loads(serialized())
        egraph["class_data"] = {}
        assert "class_data has nothing about e-class" in refused(**{"egraph.json": json.dumps(egraph).encode()})

    @pytest.mark.parametrize("cost", [-1.0, "1", None])
    def test_a_cost_that_is_none(self, refused, cost):
        egraph = json.loads(serialized())
        egraph["nodes"]["function-0-Add"]["cost"] = cost
        assert refused(**{"egraph.json": json.dumps(egraph).encode()}).startswith("egraph.json")

    def test_an_incomplete_egraph_that_does_not_say_so(self, read, refused):
        cut = {"egraph.json": serialized(max_calls_per_function=2, max_functions=5)}
        egraph = module("egraph").read_egraph(cut["egraph.json"])
        if egraph.omitted:  # egglog leaves marks only where it cut below a node that it kept
            assert "leaves things out" in refused(**cut)
        assert read(**cut, truncation={"egraph": "5 functions of 11"}).manifest.truncation.egraph == "5 functions of 11"

    def test_a_mark_of_omission_must_be_declared(self, read, refused):
        egraph = json.loads(serialized())
        egraph["nodes"]["omitted"] = {
            "op": "[...]",
            "children": [],
            "eclass": "Tensor-0",
            "cost": 1.0,
            "subsumed": False,
        }
        changed = {"egraph.json": json.dumps(egraph).encode()}
        assert "leaves things out (omitted), but nothing says so" in refused(**changed)
        assert read(**changed, truncation={"egraph": "one node"}).egraph.omitted == ("omitted",)

    @pytest.mark.parametrize(
        ("candidates", "sentence"),
        [
            ([{"name": "a", "refused": "slower"}], "exactly one candidate is the chosen one"),
            ([{"name": "a", "chosen": True}, {"name": "b", "chosen": True}], "exactly one candidate is the chosen one"),
            ([{"name": "a", "chosen": True}, {"name": "a", "refused": "x"}], "at a: two candidates have this name"),
            ([{"name": "a", "chosen": True, "refused": "slower"}], "at a: it is both chosen and refused"),
            ([{"name": "a", "chosen": True}, {"name": "b"}], "at b: not chosen, and neither a reason nor a time"),
            ([{"name": "a", "chosen": True, "measured_ns": -1.0}], "at line 1: Expected `float` >= 0.0"),
        ],
    )
    def test_candidates_that_contradict_themselves(self, refused, candidates, sentence):
        assert sentence in refused(**{"candidates.jsonl": lines(*candidates)})

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"steps": []}, "Expected `array` of length >= 1"),
            ({"roundings": [{"boundary": "q", "launch": 0, "evidence": "x"}]}, "'q' is no op of the program"),
            ({"roundings": [{"boundary": "p", "launch": 3, "evidence": "x"}]}, "there is no step 3"),
            (
                {"buffers": [{"name": "t", "role": "intermediate", "bytes": 1, "first": 0, "last": 9}]},
                "there is no step 9",
            ),
        ],
    )
    def test_a_plan_that_does_not_fit_its_program(self, refused, changes, sentence):
        assert sentence in refused(**{"plan.json": json.dumps(selected_plan(**changes)).encode()})

    def test_a_kernel_without_source_and_a_source_without_kernel(self, refused):
        steps = selected_plan()["steps"]
        sourceless = [steps[0], steps[1] | {"source": ""}, steps[2]]
        assert "a generated kernel has a source" in refused(
            **{"plan.json": json.dumps(selected_plan(steps=sourceless)).encode()}
        )
        unused = [steps[0], steps[2]]
        changed = selected_plan(steps=unused, buffers=[], roundings=[])
        assert (
            refused(**{"plan.json": json.dumps(changed).encode()})
            == "plan.json at steps: no step uses kernels/round.cu"
        )

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", "it binds nothing"),
            ("(let v0 (Input", "at line 1: the command is not closed"),
            ('(let v0 (Input "x"))\n(let v0 (Input "y"))', "at line 2: v0 is bound twice"),
            ("let v0", "at line 1: 'let' stands outside of any command"),
        ],
    )
    def test_a_logical_program_that_is_none(self, refused, text, sentence):
        assert sentence in refused(**{"logical.egg": text.encode()})

    def test_a_let_or_value_that_is_none(self, refused):
        assert refused(lets={"v99": "p"}) == "manifest.json at lets/v99: logical.egg binds no 'v99'"
        assert refused(lets={"v9": "q"}) == "manifest.json at lets/v9: 'q' is no value of weight_view"


def test_a_semicolon_inside_a_string_is_no_comment():
    (binding,) = module("logical").read_logical('(let v0 (Input "a;b")) ; a comment')
    assert binding.literals == ('"a;b"',)
