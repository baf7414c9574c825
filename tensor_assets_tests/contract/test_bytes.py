"""Fixtures have the same bytes on every platform: they are kept as hashes, and other arithmetic units are tried here.

If a recipe was changed on purpose: ``python -m tensor_assets_tests.contract.goldens``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tensor_assets.settings import ROOT
from tensor_assets_tests.contract.goldens import digest, kept
from tensor_assets_tests.contract.workloads import NAMES


@pytest.mark.parametrize("workload", NAMES)
def test_fixtures_have_the_kept_bytes(workload):
    assert digest(workload) == kept()[workload]


OLD_MACHINES = [
    # An x86-64 without FMA and wide vectors: other orders of summation in the BLAS, other loops in NumPy.
    {
        "OPENBLAS_CORETYPE": "Prescott",
        "OPENBLAS_NUM_THREADS": "1",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
    {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "3"},
]


@pytest.mark.parametrize("machine", OLD_MACHINES, ids=[machine["OPENBLAS_CORETYPE"] for machine in OLD_MACHINES])
def test_older_machines_make_the_same_bytes(machine):
    command = [sys.executable, "-m", "tensor_assets_tests.contract.goldens", "--print"]
    environment = {**os.environ, **machine, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == kept()
