"""Every program of the project's own is one; what a bundle may not bring is in ``hostile_records``."""

from __future__ import annotations

import msgspec
import pytest

from tensor_assets.contract.manifest import load_workloads
from tensor_assets.contract.shapes import load_shapes
from tensor_assets.evidence.programs import problem_of
from tensor_assets.settings import ROOT

WORKLOADS = load_workloads([ROOT / "fixtures" / "workloads"])
SHAPES = load_shapes(ROOT / "fixtures" / "shapes.json")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_program_of_a_manifest_is_one_at_every_shape(workload: str) -> None:
    for shape in SHAPES:
        assert problem_of(WORKLOADS[workload].program(shape, SHAPES)) == ""


def test_shapes_that_do_not_follow_from_the_ops_are_told() -> None:
    program = WORKLOADS["gemm"].program("inspect", SHAPES)
    *others, last = program.ops
    wider = msgspec.structs.replace(last, shape=(*last.shape[:-1], last.shape[-1] + 1))
    assert "not what its ops give" in problem_of(msgspec.structs.replace(program, ops=(*others, wider)))
