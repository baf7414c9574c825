"""Each wrong compiler once as a worker: caught by a real capture, with the words that the table found in process."""

from __future__ import annotations

import platform
import sys
from functools import cache
from pathlib import Path

import pytest

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CaptureRecord, Key
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.capture import CaptureTask, capture_variant
from tensor_assets.workers.environments import Environment
from tensor_assets_tests.adversary.compiler.adapter import RIGHT
from tensor_assets_tests.adversary.matrix import Bench, bench, workloads
from tensor_assets_tests.adversary.suspects import SUSPECTS

ADVERSARY = AdapterFolder(
    path=Path(__file__).parent / "compiler",
    name="adversary",
    title="Adversary",
    colour="#777777",
    package="",
    targets=("cpu",),
)
# This interpreter has all that the compilers of this folder need, so it stands for their environment.
ENVIRONMENT = Environment(
    python=Path(sys.executable),
    hash="0" * 64,
    lock_sha256="0" * 64,
    python_version=platform.python_version(),
    freeze={},
    version="0",
    toolchain={},
)
# Workloads in which many of them are wrong; another one where none of these is.
PREFERRED = ("bias", "shared_projection", "softmax", "norm_projection")

inspected = cache(lambda workload: bench(workload, "inspect", 0))


@pytest.fixture
def capture(tmp_path):
    def capture(variant: str, tools: Bench) -> CaptureRecord:
        task = CaptureTask(
            adapter=ADVERSARY,
            environment=ENVIRONMENT,
            program=tools.program,
            fixtures=tuple(tools.fixtures),
            variant=variant,
            target="cpu",
            key=Key(workload=tools.program.workload, shape="inspect", compiler="adversary", variant=variant),
        )
        (scratch := tmp_path / "scratch").mkdir()
        return capture_variant(task, EvidenceStore(tmp_path / "store"), scratch)

    return capture


@pytest.mark.parametrize("suspect", SUSPECTS, ids=[suspect.name for suspect in SUSPECTS])
def test_a_wrong_worker_is_rejected_by_name(capture, suspect):
    names = (*PREFERRED, *workloads())
    workload = next(name for name in names if not suspect.same(inspected(name).program))
    record = capture(suspect.name, inspected(workload))
    assert (record.outcome.status, record.admission.admitted) == ("rejected", False)
    assert suspect.named(record.admission), record.outcome.reason


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_worker_is_admitted(capture, name):
    record = capture(name, inspected("norm_projection"))
    assert (record.outcome.status, record.admission.admitted) == ("ok", True)
