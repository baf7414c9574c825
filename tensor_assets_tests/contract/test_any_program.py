"""Programs that nobody wrote: whatever a manifest allows has fixtures, and legal executions of it are admitted."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensor_worker.program import Program

from tensor_assets.contract.admission import Run, admit
from tensor_assets.contract.explain import explain
from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.contract.manifest import Manifest, parse_manifest
from tensor_assets.contract.shapes import Shape
from tensor_assets.contract.violations import violations
from tensor_assets.contract.writing import manifest_text
from tensor_assets.errors import ManifestError
from tensor_assets_tests.contract.executions import ADDERS, executed

SIZES = {"any": Shape(name="any", sizes={"M": 6, "K": 8, "N": 5}, purpose="a test's own")}
DIMS = st.sampled_from([["M", "K"], ["K", "N"], ["N", "K"], ["K"], ["N"], ["M", "N"], ["M", 1]])
SAFE = ("transpose", "matmul", "add", "sub", "mul", "relu", "max", "sum", "mean", "square")
PARTIAL = ("exp", "div", "rsqrt")  # not finite everywhere
BINARY = ("matmul", "add", "sub", "mul", "div")


@st.composite
def manifests(draw: st.DrawFn, kinds: tuple[str, ...] = SAFE) -> Manifest:
    """A manifest of a few ops: proposals are kept where the reader takes them."""
    inputs = [
        {"name": f"i{index}", "shape": dims, "dtype": "f16"}
        for index, dims in enumerate(draw(st.lists(DIMS, min_size=2, max_size=4)))
    ]
    names, ops, best = [value["name"] for value in inputs], [], None
    for index in range(draw(st.integers(3, 24))):
        kind = draw(st.sampled_from(kinds))
        numbers = [0.5, 1.1, -3.0] if kind in ("add", "mul") else []
        first = draw(st.sampled_from(names))
        of = [first, draw(st.sampled_from([*names, *numbers]))] if kind in BINARY else [first]
        op = {"name": f"o{index}", "op": kind, "of": of, "dtype": draw(st.sampled_from(["f16", "f16", "f32"]))}
        found = _read(inputs, [*ops, op])
        if found is not None:
            ops, best = [*ops, op], found
            names.append(op["name"])
    return best or draw(manifests(kinds))


def _read(inputs: list[dict], ops: list[dict]) -> Manifest | None:
    """The manifest of the last op, with all that it depends on, if it is one."""
    needed, kept = {ops[-1]["name"]}, []
    for op in reversed(ops):
        if op["name"] in needed:
            kept.insert(0, op)
            needed.update(part for part in op["of"] if isinstance(part, str))
    document = {
        "workload": "any", "suite": "own", "question": "what becomes of it",
        "inputs": [value for value in inputs if value["name"] in needed], "ops": kept, "outputs": [ops[-1]["name"]],
    }  # fmt: skip
    try:
        return parse_manifest(json.dumps(document), "any.json")
    except ManifestError:
        return None


def program_of(manifest: Manifest) -> Program:
    return manifest.program("any", SIZES)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(manifest=manifests(), adder=st.sampled_from(sorted(ADDERS)))
def test_legal_executions_of_any_program_are_admitted(manifest, adder):
    program = program_of(manifest)
    built = build_fixtures(program)
    assert {"search", "random", "zeros"} <= {fixture.name for fixture in built}
    found = admit(program, [Run(fixture, executed(program, fixture.inputs, ADDERS[adder])) for fixture in built])
    assert found.admitted, (manifest_text(manifest), found.reason)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(manifest=manifests(SAFE + PARTIAL), adder=st.sampled_from(sorted(ADDERS)))
def test_legal_executions_of_partial_functions_are_admitted(manifest, adder):
    """Where results cannot be finite a fixture is left out; what is left is judged as ever."""
    program = program_of(manifest)
    runs = [Run(fixture, executed(program, fixture.inputs, ADDERS[adder])) for fixture in build_fixtures(program)]
    found = admit(program, runs)
    assert found.admitted is (True if runs else None), (manifest_text(manifest), found.reason)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(manifest=manifests())
def test_violations_of_any_program_can_be_judged(manifest):
    program = program_of(manifest)
    built = build_fixtures(program)
    for violation in violations(program)[:4]:
        found = admit(program, [Run(fixture, violation.outputs(program, fixture.inputs)) for fixture in built])
        assert found.admitted is not None


@given(manifest=manifests())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_manifest_is_written_read_and_explained(manifest):
    again = parse_manifest(manifest_text(manifest), "any.json")
    assert again == manifest
    assert "any (own): what becomes of it" in explain(again, SIZES)
