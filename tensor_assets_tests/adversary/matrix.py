"""Every compiler on every workload, shape and seed: what admission said, and whether that was right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from tensor_worker.program import Program

from tensor_assets.contract.arrays import hash_arrays
from tensor_assets.contract.fixtures import BuiltFixture, build_fixtures
from tensor_assets.contract.manifest import Manifest, load_workloads
from tensor_assets.contract.rows import take
from tensor_assets.contract.shapes import Shapes, load_shapes
from tensor_assets_tests.adversary.compiler.adapter import RIGHT
from tensor_assets_tests.adversary.suspects import SUSPECTS, Suspect
from tensor_assets_tests.adversary.trials import tried

FIXTURES = Path(__file__).parents[2] / "fixtures"
TAIL_ROWS = 64  # of the tail's 1000: the last 40 are its last tile

Finding = Literal["admitted", "rejected", "caught", "equivalent", "misnamed"]
FAULTS: dict[bool, tuple[Finding, ...]] = {True: ("rejected",), False: ("admitted", "misnamed", "rejected")}


class Trial(NamedTuple):
    """``finding`` of a wrong compiler: "caught" is rejected under the right name; "rejected" is a proof that failed."""

    compiler: str
    workload: str
    shape: str
    seed: int
    finding: Finding
    said: str = ""  # by the admission, or by the proof
    right: bool = False

    @property
    def fault(self) -> bool:
        return self.finding in FAULTS[self.right]


class Bench(NamedTuple):
    """One program with its fixtures; ``first_row`` is where its rows lie in the whole program's."""

    program: Program
    fixtures: Sequence[BuiltFixture]
    first_row: int = 0


def workloads() -> dict[str, Manifest]:
    return load_workloads([FIXTURES / "workloads"])


def shapes() -> Shapes:
    return load_shapes(FIXTURES / "shapes.json")


def bench(workload: str, shape: str, seed: int, names: Iterable[str] | None = None) -> Bench:
    """The workload's fixtures at that shape; of the tail, the last rows of each."""
    program = workloads()[workload].program(shape, shapes())
    fixtures = build_fixtures(program, names, seed)
    return _last_rows(program, fixtures) if shape == "tail" else Bench(program, fixtures)


def examine(workload: str, shape: str, seed: int) -> Iterator[Trial]:
    """All compilers, right and wrong."""
    tools = bench(workload, shape, seed)
    for name in RIGHT:
        admission = tried(name, *tools)
        finding: Finding = "admitted" if admission.admitted else "rejected"
        yield Trial(name, workload, shape, seed, finding, admission.reason, right=True)
    for suspect in SUSPECTS:
        yield Trial(suspect.name, workload, shape, seed, *_found(suspect, tools))


def _found(suspect: Suspect, tools: Bench) -> tuple[Finding, str]:
    admission = tried(suspect.name, *tools)
    proof = suspect.same(tools.program)
    if proof:
        return ("equivalent", proof) if admission.admitted else ("rejected", f"{admission.reason}, although {proof}")
    if admission.admitted:
        return "admitted", admission.reason
    return ("caught" if suspect.named(admission) else "misnamed"), admission.reason


def _last_rows(program: Program, fixtures: Sequence[BuiltFixture]) -> Bench:
    height = program.value(program.outputs[0]).shape[0]
    rows = range(height - TAIL_ROWS, height)
    cut, _ = take(program, fixtures[0].inputs, rows)
    return Bench(cut, [_cut(program, fixture, rows) for fixture in fixtures], rows.start)


def _cut(program: Program, fixture: BuiltFixture, rows: range) -> BuiltFixture:
    """Some rows of the fixture; coverage was measured on others."""
    inputs = take(program, fixture.inputs, rows)[1]
    chosen = slice(rows.start, rows.stop)
    reference = {name: array[chosen] for name, array in fixture.reference.items()}
    return msgspec.structs.replace(
        fixture,
        inputs=inputs,
        reference=reference,
        low=fixture.low and {name: array[chosen] for name, array in fixture.low.items()},
        high=fixture.high and {name: array[chosen] for name, array in fixture.high.items()},
        coverage={},
        hashes=hash_arrays({**inputs, **reference}),
    )
