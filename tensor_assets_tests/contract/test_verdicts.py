"""Verdicts: what is wrong is rejected by name, what is right is admitted, and each kind says what it should."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tensor_worker.program import Program

from tensor_assets.contract.admission import Run, admit, judge
from tensor_assets.contract.fixtures import BuiltFixture, build_fixtures, fixture_of
from tensor_assets.contract.violations import violations
from tensor_assets.records import Verdict
from tensor_assets_tests.contract.executions import ADDERS, executed
from tensor_assets_tests.contract.workloads import NAMES, fixtures, manifests, program, shapes, sized


def kinds(verdicts: tuple[Verdict, ...]) -> dict[str, bool]:
    return {verdict.kind: verdict.passed for verdict in verdicts}


def form(verdicts: tuple[Verdict, ...]) -> str:
    return next((verdict.reason for verdict in verdicts if verdict.kind == "form" and not verdict.passed), "")


def judged(outputs: dict[str, object], name: str = "exact-0", workload: str = "bias") -> tuple[Verdict, ...]:
    return judge(program(workload), fixtures(workload)[name], outputs)


def right(name: str = "exact-0", workload: str = "bias") -> np.ndarray:
    return next(iter(fixtures(workload)[name].reference.values())).copy()


def test_the_reference_passes_all_three():
    assert kinds(judged({"y": right()})) == {"form": True, "exact": True, "tolerance": True}
    found = judged({"y": right("random")}, "random")
    assert kinds(found) == {"form": True, "interval": True, "tolerance": True}
    interval = next(verdict for verdict in found if verdict.kind == "interval")
    assert interval.decided_share is not None
    assert 0 < interval.decided_share < 1
    assert interval.median_width_ulp is not None


def test_one_bit_is_enough():
    output = right()
    output[3, 5] = np.nextafter(output[3, 5], np.float16(np.inf))
    exact = next(verdict for verdict in judged({"y": output}) if verdict.kind == "exact")
    assert not exact.passed
    assert (exact.mismatches, exact.elements) == (1, output.size)
    assert exact.worst > 0


def test_minus_zero_is_zero_unless_the_manifest_says_otherwise():
    small = sized("gemm", 1, 1, 1)
    zeros = {"x": np.zeros((1, 1), np.float16), "w": np.ones((1, 1), np.float16)}
    output = {"p": np.full((1, 1), -0.0, np.float16)}
    assert kinds(judge(small, fixture_of(small, "z", zeros), output))["exact"]
    strict = msgspec.structs.replace(small, signed_zero=True)
    assert not kinds(judge(strict, fixture_of(strict, "z", zeros), output))["exact"]
    assert kinds(judge(strict, fixture_of(strict, "z", zeros), {"p": np.zeros((1, 1), np.float16)}))["exact"]


FORMS = [
    (lambda y: {}, "missing output"),
    (lambda y: {"y": None}, "no array but NoneType"),
    (lambda y: {"y": y.tolist()}, "no array but list"),
    (lambda y: {"y": y.astype(np.float32)}, "wrong dtype float32"),
    (lambda y: {"y": y.astype(">f2")}, "wrong dtype >f2"),
    (lambda y: {"y": y.view(np.int16)}, "wrong dtype int16"),
    (lambda y: {"y": y.astype(object)}, "wrong dtype object"),
    (lambda y: {"y": np.ma.masked_array(y)}, "no array but MaskedArray"),
    (lambda y: {"y": y[:-1]}, "wrong shape [7, 24]"),
    (lambda y: {"y": y.T}, "wrong shape [24, 8]"),
    (lambda y: {"y": y[:0]}, "wrong shape [0, 24]"),
    (lambda y: {"y": y.ravel()}, "wrong shape [192]"),
    (lambda y: {"y": y, "extra": y}, "unexpected output"),
    (lambda y: {"y": np.where(np.arange(24) > 20, np.float16(np.nan), y)}, "unwritten output: 24 of 192 elements"),
    (lambda y: {"y": np.where(y == y.max(), np.float16(np.inf), y)}, "infinite or NaN"),
    (lambda y: {"y": np.where(y == y.max(), -np.float16(np.nan), y)}, "NaN: "),
]


@pytest.mark.parametrize(("spoil", "reason"), FORMS, ids=[reason for _, reason in FORMS])
def test_wrong_forms_have_names(spoil, reason):
    outputs = spoil(right())
    assert form(judged(outputs)).startswith(reason)
    found = admit(program("bias"), [(fixtures("bias")["exact-0"], outputs)])
    assert found.admitted is False
    assert reason in found.reason


def test_mutated_inputs_are_named():
    fixture = fixtures("bias")["exact-0"]
    after = {name: array.copy() for name, array in fixture.inputs.items()}
    after["w"][0, 0] += 1
    assert form(judge(program("bias"), fixture, {"y": right()}, after)) == "mutated input"
    assert form(judge(program("bias"), fixture, {"y": right()}, dict(fixture.inputs))) == ""
    assert form(judge(program("bias"), fixture, {"y": right()}, {})) == "mutated input"
    assert form(judge(program("bias"), fixture, {"y": right()}, {**after, "w": "?"})) == "mutated input"


def every_right(workload: str) -> list[tuple[BuiltFixture, dict[str, np.ndarray]]]:
    return [(fixture, dict(fixture.reference)) for fixture in fixtures(workload).values()]


@pytest.mark.parametrize("workload", NAMES)
def test_the_right_outputs_are_admitted(workload):
    found = admit(program(workload), every_right(workload))
    assert (found.admitted, found.reason, found.boundary) == (True, "", "")


@pytest.mark.parametrize("workload", NAMES)
@pytest.mark.parametrize("adder", ["pairwise", "groups of 8, truncating"])
def test_legal_executions_are_admitted(workload, adder):
    runs = [Run(f, executed(program(workload), f.inputs, ADDERS[adder])) for f in fixtures(workload).values()]
    assert admit(program(workload), runs).admitted


def same_answers(whole: Program, runs: list[Run]) -> tuple[str, ...]:
    """Names of the violations that return exactly this on every fixture: no test of answers tells them apart."""
    return tuple(
        violation.name
        for violation in violations(whole)
        if all(
            np.array_equal(array, run.outputs[name], equal_nan=True)
            for run in runs
            if run.fixture.exact
            for name, array in violation.outputs(whole, run.fixture.inputs).items()
        )
    )


@pytest.mark.parametrize("workload", NAMES)
def test_every_violation_is_rejected_and_named(workload):
    whole = program(workload)
    for violation in violations(whole):
        runs = [Run(fixture, violation.outputs(whole, fixture.inputs)) for fixture in fixtures(workload).values()]
        found = admit(whole, runs)
        assert found.admitted is False, violation.title
        assert found.boundary.startswith(same_answers(whole, runs)), (violation.title, found.boundary)
        assert found.boundary_share == 1.0


@pytest.mark.parametrize("seed", [3, 6, 7, 16])
@pytest.mark.parametrize("lean", [-7.0, 7.0])
def test_a_violation_is_named_whichever_way_its_fp32_values_fall(seed, lean):
    """Compilers sum and take roots in their own way: what a wrong norm returns may differ at a tie, and so a row of p.

    With these seeds one does.
    """
    whole = program("norm_projection", "inspect")
    forgotten = next(violation for violation in violations(whole) if violation.name == "number left out")
    built = build_fixtures(whole, seed=seed)
    found = admit(whole, [Run(fixture, forgotten.outputs(whole, fixture.inputs, lean)) for fixture in built])
    assert (found.admitted, found.boundary) == (False, "number left out")


def test_nothing_run_is_not_admitted():
    assert admit(program("bias"), []).admitted is None


def test_an_interval_alone_says_so():
    fixture = fixtures("bias")["random"]
    found = admit(program("bias"), [(fixture, dict(fixture.reference))])
    assert found.admitted
    assert "no exact fixture" in found.reason


def midpoint() -> tuple[BuiltFixture, dict[str, np.ndarray]]:
    """The documents' join: FP32 lands on the midpoint of two FP16 values, 2**-30 above the exact sum.

    p is 1967.5·2**-12 less 2**-30: exactly, it rounds to 1967·2**-12; an FP32 sum is the midpoint itself, a tie that
    goes to 1968·2**-12. The other projection, -2047·2**-12, leaves -0.01953125 or -0.019287109375.
    """
    x = np.array([[1.0, 2.0**-13, 2.0**-15, 0.0]], np.float16)
    w = np.array([[1967 * 2.0**-12], [1.0], [-(2.0**-15)], [0.0]], np.float16)
    v = np.array([[-2047 * 2.0**-12], [0.0], [0.0], [0.0]], np.float16)
    small = sized("projection_join", 1, 4, 1)
    return fixture_of(small, "midpoint", {"x": x, "w": w, "v": v}), executed(
        small, {"x": x, "w": w, "v": v}, ADDERS["sequential"]
    )


def test_the_documents_midpoint_example():
    fixture, outputs = midpoint()
    small = sized("projection_join", 1, 4, 1)
    assert fixture.reference["y"][0, 0] == -0.01953125
    assert outputs["y"][0, 0] == -0.019287109375
    difference = abs(float(outputs["y"][0, 0]) - float(fixture.reference["y"][0, 0]))
    allowed = 2e-4 + 2e-3 * abs(float(fixture.reference["y"][0, 0]))
    assert difference == 0.000244140625
    assert allowed == pytest.approx(0.0002390625)
    verdicts = {verdict.kind: verdict for verdict in judge(small, fixture, outputs)}
    assert verdicts["interval"].passed
    assert not verdicts["tolerance"].passed
    assert admit(small, [Run(fixture, outputs)]).admitted


def test_a_right_join_is_admitted_while_the_fixed_tolerance_says_no():
    """An FP32 machine on random data: bits and intervals are right, the documents' check is not met everywhere."""
    whole = program("projection_join", "screen")
    runs = [Run(f, executed(whole, f.inputs, ADDERS["split-K"])) for f in build_fixtures(whole, ["exact-0", "random"])]
    fixture, outputs = midpoint()
    found = admit(whole, runs)
    assert found.admitted
    assert {verdict.kind for verdict in found.verdicts} == {"form", "exact", "interval", "tolerance"}
    assert fixture.low is not None
    assert fixture.low["y"] <= outputs["y"]


def test_the_fixed_tolerance_hardly_sees_an_unrounded_projection_that_exact_bits_reject():
    whole = program("weight_view", "screen")
    unrounded = next(violation for violation in violations(whole) if violation.name == "projection not rounded")
    runs = [Run(f, unrounded.outputs(whole, f.inputs)) for f in build_fixtures(whole, ["exact-0", "search"])]
    found = admit(whole, runs)
    assert found.admitted is False
    assert found.boundary == "projection not rounded"
    assert found.boundary_share == 1.0
    tolerance = [verdict for verdict in found.verdicts if verdict.kind == "tolerance" and verdict.fixture == "search"]
    exact = [verdict for verdict in found.verdicts if verdict.kind == "exact"]
    assert tolerance[0].mismatches < 0.01 * tolerance[0].elements
    assert exact[0].mismatches > 0.25 * exact[0].elements


def test_softmax_zeros_cannot_pass_because_probabilities_are_small():
    whole = manifests()["softmax"].program("screen", shapes())
    fixture = build_fixtures(whole, ["random"])[0]
    verdicts = judge(whole, fixture, {"y": np.zeros(fixture.reference["y"].shape, np.float16)})
    assert not kinds(verdicts)["tolerance"]
    assert not kinds(verdicts)["interval"]


def test_a_large_contract_is_judged():
    whole = program("weight_view", "matrix")
    built = build_fixtures(whole, ["exact-0", "exact-11x3", "random"])
    wrong = next(violation for violation in violations(whole) if violation.name == "projection not rounded")
    found = admit(whole, [Run(fixture, wrong.outputs(whole, fixture.inputs)) for fixture in built])
    assert found.boundary == "projection not rounded"
