"""Reduction on truth that the test decides: it keeps what fails, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensor_assets.contract.manifest import load_workloads
from tensor_assets.repro.reduction import Sketch, cuts, reduce
from tensor_assets.settings import ROOT

WORKLOADS = load_workloads([ROOT / "fixtures" / "workloads"])
START = (1024, 768, 1024)


def has(sketch: Sketch, *ops: str) -> bool:
    return {op.op for op in sketch.manifest.ops} >= set(ops)


def test_only_the_op_that_fails_is_left() -> None:
    start = Sketch(WORKLOADS["two_layer"], START)
    found = reduce(start, lambda sketch: has(sketch, "relu"))
    assert [op.op for op in found.sketch.manifest.ops] == ["relu"]
    assert found.sketch.sizes == (1, 1, 1)
    assert "ops → 1" in found.words(start)


def test_a_pair_of_ops_stays_a_pair() -> None:
    start = Sketch(WORKLOADS["residual_relu"], START)
    found = reduce(start, lambda sketch: has(sketch, "matmul", "add"))
    assert sorted(op.op for op in found.sketch.manifest.ops) == ["add", "matmul"]


@settings(max_examples=30, deadline=None)
@given(needed=st.tuples(*[st.integers(1, 1024)] * 3))
def test_sizes_shrink_to_within_a_factor_of_two_of_what_is_needed(needed: tuple[int, int, int]) -> None:
    start = Sketch(WORKLOADS["gemm"], (1024, 1024, 1024))
    found = reduce(start, lambda sketch: all(a >= b for a, b in zip(sketch.sizes, needed, strict=True)))
    for size, least in zip(found.sketch.sizes, needed, strict=True):
        assert least <= size < 2 * least or size == 1024


def test_what_fails_only_whole_stays_whole_and_says_so() -> None:
    start = Sketch(WORKLOADS["gated_projections"], START)
    found = reduce(start, lambda sketch: sketch == start)
    assert found.sketch == start
    assert found.words(start) == "nothing: no smaller program fails the same way"


def test_no_program_is_tried_twice_and_none_beyond_the_limit() -> None:
    tried: list[Sketch] = []

    def fails(sketch: Sketch) -> bool:
        tried.append(sketch)
        return len(sketch.manifest.ops) > 2

    found = reduce(Sketch(WORKLOADS["two_layer"], START), fails, limit=7)
    assert found.trials == len(tried) <= 7
    assert len({(sketch.manifest.ops, sketch.manifest.inputs, sketch.sizes) for sketch in tried}) == len(tried)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_cut_is_a_smaller_workload(workload: str) -> None:
    manifest = WORKLOADS[workload]
    for cut in cuts(manifest):
        program = Sketch(cut, (8, 16, 24)).program
        assert program.outputs
        assert len(cut.ops) < len(manifest.ops) or len(cut.outputs) < len(manifest.outputs)
