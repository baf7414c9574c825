"""What the setup script leaves behind when it is stopped half way."""

import hashlib
import subprocess
import sys
from pathlib import Path

from tensor_assets.settings import ROOT

LOCKS = ROOT / "tensor_assets" / "locks"


def test_packages_that_were_changed_half_way_are_not_taken_for_those_of_before(tmp_path: Path):
    """A sync that is interrupted has changed some packages: whatever lock they followed, they follow none now."""
    venv, cache = tmp_path / "venv", tmp_path / "cache"
    python = venv / "bin" / "python"
    uv = cache / f"bootstrap-{hashlib.sha256((LOCKS / 'bootstrap.lock').read_bytes()).hexdigest()[:12]}" / "bin" / "uv"
    for program, does in ((python, "true"), (uv, "echo half; exit 130")):
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)
    inputs = (LOCKS / "test.lock").read_bytes() + (ROOT / "pyproject.toml").read_bytes()
    stamp = venv / ".synced"
    stamp.write_text(hashlib.sha256(inputs).hexdigest()[:16])
    variables = {"PATH": "/usr/bin:/bin", "VENV": str(venv), "TENSOR_ASSETS_CACHE": str(cache), "SYSTEM_PACKAGES": "0"}

    def setup(want: str) -> int:
        return subprocess.run(
            [ROOT / ".ci" / "setup", want], env={**variables, "PYTHON": sys.executable}, capture_output=True
        ).returncode

    assert setup("runtime") == 0  # the test lock has all of it
    assert setup("engines") == 130
    assert setup("runtime") == 130
