"""A compiled program as the worker kit wants it, with device memory of its own: buffers that stay where they are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tensor_worker.adapter import Implementation
from tensor_worker.artifacts import Capture, Launch, Plan
from tensor_worker.dump import write_stage
from tensor_worker.normalize import code_sha256
from tensor_worker.program import Program

from .arithmetic import DTYPES, Arithmetic, Array


class Compiled(Implementation):
    """Behaves well; subclasses do not.

    ``first_row``: where the output's rows lie in the whole of which the program is a part, as a row of tiles sees it.
    """

    def __init__(self, program: Program, arithmetic: type[Arithmetic], dump_dir: Path, first_row: int = 0) -> None:
        started = time.perf_counter()
        self.program, self.dump_dir, self.first_row = program, dump_dir, first_row
        self.arithmetic = arithmetic(program)
        self.memory = {value.name: np.zeros(value.shape, DTYPES[value.dtype]) for value in program.inputs}
        values = [program.value(name) for name in program.outputs]
        self.results = {value.name: np.zeros(value.shape, DTYPES[value.dtype]) for value in values}
        self.phases = {"construct": time.perf_counter() - started}

    def upload(self, inputs: Mapping[str, Array]) -> None:
        for name, array in inputs.items():
            np.copyto(self.memory[name], array)
        for result in self.results.values():
            result.fill(np.nan)

    def invoke(self) -> None:
        self.write(self.arithmetic.outputs(self.memory))

    def write(self, answer: Mapping[str, Array]) -> None:
        for name, array in answer.items():
            np.copyto(self.results[name], array)

    def wait(self) -> None:
        pass

    def outputs(self) -> dict[str, Array]:
        return {name: result.copy() for name, result in self.results.items()}

    def capture(self) -> Capture:
        text = f"# {type(self).__name__}, {type(self.arithmetic).__name__}\n"
        text += "".join(f"{op.name} = {op.op}{op.of}: {op.dtype}\n" for op in self.arithmetic.program.ops)
        stage = write_stage(self.dump_dir, "program", "Program", "semantic", "python", text, "Compiled.capture()")
        return Capture(stages=(stage,))

    def plan(self) -> Plan:
        code = code_sha256(f"{type(self).__name__} {type(self.arithmetic).__name__}", "text")
        computes = tuple(op.name for op in self.program.ops)
        return Plan(launches=(Launch(kind="kernel", name="evaluate", code_sha256=code, computes=computes),))
