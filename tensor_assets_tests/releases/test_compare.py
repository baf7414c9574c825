"""``tensor-assets compare``: a wheel, a source folder, a version; its exit codes, its JSON, its page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tensor_assets_tests.releases.toy import GOOD, MODULE, checkout

__all__ = ["checkout"]
pytestmark = pytest.mark.compilers
COMMAND = "import sys; sys.path.pop(0); from tensor_assets.cli import main; main()"


@pytest.fixture
def compare(checkout, monkeypatch):
    """Runs the command in a process of its own, as a build server does."""
    places = {"STORE": "store", "CACHE": "cache", "ADAPTERS": "adapters", "SITE": "site/build"}
    for variable, place in places.items():
        monkeypatch.setenv(f"TENSOR_ASSETS_{variable}", str(checkout.folder / place))
    root = Path(__file__).resolve().parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'adapters' / 'worker'}")

    def compare(candidate: str | Path, *more: str) -> subprocess.CompletedProcess[str]:
        asked = ["compare", "toy", "--candidate", str(candidate), "--shape", "matrix_inspect", *more]
        return subprocess.run(
            [sys.executable, "-c", COMMAND, *asked], capture_output=True, text=True, cwd=checkout.folder
        )

    return compare


def test_a_wheel_with_the_fault_it_is_to_fail_on(checkout, compare, tmp_path):
    wheel = checkout.release("1.1.dev1", "ROUNDS = False")
    page = tmp_path / "page.html"
    done = compare(wheel, "--fail-on", "wrong,slower", "--json", "--report", str(page))
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["failed"] == ["wrong"]
    assert told["findings"]["wrong"] == ["weight_view default"]
    (version,) = told["trial"]["candidate"].values()
    assert version.startswith("1.1.dev1 (")
    text = page.read_text()
    assert "projection not rounded" in text
    assert "<script" not in text
    assert str(tmp_path) not in text
    assert checkout.accepted == "1.0"  # a comparison decides nothing
    assert compare(wheel, "--fail-on", "slower").returncode == 0


def test_a_published_version_that_changes_only_what_is_read(checkout, compare):
    checkout.release("1.1", 'TEXT = "<style> = 2\\n"')
    done = compare("1.1", "--fail-on", "wrong,slower,changed")
    assert done.returncode == 0, done.stderr
    assert "code text, numbers same" in done.stdout
    assert "nothing wrong, slower or changed" in done.stdout


def test_a_source_folder_is_built(checkout, compare):
    source = checkout.folder / "source"
    source.mkdir()
    (source / f"{MODULE}.py").write_text("VERSION = '1.2'\n" + GOOD + "MACHINE = 'multiply\\n'\n")
    (source / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n"
        f"[project]\nname = 'tensor-assets-toy'\nversion = '1.2'\n[tool.setuptools]\npy-modules = ['{MODULE}']\n"
    )
    done = compare(source, "--fail-on", "changed")
    assert done.returncode == 1, done.stderr
    assert "FAIL changed: weight_view default" in done.stdout


@pytest.mark.parametrize(
    ("candidate", "more", "said"),
    [
        ("9.9", (), "cannot be resolved"),
        ("nonsense!", (), "is no wheel, no folder and no version"),
        ("missing-1.0-py3-none-any.whl", (), "there is no such file"),
        ("1.0", ("--fail-on", "ugly"), "'ugly' is no finding (have: wrong, slower, changed)"),
        ("1.0", ("--fail-on", "slower", "--target", "sm_90"), "nothing runs on sm_90"),
    ],
)
def test_bad_input_is_one_line_and_status_2(compare, candidate, more, said):
    done = compare(candidate, *more)
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("tensor-assets: ")
    assert said in last


def test_a_wheel_of_another_package_is_refused(checkout, compare):
    from tensor_assets_tests.releases.indexes import wheel

    done = compare(wheel(checkout.folder / "other", "1.0", name="other_compiler"))
    assert done.returncode == 2
    assert "it is a wheel of other-compiler, not of tensor-assets-toy" in done.stderr
