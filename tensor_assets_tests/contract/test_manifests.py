"""Manifests: the twenty workloads read, and whatever else is in a file is refused in one clear sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensor_assets.contract.manifest import load_manifest, load_workloads, parse_manifest
from tensor_assets.contract.shapes import load_shapes
from tensor_assets.contract.writing import manifest_text
from tensor_assets.errors import ManifestError
from tensor_assets_tests.contract.workloads import FOLDER, MATRIX, NAMES, ORIGINAL, manifests, program, shapes


def weight_view() -> dict:
    return json.loads((FOLDER / "weight_view.json").read_text())


def refused(document: object, source: str = "w.json") -> ManifestError:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text, source)
    message = str(caught.value)
    assert message.startswith(source)
    assert "\n" not in message
    assert len(message) < 500
    assert message.isprintable()
    return caught.value


def test_the_twenty_workloads_in_their_suites():
    found = manifests()
    assert set(found) == set(NAMES)
    assert {name for name, manifest in found.items() if manifest.suite == "matrix"} == set(MATRIX)
    assert {name for name, manifest in found.items() if manifest.suite == "original"} == set(ORIGINAL)


def test_the_seven_shapes():
    sizes = {name: tuple(shape.sizes.values()) for name, shape in shapes().items()}
    assert sizes == {
        "matrix": (1024, 768, 1024),
        "matrix_inspect": (8, 16, 24),
        "inspect": (8, 16, 16),
        "screen": (128, 256, 256),
        "main": (1024, 1024, 1024),
        "narrow": (32, 1024, 1024),
        "tail": (1000, 1024, 1024),
    }


def test_weight_view_at_the_articles_size():
    found = program("weight_view", "matrix")
    assert [(value.name, value.shape) for value in found.inputs] == [
        ("x", (1024, 768)),
        ("wt", (1024, 768)),
        ("b", (1024,)),
    ]
    assert [(op.name, op.op, op.of, op.shape, op.dtype) for op in found.ops] == [
        ("w", "transpose", ("wt",), (768, 1024), "f16"),
        ("p", "matmul", ("x", "w"), (1024, 1024), "f16"),
        ("y", "add", ("p", "b"), (1024, 1024), "f16"),
    ]
    assert found.outputs == ("y",)


def test_softmax_has_its_own_absolute_tolerance():
    assert program("softmax").tolerance == (2e-6, 2e-3)
    assert {program(name).tolerance for name in NAMES if name != "softmax"} == {(2e-4, 2e-3)}


@pytest.mark.parametrize("name", NAMES)
def test_a_written_manifest_is_the_file(name):
    assert manifest_text(manifests()[name]) == (FOLDER / f"{name}.json").read_text()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", ["matrix", "matrix_inspect", "inspect", "screen", "main", "narrow", "tail"])
def test_every_workload_fits_every_shape(name, shape):
    found = program(name, shape)
    assert found.shape == shape
    assert all(size > 0 for value in found.values() for size in value.shape)


def test_an_unknown_shape_names_those_there_are():
    with pytest.raises(ManifestError, match=r'no shape "huge" \(have: matrix, '):
        manifests()["gemm"].program("huge", shapes())


def complaint(text: str) -> str:
    try:
        parse_manifest(text, "w.json")
    except ManifestError as error:
        return str(error)
    return "w.json at /: nothing"


def change(path: str, value: object) -> dict:
    """weight_view with the value at a JSON pointer replaced."""
    document = weight_view()
    *parents, last = [int(part) if part.isdigit() else part for part in path.strip("/").split("/")]
    place = document
    for part in parents:
        place = place[part]
    place[last] = value
    return document


HOSTILE = [
    # what is changed, pointer of the complaint, words it must have
    (change("/ops/2/of", ["q", "b"]), "/ops/2/of/0", '"q" is not an input or an earlier op (have: x, wt, b, w, p)'),
    (change("/ops/1/of", ["x", "y"]), "/ops/1/of/1", '"y" is no earlier op but /ops/2'),
    (change("/ops/1/of", ["p", "w"]), "/ops/1/of/0", '"p" is no earlier op but /ops/1'),
    (change("/ops/1/op", "conv2d"), "/ops/1/op", "expected one of transpose, matmul"),
    (change("/ops/1/op", ["matmul"]), "/ops/1/op", "expected one of transpose, matmul"),
    (change("/ops/1/of", ["x", "wt"]), "/ops/1/of", "would contract K with N"),
    (change("/ops/2/of", ["p", "x"]), "/ops/2/of", "do not broadcast: N against K"),
    (change("/ops/1/of", ["x", "b"]), "/ops/1/of", "two matrices"),
    (change("/ops/1/of", ["x"]), "/ops/1/of", "a list of 2 to 2 operands"),
    (change("/ops/1/of", ["x", 2.0]), "/ops/1/of/1", "matmul takes no number"),
    (change("/ops/2/of", [1, 2]), "/ops/2/of", "at least one named value"),
    (change("/ops/2/of", ["p", True]), "/ops/2/of/1", "the name of an input or an earlier op, or a number"),
    (change("/ops/2/of", ["p", 1e300]), "/ops/2/of/1", "a number from -65504 to 65504"),
    (change("/ops/0/dtype", "f32"), "/ops/0/dtype", "transpose moves values"),
    (change("/ops/1/dtype", "f64"), "/ops/1/dtype", "expected one of f16, f32"),
    (change("/inputs/0/dtype", "f32"), "/ops/1/of", "matmul takes f16 values"),
    (change("/inputs/0/name", "wt"), "/inputs/1/name", '"wt" already names another value'),
    (change("/ops/0/name", "b"), "/ops/0/name", '"b" already names another value'),
    (change("/inputs/0/name", "../x"), "/inputs/0/name", "a value's name"),
    (change("/inputs/0/name", "<script>"), "/inputs/0/name", "a value's name"),
    (change("/inputs/0/name", "x\u202e"), "/inputs/0/name", "a value's name"),
    (change("/inputs/0/name", "x" * 65), "/inputs/0/name", "at most 63"),
    (change("/inputs/0/name", "lambda"), "/inputs/0/name", "no keyword"),
    (change("/inputs/0/name", "x\n"), "/inputs/0/name", "a value's name"),
    (change("/inputs/0/name", "xé"), "/inputs/0/name", "a value's name"),
    (change("/inputs/0/name", ""), "/inputs/0/name", "a value's name"),
    (change("/inputs/0/name", 7), "/inputs/0/name", "7 is not allowed"),
    (change("/inputs/0/shape", ["M", "Q"]), "/inputs/0/shape/1", "expected one of M, K, N"),
    (change("/inputs/0/shape", ["M", 0]), "/inputs/0/shape/1", "an integer from 1"),
    (change("/inputs/0/shape", ["M", -1]), "/inputs/0/shape/1", "an integer from 1"),
    (change("/inputs/0/shape", ["M", 10**9]), "/inputs/0/shape/1", "1000000000 is not allowed"),
    (change("/inputs/0/shape", ["M", True]), "/inputs/0/shape/1", "or a positive integer"),
    (change("/inputs/0/shape", ["M", 1.5]), "/inputs/0/shape/1", "or a positive integer"),
    (change("/inputs/0/shape", []), "/inputs/0/shape", "a list of 1 to 4 sizes"),
    (change("/inputs/0/shape", "MK"), "/inputs/0/shape", "a list of 1 to 4 sizes"),
    (change("/inputs", []), "/inputs", "a list of 1 to 64 inputs"),
    (change("/ops", {}), "/ops", "a list of 1 to 64 ops"),
    (change("/ops", weight_view()["ops"] * 40), "/ops", "a list of 1 to 64 ops"),
    (change("/outputs", []), "/outputs", "a list of 1 to 64 outputs"),
    (change("/outputs", ["x"]), "/outputs/0", '"x" is an input'),
    (change("/outputs", ["z"]), "/outputs/0", "expected one of w, p, y"),
    (change("/outputs", ["y", "y"]), "/outputs/1", '"y" is returned twice'),
    (change("/outputs", ["p"]), "/inputs/2", 'no output depends on "b"'),
    (change("/workload", "a b"), "/workload", "a workload's name"),
    (change("/workload", "../../etc"), "/workload", "a workload's name"),
    (change("/question", ""), "/question", "one printable line"),
    (change("/question", "a\nb"), "/question", "one printable line"),
    (change("/question", "\u202egnp.exe"), "/question", "one printable line"),
    (change("/question", "x" * 301), "/question", "one printable line"),
    (change("/tolerance", {"absolute": 1}), "/tolerance/absolute", "a number from 0 to 0.0002"),
    (change("/tolerance", {"relative": -1}), "/tolerance/relative", "a number from 0 to 0.002"),
    (change("/tolerance", {"abs": 0}), "/tolerance/abs", "unknown member"),
    (change("/signed_zero", 1), "/signed_zero", "true or false"),
    (weight_view() | {"a\u202e/~": 1}, "/a\\u202e~1~0", "unknown member"),
    (change("/extra", 1), "/extra", "unknown member, allowed are workload"),
    (change("/ops/1/axis", 1), "/ops/1/axis", "unknown member, allowed are name, op, of, dtype"),
    (change("/ops/1", 7), "/ops/1", "an object"),
    ({key: value for key, value in weight_view().items() if key != "ops"}, "", '"ops" is missing'),
    ([], "", "an object"),
    ("null", "", "an object"),
    ("{", "", "is not JSON"),
    ("", "", "is not JSON"),
    ('{"a": 1, "a": 2}', "", '"a" appears twice'),
    ('{"a": NaN}', "", "NaN is no JSON number"),
    ('{"a": 1' + "0" * 5000 + "}", "", "digits"),
    ("[" * 100_000, "", "nested too deeply"),
    ('{"a":' * 100_000, "", "nested too deeply"),
]


@pytest.mark.parametrize(("document", "pointer", "words"), HOSTILE, ids=[f"{p}-{w[:24]}" for _, p, w in HOSTILE])
def test_a_clever_manifest_gets_a_clear_error(document, pointer, words):
    error = refused(document)
    assert error.pointer == pointer
    assert words in error.problem


def test_a_value_of_a_billion_elements_is_refused_at_the_shape_that_makes_it():
    document = change("/inputs/2/shape", [65536, 1, 1, "N"])
    manifest = parse_manifest(json.dumps(document), "w.json")
    manifest.program("matrix_inspect", shapes())
    with pytest.raises(ManifestError, match=r"w.json at /ops/2: .* 68,719,476,736 elements at shape matrix \("):
        manifest.program("matrix", shapes())


def test_a_file_is_named_after_its_workload(tmp_path):
    path = tmp_path / "other.json"
    path.write_text((FOLDER / "gemm.json").read_text())
    with pytest.raises(ManifestError, match=r"other\.json at /workload: .*the file's name"):
        load_manifest(path)


def test_a_workload_defined_twice(tmp_path):
    (tmp_path / "gemm.json").write_text((FOLDER / "gemm.json").read_text())
    with pytest.raises(ManifestError, match="already defined"):
        load_workloads([FOLDER, tmp_path])


def test_files_that_are_none(tmp_path):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{}")
    (tmp_path / "large.json").write_bytes(b" " * 300_000)
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    kinds = {"folder": "is no file", "bytes": "not UTF-8", "large": "bytes", "loop": "loop.json", "none": "not exist"}
    for name, words in kinds.items():
        with pytest.raises(ManifestError, match=words):
            load_manifest(tmp_path / f"{name}.json")
    with pytest.raises(ManifestError, match="is no folder"):
        load_workloads([tmp_path / "absent"])


def test_a_users_folder_adds_a_workload(tmp_path):
    document = weight_view() | {"workload": "mine", "suite": "own"}
    (tmp_path / "mine.json").write_text(json.dumps(document))
    found = load_workloads([FOLDER, tmp_path])
    assert len(found) == 21
    assert found["mine"].program("inspect", shapes()).workload == "mine"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": {"M": 1, "K": 1}}', "missing"),
        ('{"a b": {}}', "name"),
        ('{"a": {"M": 0, "K": 1, "N": 1, "purpose": "p"}}', "integer"),
    ],
)
def test_wrong_shapes(tmp_path, text, words):
    path = tmp_path / "shapes.json"
    path.write_text(text)
    with pytest.raises(ManifestError, match=words):
        load_shapes(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
pointers = st.lists(st.integers(0, 6), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(path=pointers, value=json_values)
def test_nothing_but_a_manifest_error_comes_of_any_change(path, value):
    document = weight_view()
    place: object = document
    for index, step in enumerate(path):
        keys = list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []
        if not keys:
            break
        key = keys[step % len(keys)]
        if index == len(path) - 1:
            place[key] = value  # type: ignore[index]
        else:
            place = place[key]  # type: ignore[index]
    assert complaint(json.dumps(document)).isprintable()


@given(text=st.text(max_size=40))
def test_nothing_but_a_manifest_error_comes_of_any_text(text):
    assert complaint(text).startswith("w.json at /: ")


def test_a_hostile_file_name_does_not_reach_the_terminal(tmp_path):
    path = Path(tmp_path / "a\x1b[31m.json")
    path.write_text("{")
    with pytest.raises(ManifestError) as caught:
        load_manifest(path)
    assert str(caught.value).isprintable()
