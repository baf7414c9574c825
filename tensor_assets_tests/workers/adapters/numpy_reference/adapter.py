"""A "compiler" that interprets any program with NumPy and keeps the contract: tests need one whose answers are known.

Variants: ``default`` keeps the contract; ``unrounded`` drops every interior boundary, as a real compiler's fusion does.
The others cheat or fail, each in its own way, and are told apart by what they do in ``CheatingImplementation``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
from tensor_worker.adapter import Adapter, Implementation, Unavailable, Unsupported
from tensor_worker.artifacts import Candidate, Capture, Edge, Launch, Node, Plan, Search, SemanticGraph
from tensor_worker.dump import write_stage
from tensor_worker.messages import PROTOCOL, Compile, Greeting, Variant
from tensor_worker.normalize import code_sha256
from tensor_worker.program import Op, Program

from .interpret import evaluate

ROLES = {"matmul": "contraction", "transpose": "view", "max": "reduction", "sum": "reduction", "mean": "reduction"}


class NumpyImplementation(Implementation):
    device = "cpu"

    def __init__(self, request: Compile, dump_dir: Path) -> None:
        started = time.perf_counter()
        self.program, self.variant, self.dump_dir = request.program, request.variant, dump_dir
        self.source = render(request.program)
        self.inputs: dict[str, np.ndarray] = {}
        self.results: dict[str, np.ndarray] = {}
        self.phases = {"render": time.perf_counter() - started}

    def upload(self, inputs: Mapping[str, np.ndarray]) -> None:
        self.inputs = dict(inputs)
        values = [self.program.value(name) for name in self.program.outputs]
        self.results = {value.name: np.full(value.shape, np.nan, np.float16) for value in values}

    def invoke(self) -> None:
        self.results = evaluate(self.program, self.inputs, rounded=self.variant != "unrounded")

    def wait(self) -> None:
        pass

    def outputs(self) -> dict[str, np.ndarray]:
        return self.results

    def capture(self) -> Capture:
        stage = write_stage(self.dump_dir, "program", "Program", "semantic", "python", self.source, "render()")
        nodes = tuple(
            Node(id=op.name, op=op.op, role=ROLES.get(op.op, "epilogue"), shape=op.shape, dtype=op.dtype)
            for op in self.program.ops
        )
        edges = tuple(Edge(source=str(of), target=op.name) for op in self.program.ops for of in op.of)
        return Capture(stages=(stage,), graph=SemanticGraph(stage="program", nodes=nodes, edges=edges))

    def plan(self) -> Plan:
        code = code_sha256(self.source + self.variant, "python")
        names = tuple(op.name for op in self.program.ops)
        return Plan(launches=(Launch(kind="kernel", name="interpret", code_sha256=code, computes=names),))


class CheatingImplementation(NumpyImplementation):
    """Right in everything but what its variant names."""

    def upload(self, inputs: Mapping[str, np.ndarray]) -> None:
        super().upload(inputs)
        if self.variant == "overwriting":
            for path in self.dump_dir.parent.glob("arrays/*.inputs.npz"):
                path.write_bytes(b"")

    def invoke(self) -> None:
        if self.variant == "lazy":
            return
        super().invoke()
        if self.variant == "tampering":
            self.inputs["x"][0, 0] += 1
        if self.variant == "spoiling":
            self.inputs = self.inputs | {"x": self.inputs["x"] + 1}  # a copy, as on a device: the host sees nothing
        if self.variant == "constant":
            self.results = {name: np.ones_like(array) for name, array in self.results.items()}
        if self.variant == "double":
            self.results = {name: array.astype(np.float64) for name, array in self.results.items()}

    def capture(self) -> Capture:
        capture = super().capture()
        if self.variant == "escaping":
            (self.dump_dir / "passwords").symlink_to("/etc/passwd")
            escaping = msgspec.structs.replace(capture.stages[0], name="passwords", path="passwords")
            return msgspec.structs.replace(capture, stages=(*capture.stages, escaping))
        return capture

    def plan(self) -> Plan:
        if self.variant == "dying":
            os.abort()
        return super().plan()


class SearchedImplementation(NumpyImplementation):
    """Says that it timed candidates: the second fastest drops the boundaries, the third is the chosen one again."""

    def __init__(self, request: Compile, dump_dir: Path) -> None:
        super().__init__(request, dump_dir)
        self.built = request.candidate or SEARCHED[0]

    def invoke(self) -> None:
        self.results = evaluate(self.program, self.inputs, rounded=bool(self.built.parameters["rounds"]))

    def capture(self) -> Capture:
        search = Search(scope="four ways to write it", tried=4, seconds=0.0, candidates=SEARCHED)
        return msgspec.structs.replace(super().capture(), search=search)

    def plan(self) -> Plan:
        code = code_sha256(self.source + str(self.built.parameters["rounds"]), "python")
        return Plan(launches=(Launch(kind="kernel", name=self.built.name, code_sha256=code),))


SEARCHED = (
    Candidate(name="chosen", chosen=True, measured_ns=4.0, parameters={"rounds": True}),
    Candidate(name="the same by another name", chosen=False, measured_ns=6.0, parameters={"rounds": True}),
    Candidate(name="hasty", chosen=False, measured_ns=5.0, parameters={"rounds": False}),
    Candidate(name="never timed", chosen=False, parameters={"rounds": True}, refused="too large"),
)

CHEATS = ("lazy", "overwriting", "tampering", "spoiling", "constant", "double", "escaping", "dying")


class NumpyAdapter(Adapter):
    name = "numpy_reference"

    def greeting(self) -> Greeting:
        variants = [
            Variant(name="default", summary="rounds at every boundary", targets=("cpu",)),
            Variant(name="unrounded", summary="drops the boundaries", targets=("cpu",), keeps_contract=False),
            Variant(name="searched", summary="times", targets=("cpu",), deterministic=False, rebuilds=True),
        ]
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=np.__version__,
            versions={"numpy": np.__version__},
            toolchain={},
            variants=tuple(variants),
        )

    def compile(self, request: Compile, inputs: Mapping[str, np.ndarray], dump_dir: Path) -> Implementation:
        print("compilers print to stdout, and the protocol must survive it")
        if request.target != "cpu":
            raise Unsupported(f"NumPy does not compile for {request.target}")
        if request.variant == "absent":
            raise Unavailable("the tool of this variant is not installed", "apt-get install the-tool")
        if request.variant == "searched":
            return SearchedImplementation(request, dump_dir)
        kind = CheatingImplementation if request.variant in CHEATS else NumpyImplementation
        return kind(request, dump_dir)


def render(program: Program) -> str:
    """The program as text, one op a line."""
    return "".join(f"{op.name} = {call(op)}\n" for op in program.ops)


def call(op: Op) -> str:
    return f"{op.op}({', '.join(str(of) for of in op.of)}, dtype={op.dtype})"


ADAPTER = NumpyAdapter
