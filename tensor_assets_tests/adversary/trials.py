"""One compiler on one program's fixtures, in this process, in the order and with the checks of a real capture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.admission import Run, admit
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.records import Admission
from tensor_assets_tests.adversary.compiler.adapter import COMPILERS
from tensor_assets_tests.adversary.compiler.implementation import Compiled

NOWHERE = Path()  # nothing is captured here


def tried(name: str, program: Program, fixtures: Sequence[BuiltFixture], first_row: int = 0) -> Admission:
    """The compiler of that name, admitted or not; it runs the first exact fixture again at the end, invoked twice."""
    arithmetic, implementation = COMPILERS[name]
    compiled = implementation(program, arithmetic, NOWHERE, first_row)
    runs = [_run(compiled, fixture, 1) for fixture in fixtures]
    runs += [_run(compiled, fixture, 2) for fixture in fixtures if fixture.exact][:1]
    return admit(program, runs)


def _run(compiled: Compiled, fixture: BuiltFixture, invocations: int) -> Run:
    inputs = {name: array.copy() for name, array in fixture.inputs.items()}
    compiled.upload(inputs)
    for _ in range(invocations):
        compiled.invoke()
        compiled.wait()
    outputs = {name: np.ascontiguousarray(array) for name, array in compiled.outputs().items()}
    return Run(fixture, outputs, inputs)
