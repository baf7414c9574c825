"""The main job given rubbish, no room, no right to write, company, and an interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tensor_assets.evidence.verification import verify
from tensor_assets_tests.campaign.conftest import add_compiler

TENSOR_ASSETS = str(Path(sys.executable).with_name("tensor-assets"))
REPORT = ["report", "--workload", "gemm", "--shape", "matrix_inspect", "--processes", "1"]

pytestmark = pytest.mark.instance


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    add_compiler(tmp_path / "adapters", "toy")
    return {
        **os.environ,
        "DAGSTER_HOME": str(tmp_path / "home"),
        "TENSOR_ASSETS_STORE": str(tmp_path / "store"),
        "TENSOR_ASSETS_SITE": str(tmp_path / "site" / "build"),
        "TENSOR_ASSETS_ADAPTERS": str(tmp_path / "adapters"),
        "TENSOR_ASSETS_RECORDED": str(tmp_path / "none"),  # what a recorded campaign adds is tested on its own
        "TENSOR_ASSETS_LEASE": str(tmp_path / "lease"),  # other tests may time something on this host meanwhile
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TENSOR_ASSETS, *arguments], env=environment, capture_output=True, text=True, timeout=300)


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A tmpfs of its own: the only way to refuse root a write, or to run it out of space, without harm."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def told(done: subprocess.CompletedProcess[str]) -> str:
    """The one line a failed command ends with."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--workload", "nonsense"], "workload 'nonsense' is not defined (have: "),
        (["--compiler", "gcc"], "compiler 'gcc' is not defined (have: toy)"),
        (["--suite", "nine"], "suite 'nine' is not defined (have: matrix, original)"),
        (["--shape", "huge"], "shape 'huge' is not defined (have: matrix, "),
        (["--target", "tpu"], "target 'tpu' is not known (have: cpu, sm_90, cuda"),
    ],
)
def test_a_wrong_name_is_told_in_one_line(environment, arguments, expected):
    assert expected in told(run(environment, "report", *arguments))
    assert not Path(environment["TENSOR_ASSETS_STORE"]).exists()


def test_a_report_and_a_second_one(environment):
    untimed, first, second = (
        run(environment, *REPORT, "--no-timing"),
        run(environment, *REPORT),
        run(environment, *REPORT),
    )
    assert untimed.returncode == first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert "timing" not in untimed.stderr
    assert "timing host" in first.stderr
    assert "compiling" not in first.stderr  # captured already
    assert "gemm | toy" in first.stdout
    page = Path(first.stdout.strip().splitlines()[-1].split(maxsplit=1)[1])
    assert page.is_file()
    assert "compiling" not in second.stderr  # nothing changed, so nothing was compiled
    assert verify(environment["TENSOR_ASSETS_STORE"]).sound


FOLDERS = ["TENSOR_ASSETS_STORE", "TENSOR_ASSETS_SITE", "DAGSTER_HOME", "TENSOR_ASSETS_CACHE"]


@pytest.mark.parametrize("variable", FOLDERS)
def test_a_folder_that_cannot_be_written_is_named(environment, tmp_path, variable):
    with mounted(tmp_path / "frozen", "ro") as frozen:
        line = told(run({**environment, variable: str(frozen / "here")}, *REPORT))
    assert str(frozen) in line
    assert variable in line


def test_a_full_disk_loses_nothing(environment, tmp_path):
    with mounted(tmp_path / "small", "size=200k") as small:
        line = told(run({**environment, "TENSOR_ASSETS_STORE": str(small / "store")}, *REPORT))
        assert "no space left" in line
        assert verify(small / "store").sound


def test_a_second_report_waits_for_the_first(environment):
    first = subprocess.Popen([TENSOR_ASSETS, *REPORT], env=environment, stderr=subprocess.PIPE, text=True)
    second = run(environment, *REPORT)
    assert first.wait(300) == 0
    assert second.returncode == 0, second.stderr
    assert verify(environment["TENSOR_ASSETS_STORE"]).sound


@pytest.mark.parametrize("step", ["compiling", "timing session"])
def test_an_interrupted_report_continues(environment, step):
    process = subprocess.Popen(
        [TENSOR_ASSETS, *REPORT], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if step in line:
            break
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(60) == 130, rest
    assert rest.strip().splitlines()[-1].startswith("tensor-assets: stopped")
    assert not Path(environment["TENSOR_ASSETS_STORE"]).exists() or verify(environment["TENSOR_ASSETS_STORE"]).sound
    done = run(environment, *REPORT)
    assert done.returncode == 0, done.stderr
    assert "gemm | toy" in done.stdout
