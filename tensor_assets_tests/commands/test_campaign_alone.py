"""`tensor-assets campaign` with what is packed for a host without a network, and nothing else that is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tensor_assets.settings import ROOT

LOCK = ROOT / "tensor_assets" / "locks" / "campaign.lock"
REFERENCE = ROOT / "tensor_assets_tests" / "workers" / "adapters" / "numpy_reference"
# In the lock for other commands: reading claims.
NOT_NEEDED = {"pyyaml", "jmespath"}
RUN = """
import sys
allowed = set(sys.argv.pop(1).split(",")) | set(sys.stdlib_module_names)

class Blocked:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in allowed and not top.startswith("_"):
            raise ImportError(f"{name} is not packed")

sys.meta_path.insert(0, Blocked())
from tensor_assets.cli import main
main()
"""


def packed_modules() -> set[str]:
    names = {
        re.sub(r"[-_.]+", "-", name).lower() for name in re.findall(r"^([\w.-]+)==", LOCK.read_text(), re.MULTILINE)
    }
    found = packages_distributions()
    return {
        module
        for module, distributions in found.items()
        if {re.sub(r"[-_.]+", "-", name).lower() for name in distributions} & (names - NOT_NEEDED)
    }


@pytest.fixture
def campaign(tmp_path: Path):
    """The command as its users start it, with one compiler that is there already."""
    folder = tmp_path / "adapters" / "toy"
    shutil.copytree(REFERENCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "requirements.lock").write_text("numpy==2.4.6\n")
    about = {"name": "toy", "title": "NumPy", "colour": "#444444", "package": "numpy", "targets": ["cpu"]}
    (folder / "adapter.json").write_text(json.dumps(about))
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "packed.json").write_text(json.dumps({"toy": []}))
    places = {"ADAPTERS": "adapters", "CACHE": "cache", "LEASE": "lease", "PACKED": "packed", "STORE": "store"}
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT}/adapters/worker",
        **{f"TENSOR_ASSETS_{name}": str(tmp_path / place) for name, place in places.items()},
    }
    allowed = ",".join(sorted({"tensor_assets", "tensor_worker", *packed_modules()}))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", RUN, allowed, "campaign", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600)

    return run


def test_dagster_and_the_site_are_not_among_what_is_packed():
    assert not packed_modules() & {"dagster", "altair", "mkdocs", "pandas", "pyarrow", "sqlalchemy", "yaml"}
    assert {"msgspec", "numpy", "click", "upath", "zstandard"} <= packed_modules()


def test_its_help(campaign):
    shown = campaign("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Preflight, gate, capture, timing, profile, teardown" in shown.stdout


def test_another_device_is_refused_before_anything_runs(campaign, tmp_path):
    refused = campaign("--target", "cpu", "--device", "H100")
    assert refused.returncode == 2
    assert re.fullmatch(r"tensor-assets: asked for H100; this host has .+\n", refused.stderr)
    assert not (tmp_path / "store").exists()


def test_all_its_phases(campaign, tmp_path):
    cell = ("--target", "cpu", "--workload", "gemm", "--shape", "inspect", "--processes", "1")
    done = campaign(*cell, "--bundle", "out.bundle")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  preflight ", done.stdout, re.MULTILINE)
    assert re.search(r"gemm \| toy default +ok", done.stdout)
    assert (tmp_path / "out.bundle").stat().st_size > 0
