"""What is wrong with a claims file is told: file, line, pointer, value, what is allowed. Nothing hostile is built."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.claims.reading import load_claims, parse_claims, read_claims
from tensor_assets.claims.vocabulary import require_known
from tensor_assets.claims.yaml_text import MAX_BYTES, read_yaml
from tensor_assets.errors import ClaimError
from tensor_assets_tests.claims.recorded import GEOMETRY, claim


def refused(text: str | bytes) -> ClaimError:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(ClaimError) as caught:
        parse_claims(data, "own.yaml")
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("id: plan-toy", "id: Plan Toy", 'own.yaml line 3 at /claims/0/id: "Plan Toy" is no id'),
        ("id: plan-toy", "id: 7", "own.yaml line 3 at /claims/0/id: 7 is not allowed: expected `str`, got `int`"),
        ("target: sm_90", "target: h100", 'own.yaml line 6 at /claims/0/target: "h100" is not allowed: invalid enum'),
        ("target: sm_90", "aim: sm_90", "own.yaml line 6 at /claims/0/aim: field 'aim' is not known (have: id, statem"),
        ("workload: bias, ", "load: bias, ", "own.yaml line 7 at /claims/0/applies_to/load: field 'load' is not know"),
        ("section: its heading", "page: 3", "own.yaml line 5 at /claims/0/source/page: field 'page' is not known"),
        ("workload: bias, ", "", "own.yaml line 7 at /claims/0/applies_to: names no workload, here or in the claim"),
        ("operator: equals", "operator: is", 'own.yaml line 9 at /claims/0/operator: "is" is no operator (have: eq'),
        ("kernels[].grid", "kernels[", 'own.yaml line 8 at /claims/0/query: "kernels[" is not JMESPath: '),
        ("kernels[].grid", "kernels[].gird", "own.yaml line 8 at /claims/0/query: \"kernels[].gird\" a kernel has"),
        ("    expected: [[8, 16, 1]]\n", "", "own.yaml line 3 at /claims/0: field 'expected' is missing"),
        ("operator: equals", "operator: within", "at /claims/0/expected: [[8, 16, 1]] is not allowed: within needs ["),
        ("matrix,", "matrix, versions: newer,", "at /claims/0/applies_to/versions: 'newer' is no range of versions"),
        ("    query:", "    checks: []\n    when: 3\n    query:", "own.yaml line 9 at /claims/0/when: field 'when'"),
        ("    statement: The kernel has 8 by 16 blocks.\n", "", "at /claims/0: field 'statement' is missing"),
        ("The kernel has 8 by 16 blocks.", '" "', "own.yaml line 4 at /claims/0/statement: is empty"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_where_it_stands(old: str, new: str, said: str) -> None:
    assert old in GEOMETRY
    assert said in str(refused(GEOMETRY.replace(old, new)))


def test_a_query_of_its_own_and_checks_exclude_each_other() -> None:
    both = GEOMETRY + "    checks: [{query: outcome, operator: equals, expected: ok}]\n"
    assert "either query, operator and expected, or checks, not both" in str(refused(both))


def test_an_id_stands_once_in_a_file_and_in_all_files(tmp_path: Path) -> None:
    twice = GEOMETRY + GEOMETRY.replace("\nclaims:\n", "")
    assert str(refused(twice)) == "own.yaml line 11 at /claims/1/id: id 'plan-toy' is taken by the claim on line 3"
    # Dagster's name of both checks would be plan_toy.
    assert "is taken" in str(refused(GEOMETRY + GEOMETRY.replace("\nclaims:\n", "").replace("plan-toy", "plan_toy")))
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(GEOMETRY)
    with pytest.raises(ClaimError, match=r"b\.yaml at /claims: id 'plan-toy' is taken by .*a\.yaml"):
        load_claims([tmp_path])


def test_names_that_nothing_is_called_by_are_told_with_those_there_are() -> None:
    class Known:
        workloads, shapes, adapters = ("gemm",), ("matrix",), ("tinygrad", "tvm")

    with pytest.raises(
        ClaimError, match=r"claim plan-toy at /applies_to/workload: 'bias' is no workload \(have: gemm\)"
    ):
        require_known([claim()], Known())


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClaimError, match="cannot be read: no such file or directory"):
        read_claims(tmp_path / "none.yaml")


def bomb() -> str:
    layers = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    return f"a0: &a0 [lol]\n{layers}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (bomb(), "own.yaml line 1 at /: anchor &a0 is not allowed"),
        ("claims: [*gone]", "alias *gone is not allowed"),
        (
            "claims: !!python/object/apply:os.system ['touch /tmp/owned']",
            "tag tag:yaml.org,2002:python/object/apply:os.sy",
        ),
        ("claims: !env HOME", "tag !env is not allowed"),
        ("<<: {claims: []}", "at /<<: field '<<' is not known"),
        ("claims: []\nclaims: []", "own.yaml line 2 at /claims: key 'claims' stands here twice"),
        ("claims: 2026-11-29", "own.yaml line 1 at /claims: '2026-11-29' reads as a timestamp"),
        ("claims: .inf", ".inf is not allowed, expected a finite number"),
        ("claims: .nan", ".nan is not allowed, expected a finite number"),
        ("? [a, b]\n: 1", "own.yaml line 1 at /: a key is a list or a mapping"),
        ("claims: [\n", "own.yaml line 2 at /: is not YAML: "),
        ("a: 1\n--- \nb: 2", "is not YAML: but found another document"),
        ("\tclaims: 1", "is not YAML: found character '\\t' that cannot start any token"),
        ("claims: \x07", "is not YAML: "),
        ("", "is empty, expected a mapping with the key claims"),
        ("- 1", "at /: [1] is not allowed: expected `object`, got `array`"),
        ("[" * 3000, "is nested more than 24 deep"),
        ("claims: " + "[" * 30 + "]" * 30, "is nested more than 24 deep"),
        (b"claims: \xff", "is not UTF-8: byte 8 is 0xff"),
        (b"a" * (MAX_BYTES + 1), "at most 524,288 are read"),
        ("claims: " + "9" * 5000, "cannot be read"),
    ],
    ids=range(21),
)
def test_hostile_yaml_is_named_and_nothing_of_it_is_built(text: str | bytes, said: str) -> None:
    began = time.monotonic()
    assert said in str(refused(text))
    assert time.monotonic() - began < 60


@given(st.binary(max_size=200) | st.text(alphabet=" \n:-[]{}&*!|>'\"#%@?,ab01~<\t", max_size=80).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(ClaimError):
        read_yaml(data, "any.yaml")
