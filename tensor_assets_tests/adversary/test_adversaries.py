"""Each pair of compiler and workload on some seeds; ``make adversary`` tries fifty, and the tail of every workload."""

from __future__ import annotations

import pytest
from tensor_worker.program import Op, Program, Value

from tensor_assets_tests.adversary import matrix
from tensor_assets_tests.adversary.compiler.adapter import RIGHT, WRONG
from tensor_assets_tests.adversary.matrix import Trial, bench, examine, workloads
from tensor_assets_tests.adversary.suspects import SUSPECTS
from tensor_assets_tests.adversary.table import table
from tensor_assets_tests.adversary.trials import tried

SEEDS = [("inspect", 0), ("inspect", 1), ("matrix_inspect", 2), ("matrix_inspect", 3)]


def test_there_are_enough_of_either_kind():
    assert len(RIGHT) >= 8
    assert len(WRONG) >= 24
    assert [suspect.name for suspect in SUSPECTS] == list(WRONG)


@pytest.mark.parametrize("workload", workloads())
@pytest.mark.parametrize(("shape", "seed"), SEEDS)
def test_wrong_compilers_are_rejected_by_name_and_right_ones_admitted(workload, shape, seed):
    trials = list(examine(workload, shape, seed))
    assert len(trials) == len(RIGHT) + len(WRONG)
    assert [trial for trial in trials if trial.fault] == []


@pytest.mark.parametrize("suspect", SUSPECTS, ids=[suspect.name for suspect in SUSPECTS])
def test_no_wrong_compiler_is_equivalent_everywhere(suspect):
    programs = [manifest.program("inspect", matrix.shapes()) for manifest in workloads().values()]
    assert not all(suspect.same(program) for program in programs)


def test_the_tail_of_the_tail():
    """Rows 936 to 999 of 1000: 40 of them are in a tile that is not whole."""
    tools = bench("weight_view", "tail", 0, ["search", "exact-0", "exact-1"])
    assert (tools.first_row, tools.program.value("y").shape) == (936, (64, 128))
    assert tried("library", *tools).admitted
    assert tried("truncating groups of eight", *tools).admitted
    for name, said in {"tail tile missing": "unwritten output", "tail tile cut": "last 40 of 64 rows wrong"}.items():
        admission = tried(name, *tools)
        assert not admission.admitted
        assert said in admission.reason
    assert tried("FP16 accumulation", *tools).boundary == "FP16 accumulation"


@pytest.mark.parametrize(
    ("compiler", "workload", "shape", "seed", "boundary"),
    [
        # Zeros for subnormal results explain every wrong element, too, but not one of 192 right ones of exact-1.
        (
            "subnormal operands flushed",
            "projection_chain",
            "matrix_inspect",
            18,
            "subnormal operands flushed: y or p, y",
        ),
        # Of a wrong norm an FP16 value may be an FP32 unit from a tie, and decides a row: of a fixture that passed,
        ("sum negated", "norm_projection", "inspect", 41, "t has the wrong sign"),
        ("number forgotten", "norm_projection", "inspect", 105, "number left out"),
        # or of one that did not.
        ("sum negated", "norm_projection", "inspect", 108, "t has the wrong sign"),
    ],
)
def test_the_name_is_what_fits_all_that_came_back(compiler, workload, shape, seed, boundary):
    admission = tried(compiler, *bench(workload, shape, seed))
    assert not admission.admitted
    assert admission.boundary.startswith(boundary)
    assert admission.boundary_share == 1.0


def rows_of(*ops: Op) -> Program:
    """A program over one input x [2, 4]; every op keeps its shape."""
    return Program(
        workload="w", shape="s", inputs=(Value(name="x", shape=(2, 4), dtype="f16"),), ops=ops, outputs=(ops[-1].name,)
    )


def op(name: str, kind: str, *of: str, dtype: str = "f16") -> Op:
    return Op(name=name, op=kind, of=of, shape=(2, 4), dtype=dtype)


PROOFS = {suspect.name: suspect.same for suspect in SUSPECTS}


@pytest.mark.parametrize(
    ("name", "program", "same"),
    [
        ("intermediate not rounded", rows_of(op("a", "add", "x", "x")), True),
        ("intermediate not rounded", rows_of(op("a", "add", "x", "x"), op("y", "relu", "a")), True),
        ("intermediate not rounded", rows_of(op("a", "add", "x", "x"), op("y", "mul", "a", "x")), False),
        (
            "intermediate not rounded",
            rows_of(op("a", "add", "x", "x"), op("r", "relu", "a"), op("y", "mul", "r", "x")),
            False,
        ),
        ("intermediate not rounded", rows_of(op("a", "add", "x", "x", dtype="f32"), op("y", "relu", "a")), True),
        ("epilogue reordered", rows_of(op("a", "add", "x", "x"), op("y", "add", "a", "x")), False),
        ("epilogue reordered", rows_of(op("a", "add", "x", "x", dtype="f32"), op("y", "add", "a", "x")), True),
        ("ties rounded away", rows_of(op("a", "add", "x", "x", dtype="f32"), op("y", "mul", "a", "x")), False),
        ("ties rounded away", rows_of(op("a", "exp", "x", dtype="f32"), op("y", "mul", "a", "x")), True),
        ("saturated", rows_of(op("a", "exp", "x", dtype="f32"), op("y", "div", "a", "x")), False),
    ],
)
def test_proofs_hold_for_programs_of_their_kind_alone(name, program, same):
    assert bool(PROOFS[name](program)) == same


def test_the_table_counts_and_names_faults():
    trials = [
        Trial("sequential", "gemm", "inspect", 0, "admitted", right=True),
        Trial("reversed", "gemm", "inspect", 0, "rejected", "y wrong", right=True),
        Trial("K off by one", "gemm", "inspect", 0, "caught"),
        Trial("K off by one", "bias", "inspect", 0, "admitted"),
        Trial("outputs swapped", "gemm", "inspect", 0, "equivalent", "there is one output"),
    ]
    lines = list(table(trials))
    assert lines[1].split() == ["sequential", "1", "1", "1", "0"]
    assert lines[2].split() == ["reversed", "1", "1", "0", "1"]
    assert lines[5].split()[-6:] == ["one", "2", "2", "1", "0", "1"]
    assert "  outputs swapped: there is one output (gemm)" in lines
    assert "2 faults" in lines
    assert "  K off by one on bias (inspect, seed 0) admitted: " in lines
