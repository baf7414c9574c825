"""Luminal is honest about what is missing; a capture made elsewhere is read strictly."""

from __future__ import annotations

import hashlib
import json
import os

import msgspec
import pytest
from tensor_worker.adapter import Unavailable
from tensor_worker.fingerprint import fingerprint
from tensor_worker.messages import Compile, Hello

from tensor_assets.campaign.imported import import_capture
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import BundleRefused, SettingsError
from tensor_assets.records import CaptureRecord
from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets_tests.adapters.luminal_bundles import (
    ENVIRONMENT,
    FOLDER,
    NATIVE,
    ROUND,
    module,
    serialized,
    write_bundle,
)
from tensor_assets_tests.workers.programs import WEIGHT_VIEW


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


def test_a_semicolon_inside_a_string_is_no_comment():
    (binding,) = module("logical").read_logical('(let v0 (Input "a;b")) ; a comment')
    assert binding.literals == ('"a;b"',)
