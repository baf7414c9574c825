"""A capture of Luminal that is not what it says is refused with one sentence."""

from __future__ import annotations

import json

import pytest

from tensor_assets_tests.adapters.luminal_bundles import lines, module, selected_plan, serialized


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
