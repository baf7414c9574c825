"""What one compilation left to look at, and how its names lead back to the program's ops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tensor_worker.messages import Activity
from tensor_worker.program import Program

from .output_code import OutputCode
from .recording import Recording
from .source import Source, identifier
from .variants import Configuration


@dataclass(frozen=True)
class Evidence:
    """``debug`` holds the files of Inductor's debug trace by name; it is empty unless ``captured``."""

    program: Program
    configuration: Configuration
    target: str  # "cpu" or "cuda"
    captured: bool
    source: Source
    recording: Recording
    output_text: str
    output: OutputCode
    debug: dict[str, str]
    dump_dir: Path
    observed: tuple[Activity, ...] = ()  # of one invocation, where a device was traced

    @cached_property
    def computed(self) -> tuple[tuple[str, ...], ...]:
        """The program ops of each launch of ``output.calls``, in program order: the fusion map.

        Inductor's provenance mapping knows what a launch computes, and the comment above it the views it looks
        through. An op that a rewrite swallowed (the matmul of an addmm) is in neither: it goes with its only reader.
        """
        mapped = [self._ops(self.recording.provenance.get(call.handle, ())) for call in self.output.calls]
        claimed = set().union(*mapped)
        views = {op.name for op in self.program.ops if op.op == "transpose"}
        for call, ops in zip(self.output.calls, mapped, strict=True):
            ops |= {name for name in self._ops(call.source_nodes) if name in views or name not in claimed}
        for op in reversed(self.program.ops):
            readers = {other.name for other in self.program.ops if op.name in other.of}
            taking = [ops for ops in mapped if ops & readers]
            if len(taking) == 1 and not any(op.name in ops for ops in mapped):
                taking[0].add(op.name)
        return tuple(tuple(op.name for op in self.program.ops if op.name in ops) for ops in mapped)

    def _ops(self, nodes: tuple[str, ...]) -> set[str]:
        graph = self.recording.dynamo
        lines = {node.name: node.line for node in graph.nodes} if graph else {}
        found = {self.source.op_at(line) for name in nodes if (line := lines.get(name)) is not None}
        return {op for op in found if op is not None}

    def input_name(self, argument: str) -> str | None:
        """The program's input behind an argument of ``call``: arguments keep the order of Dynamo's placeholders."""
        graph = self.recording.dynamo
        placeholders = [node for node in graph.nodes if node.kind == "placeholder"] if graph else []
        if argument not in self.output.arguments:
            return None
        local = placeholders[self.output.arguments.index(argument)].target.removeprefix("L_").removesuffix("_")
        return next((value.name for value in self.program.inputs if identifier(value.name) == local), None)
