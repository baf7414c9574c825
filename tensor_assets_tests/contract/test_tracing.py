"""A Python function becomes a manifest, and a manifest explains itself."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from tensor_assets.contract.explain import check_workload, explain, formulas
from tensor_assets.contract.manifest import load_manifest
from tensor_assets.contract.trace import parse_inputs, trace
from tensor_assets.contract.writing import manifest_text
from tensor_assets.errors import ManifestError, SettingsError, TraceError
from tensor_assets_tests.contract.workloads import FOLDER, NAMES, manifests, shapes

LINEAR = "x=f16[M,K], wt=f16[N,K], b=f16[N]"


def layer(x, wt, b):
    """A linear layer, as the article has it."""
    w = wt.T
    p = x @ w
    return p + b


def softmax(x):
    x = x.float()
    m = x.amax(-1, keepdim=True)
    d = x - m
    e = d.exp()
    z = e.sum(-1, keepdim=True)
    return (e / z).half()


def rmsnorm(x, gamma):
    s = x.float() ** 2
    v = s.mean(dim=-1, keepdim=True)
    t = v + 1e-5
    r = t.rsqrt()
    c = x.float() * r
    return (c * gamma).half()


def two_outputs(x, w, b):
    p = x @ w
    return {"y": np.maximum(p + b, 0), "p": p}


def widened(x, w, b):
    p = (x.float() @ w.float()).half()
    return p + b


def ops(workload):
    return [(op.name, op.op, op.of, op.dtype) for op in workload.ops]


def test_the_article_s_layer_is_weight_view():
    found = trace(layer, parse_inputs(LINEAR), workload="weight_view", suite="matrix")
    assert ops(found) == ops(manifests()["weight_view"])
    assert found.inputs == manifests()["weight_view"].inputs
    assert found.question == "A linear layer, as the article has it."


def test_normalizations_are_the_manifests():
    assert ops(trace(softmax, parse_inputs("x=f16[M,K]"))) == ops(manifests()["softmax"])
    assert ops(trace(rmsnorm, parse_inputs("x=f16[M,K], gamma=f16[K]"))) == ops(manifests()["rmsnorm"])


def test_a_dict_names_the_outputs():
    found = trace(two_outputs, parse_inputs("x=f16[M,K],w=f16[K,N],b=f16[N]"))
    assert found.outputs == ("y", "p")
    assert [op.op for op in found.ops] == ["matmul", "add", "relu"]


def test_widened_operands_and_a_rounding_are_one_contraction():
    found = trace(widened, parse_inputs("x=f16[M,K],w=f16[K,N],b=f16[N]"))
    assert ops(found) == [("p", "matmul", ("x", "w"), "f16"), ("y", "add", ("p", "b"), "f16")]


def test_a_value_read_both_in_fp32_and_rounded_stays_two():
    def both(x):
        h = x.float() * 3
        return h.half() + h

    found = trace(both, parse_inputs("x=f16[M,K]"))
    assert [(op.op, op.dtype) for op in found.ops] == [("mul", "f32"), ("mul", "f16"), ("add", "f32")]


def test_numpy_and_torch_spellings():
    def numpy_spelled(x, w):
        return np.multiply(2.0, np.exp(np.matmul(x, np.transpose(w))).sum(axis=-1, keepdims=True))

    found = trace(numpy_spelled, parse_inputs("x=f16[M,K],w=f16[N,K]"))
    assert [op.op for op in found.ops] == ["transpose", "matmul", "exp", "sum", "mul"]
    assert found.ops[-1].of[0] == 2.0

    def torch_spelled(x, w):
        mm = SimpleNamespace(__name__="mm")
        return type(x).__torch_function__(mm, (), (x, w)).relu()

    assert [op.op for op in trace(torch_spelled, parse_inputs("x=f16[M,K],w=f16[K,N]")).ops] == ["matmul", "relu"]


def test_every_operator():
    def everything(x):
        return -(1 / (2 - (x / 4 - 3) * 2)) + 1

    found = trace(everything, parse_inputs("x=f16[M,K]"))
    assert [op.op for op in found.ops] == ["div", "sub", "mul", "sub", "div", "mul", "add"]
    assert found.ops[3].of[0] == 2.0


def test_what_is_computed_in_vain_is_left_out():
    def vain(x, w):
        x.exp()
        return x @ w

    assert [op.op for op in trace(vain, parse_inputs("x=f16[M,K],w=f16[K,N]")).ops] == ["matmul"]


def line_of(function, words):
    import inspect

    source, start = inspect.getsourcelines(function)
    return start + next(index for index, line in enumerate(source) if words in line)


def uses_cumsum(x):
    y = x + 1
    return y.cumsum(0)


def branches(x):
    if x:
        return x + 1
    return x


def compares(x):
    return x > 0


def indexes(x):
    return x[0]


def loops(x):
    return sum(row for row in x)


def sines(x):
    return np.sin(x)


def arrays(x):
    return x + np.ones(3)


def sums_rows(x):
    return x.sum(0)


def mismatched(x):
    return x @ x


def infinite(x):
    return x * math.inf


def fails(x):
    raise KeyError("boo")


def itself(x):
    return x


def nothing(x):
    x + 1


def cubes(x):
    return x**3


def casts(x):
    return x.to("bfloat16")


REFUSED = [
    (uses_cumsum, "cumsum(0)", ".cumsum is no operation of a workload (understood: @"),
    (branches, "if x", "cannot branch"),
    (compares, "x > 0", "cannot compare"),
    (indexes, "x[0]", "cannot index"),
    (loops, "for row", "cannot loop"),
    (sines, "np.sin", "sin is no operation"),
    (arrays, "np.ones", "ndarray is no operand"),
    (sums_rows, "x.sum", "sum reduces the last axis"),
    (mismatched, "x @ x", "would contract K with M"),
    (infinite, "math.inf", "float is no operand"),
    (fails, "raise", "KeyError"),
    (itself, "def itself", "returns its input x as it is"),
    (nothing, "def nothing", "returns null, not a tensor"),
    (cubes, "x**3", "** is understood with 2 and -0.5"),
    (casts, "bfloat16", "dtype bfloat16 is not allowed"),
]


@pytest.mark.parametrize(("function", "place", "words"), REFUSED, ids=[f.__name__ for f, _, _ in REFUSED])
def test_what_no_workload_can_is_refused_with_its_line(function, place, words):
    with pytest.raises(TraceError) as caught:
        trace(function, parse_inputs("x=f16[M,K]"))
    message = str(caught.value)
    assert message.startswith(f"test_tracing.py:{line_of(function, place)}: ")
    assert words in message
    assert "\n" not in message


def test_a_wrong_number_of_inputs():
    with pytest.raises(TraceError, match="TypeError"):
        trace(layer, parse_inputs("x=f16[M,K]"))


def test_an_input_that_nothing_reads():
    with pytest.raises(ManifestError, match='no output depends on "unused"'):
        trace(lambda x, unused: x + 1, parse_inputs("x=f16[M,K], unused=f16[K]"), workload="w")


def test_a_lambda_needs_a_name():
    with pytest.raises(ManifestError, match="a workload's name"):
        trace(lambda x: x + 1, parse_inputs("x=f16[M,K]"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no inputs"),
        ("x", "expected name=f16"),
        ("x=f16[M,K] y=f16[M]", "expected name=f16"),
        ("x=f64[M]", "expected f16 or f32"),
        ("x=f16[Q]", "expected M, K, N or a positive integer"),
        ("x=f16[0]", "positive integer"),
        ("x=f16[]", "positive integer"),
        ("9x=f16[M]", "no name"),
        ("class=f16[M]", "no name"),
    ],
)
def test_inputs_that_are_none(text, words):
    with pytest.raises(SettingsError, match=words):
        parse_inputs(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_traced_manifest_is_a_file_that_reads_back(name, tmp_path):
    path = tmp_path / f"{name}.json"
    path.write_text(manifest_text(manifests()[name]))
    found = load_manifest(path)
    assert (found.inputs, found.ops, found.outputs) == (
        manifests()[name].inputs,
        manifests()[name].ops,
        manifests()[name].outputs,
    )


FORMULAS = {
    "weight_view": ["y = FP16(FP16(x @ wtᵀ) + b)"],
    "public_projection": ["y = FP16(FP16(x @ w) + b)", "p = FP16(x @ w)"],
    "residual_relu": ["y = relu(FP16(FP16(FP16(x @ w) + b) + r))"],
    "gated_projections": ["y = FP16(relu(FP16(x @ w)) · FP16(x @ v))"],
    "softmax": ["y = FP16(exp(x − max(x)) / Σ(exp(x − max(x))))"],
    "rmsnorm": ["y = FP16((x · 1/√(mean(x²) + 1e-05)) · gamma)"],
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_show_every_boundary(name):
    assert formulas(manifests()[name]) == FORMULAS[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_explained(name):
    text = explain(manifests()[name], shapes())
    for op in manifests()[name].ops:
        assert f"  {op.name} = " in text
    assert "matrix 1024×768×1024" in text
    assert manifests()[name].question in text


def test_a_checked_file_is_explained():
    text = check_workload(FOLDER / "weight_view.json", shapes())
    assert "p = FP16(x @ w)  FP16 [M, N]  products exact, sums in FP32 in any order; boundary" in text


def test_a_wrong_file_says_where(tmp_path):
    document = json.loads((FOLDER / "bias.json").read_text())
    document["ops"][1]["of"] = ["q", "b"]
    path = tmp_path / "bias.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ManifestError, match=r'bias\.json at /ops/1/of/0: "q" is not an input or an earlier op'):
        check_workload(path, shapes())
