"""What Inductor timed and did not choose, built again: it alone, wherever it was offered."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tensor_worker.artifacts import Candidate

from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.environments import build_environment
from tensor_assets_tests.adapters.test_inductor import FOLDER, module


def row(name: str, kind: str = "TritonTemplateCaller", **parameters: int | str):
    return module("recording").Choice(name=name, kind=kind, parameters=parameters, milliseconds=0.01)


LIBRARY = {"kind": "ExternKernelCaller", "kernel_call_name": "extern_kernels.mm"}


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        (row("mm", **LIBRARY).candidate("mm (64, 64)"), 0),
        (row("triton_mm_7", BLOCK_M=64).candidate("mm (64, 64)"), 1),  # numbered otherwise in that process
        (row("triton_mm_2", BLOCK_M=128).candidate("mm (64, 64)"), 3),  # two of these parameters: the name decides
        (row("triton_mm_1", BLOCK_M=32).candidate("mm (64, 64)"), None),
        (
            Candidate(
                name="mm (64, 64): triton_mm_0", chosen=False, parameters={"kind": "CutlassTemplate", "BLOCK_M": 64}
            ),
            None,
        ),
    ],
)
def test_a_candidate_is_found_by_its_parameters(wanted, place):
    rows = [
        row("mm", **LIBRARY),
        row("triton_mm_0", BLOCK_M=64),
        row("triton_mm_1", BLOCK_M=128),
        row("triton_mm_2", BLOCK_M=128),
    ]
    assert module("rebuilding").place_of(wanted, rows) == place


@pytest.mark.compilers
def test_each_choice_of_a_real_search_is_built_again_without_another_search(tmp_path):
    settings = load_settings()
    environment = build_environment(discover(settings.adapters)["inductor"], settings)
    script = Path(__file__).parent / "rebuild_inductor.py"
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(FOLDER.parent / "worker")}
    printed = subprocess.run(
        [str(environment.python), str(script), str(FOLDER)],
        env=variables | {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert printed.returncode == 0, printed.stderr
    found = {name: rest for name, *rest in json.loads(printed.stdout.splitlines()[-1])}
    assert found.pop("_mkl_linear") == ["library", 0, True]
    (template,) = found.values()
    assert template == ["template", 0, True]
