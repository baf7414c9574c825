"""Every compiler on every workload, shape and seed: what admission said, and whether that was right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.arrays import hash_arrays
from tensor_assets.contract.fixtures import BuiltFixture, build_fixtures
from tensor_assets.contract.manifest import Manifest, load_workloads
from tensor_assets.contract.rows import COLUMNS, ROWS, Entangled, take
from tensor_assets.contract.shapes import Shapes, load_shapes
from tensor_assets.contract.violations import Violation, violations
from tensor_assets.records import Admission
from tensor_assets_tests.adversary.compiler.adapter import RIGHT
from tensor_assets_tests.adversary.suspects import SUSPECTS, Suspect
from tensor_assets_tests.adversary.trials import tried

FIXTURES = Path(__file__).parents[2] / "fixtures"
# Of the tail's 1000 rows and 1024 columns. The last 40 rows are its last tile.
TAIL_ROWS, TAIL_COLUMNS = 64, 128

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
    """The workload's fixtures at that shape; of the tail, the last rows and columns of each."""
    program = workloads()[workload].program(shape, shapes())
    fixtures = build_fixtures(program, names, seed)
    return _corner(program, fixtures) if shape == "tail" else Bench(program, fixtures)


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
    named = suspect.named(admission) or _one_answer(suspect, tools, admission)
    return ("caught" if named else "misnamed"), admission.reason


def _one_answer(suspect: Suspect, tools: Bench, admission: Admission) -> bool:
    """Whether the violation that was named answers every exact fixture as the right one does: no answer tells them
    apart."""
    known = violations(tools.program)
    meant = [violation for violation in known if any(words in violation.name for words in suspect.boundary)]
    named = [violation for violation in known if admission.boundary.partition(":")[0] == violation.name]
    return any(_same(tools, one, other) for one in meant for other in named)


def _same(tools: Bench, one: Violation, other: Violation) -> bool:
    for fixture in tools.fixtures:
        if fixture.exact:
            answers = [violation.outputs(tools.program, fixture.inputs) for violation in (one, other)]
            if any(not np.array_equal(answers[0][name], answers[1][name], equal_nan=True) for name in answers[0]):
                return False
    return True


def _corner(program: Program, fixtures: Sequence[BuiltFixture]) -> Bench:
    """The last rows and columns of the outputs, as a program of its own: its parts are independent of the rest."""
    cut, cuts = program, list(fixtures)
    height = program.value(program.outputs[0]).shape[ROWS]
    for along, count in ((ROWS, TAIL_ROWS), (COLUMNS, TAIL_COLUMNS)):
        size = cut.value(cut.outputs[0]).shape[along]
        places = np.arange(size - count, size)
        with suppress(Entangled):  # columns of a row that is normalized
            whole, cut = cut, take(cut, cuts[0].inputs, places, along)[0]
            cuts = [_cut(whole, fixture, places, along) for fixture in cuts]
    return Bench(cut, cuts, height - TAIL_ROWS)


def _cut(program: Program, fixture: BuiltFixture, places: np.ndarray, along: int) -> BuiltFixture:
    """A part of the fixture. Coverage was measured on another part: only rows of exact grids are alike."""

    def part(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: np.take(array, places, axis=along) for name, array in arrays.items()}

    inputs, reference = take(program, fixture.inputs, places, along)[1], part(fixture.reference)
    return msgspec.structs.replace(
        fixture,
        inputs=inputs,
        reference=reference,
        low=fixture.low and part(fixture.low),
        high=fixture.high and part(fixture.high),
        coverage=fixture.coverage if fixture.name.startswith("exact-") else {},
        hashes=hash_arrays({**inputs, **reference}),
    )
