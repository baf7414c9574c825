"""`tensor-assets claims` for authors: verdicts, exit codes, JSON, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tensor_assets.cli import cli
from tensor_assets.errors import ClaimError, SettingsError
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets_tests.claims.recorded import GEOMETRY, put

WRONG = GEOMETRY.replace("[[8, 16, 1]]", "[[16, 8, 1]]")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENSOR_ASSETS_STORE", str(tmp_path / "store"))
    put(EvidenceStore(tmp_path / "store"))
    path = tmp_path / "own.yaml"
    path.write_text(GEOMETRY)
    return path


def run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["claims", *arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code
    return done.output


def test_a_file_is_checked_with_the_verdict_of_each_claim(file: Path) -> None:
    assert run("check", str(file)) == "holds         plan-toy  [[8, 16, 1]]\n1 holds, 0 differs, 0 not measured\n"


def test_strict_tells_by_its_exit_code_that_a_claim_differs(file: Path) -> None:
    file.write_text(WRONG)
    assert "differs       plan-toy  bias × tinygrad at matrix: expected [[16, 8, 1]], seen" in run("check", str(file))
    assert "in every version seen, the first 0.14.0" in run("check", str(file), "--strict", code=1)


def test_json_says_it_all(file: Path) -> None:
    (told,) = json.loads(run("check", str(file), "--json"))
    assert (told["id"], told["verdict"]) == ("plan-toy", "holds")
    (seen,) = told["seen"]
    assert (seen["device"], seen["version"], seen["passed"]) == ("NVIDIA H200", "0.14.0", True)
    assert len(seen["records"][0]) == 64


def test_all_of_the_projects_claims_are_checked_without_a_file(file: Path) -> None:
    assert "not measured  latency-bias  no capture of bias × tinygrad at matrix on NVIDIA H100 (and 3 more)" in run(
        "check"
    )


def test_a_name_that_nothing_is_called_by_is_told(file: Path) -> None:
    file.write_text(GEOMETRY.replace("workload: bias", "workload: biass"))
    with pytest.raises(ClaimError, match=r"claim plan-toy at /applies_to/workload: 'biass' is no workload \(have: aff"):
        run("check", str(file))


def test_show_prints_query_match_and_evidence(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSOR_ASSETS_CLAIMS", str(file.parent))
    told = run("show", "plan-toy", "--document")
    for line in ("query     kernels[].grid", "expected  equals [[8, 16, 1]]", "seen      [[8, 16, 1]]", "  record "):
        assert line in told
    assert '"storage_bytes": null' in told


def test_show_suggests_what_was_meant(file: Path) -> None:
    with pytest.raises(SettingsError, match=r"claim 'plan-tvm-sas' is not defined \(closest: plan-tvm-sass"):
        run("show", "plan-tvm-sas")
