"""tinygrad's search as it is watched on a device: candidates compiled in processes beside it. Shown on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.environments import build_environment

SCRIPT = Path(__file__).with_name("search_tinygrad.py")


def searched(folder: Path, seconds: float) -> dict[str, Any]:
    settings = load_settings()
    adapter = discover(settings.adapters)["tinygrad"]
    printed = subprocess.run(
        [str(build_environment(adapter, settings).python), str(SCRIPT), str(adapter.path), str(seconds)],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(adapter.path.parent / "worker")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert printed.returncode == 0, printed.stderr
    found: dict[str, Any] = json.loads(printed.stdout.splitlines()[-1])
    return found


@pytest.mark.compilers
def test_every_candidate_is_told_and_was_noted_when_it_was_tried(tmp_path):
    found = searched(tmp_path, 300.0)
    assert found["scope"].startswith("BEAM over each kernel: candidates compiled in 2 processes")
    assert found["tried"] == found["timed"] > 1
    assert (found["chosen"], found["censored"]) == (1, "")
    assert found["noted"] == found["candidates"] >= found["timed"]
    assert found["untimed"] == found["waiting"] == 0, "each was noted before it was compiled, and again as it ended"
    assert found["beside"] == [0, len(os.sched_getaffinity(0))], "none where nothing is searched"
    assert found["compiled for sm_90"] == [True] * 8, "each process finds NVRTC and its builtins"


@pytest.mark.compilers
def test_a_search_that_is_cut_short_says_what_it_left(tmp_path):
    found = searched(tmp_path, 0.0)
    assert found["tried"] == 0
    assert found["noted"] == 0
    assert found["waiting"] == found["untimed"] == found["candidates"] > 1
    assert found["censored"] == f"stopped after 0 s with {found['candidates']} candidates of that round untried"
