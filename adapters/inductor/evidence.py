"""What one compilation left to look at, and how its names lead back to the program's ops."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tensor_worker.program import Program

from .output_code import Call, OutputCode
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

    def computes(self, call: Call) -> tuple[str, ...]:
        """The program ops of a launch, in program order: Inductor names Dynamo's nodes, which know their lines.

        Its provenance mapping knows what a launch computes. Its comment above the launch also lists what went before;
        from there come the views that the launch looks through.
        """
        kernel = self._ops(self.recording.provenance.get(call.handle, ()))
        commented = self._ops(call.source_nodes)
        views = {op.name for op in self.program.ops if op.op == "transpose"} & commented
        found = kernel | views if kernel else commented
        return tuple(op.name for op in self.program.ops if op.name in found)

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
