"""Compiles through Inductor and keeps what passes by: FX graphs, output code, autotuning tables."""

from __future__ import annotations

import ast
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tensor_worker.artifacts import Candidate
from tensor_worker.candidates import note_candidate, note_generated


@dataclass(frozen=True)
class FxNode:
    """A node of an FX graph. ``line`` is the line of the program's source that it was traced from."""

    name: str
    target: str
    kind: str  # FX's own: placeholder, call_function, …
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    inputs: tuple[str, ...]
    line: int | None


@dataclass(frozen=True)
class FxGraph:
    text: str
    nodes: tuple[FxNode, ...]


@dataclass(frozen=True)
class Autotuned:
    """One autotuning table: every implementation of one contraction that Inductor considered."""

    operation: str
    choices: tuple[Choice, ...]
    shapes: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    name: str
    kind: str  # Inductor's class of choice: ExternKernelCaller, TritonTemplateCaller, …
    parameters: dict[str, str | int | float | bool]
    milliseconds: float | None  # None: it could not be benchmarked
    refusal: str = ""

    def candidate(self, table: str, chosen: bool = False) -> Candidate:
        return Candidate(
            name=f"{table}: {self.name}" if table else self.name,
            chosen=chosen,
            parameters={"kind": self.kind, **self.parameters},
            measured_ns=None if self.milliseconds is None else self.milliseconds * 1e6,
            refused="" if chosen else self.refusal or "slower",
        )

    def noted(self) -> Candidate:
        """While its search runs: a time is neither chosen nor beaten yet."""
        return replace(self.candidate(""), refused=self.refusal)


@dataclass
class Recording:
    """What one compilation left behind; ``seconds`` is the time spent inside Inductor."""

    dump_dir: Path
    dynamo: FxGraph | None = None
    fx: FxGraph | None = None
    diagnostic: str = ""
    code: list[str] = field(default_factory=list)
    provenance: dict[str, tuple[str, ...]] = field(default_factory=dict)  # kernel → nodes of the Dynamo graph
    tables: list[Autotuned] = field(default_factory=list)
    refusals: dict[int, str] = field(default_factory=dict)  # why a choice has no time, by its identity
    waiting: dict[int, Any] = field(default_factory=dict)  # choices that were generated and not noted yet, by identity
    seconds: float = 0.0
    started: float = 0.0

    def backend(self, options: Mapping[str, Any]) -> Callable[[Any, Any], Any]:
        """A backend for ``torch.compile`` that is Inductor with ``options``, observed."""
        import torch._functorch.config
        from torch._inductor.compile_fx import compile_fx, compile_fx_inner

        def inner(graph: Any, example_inputs: Any, **arguments: Any) -> Any:
            self.fx = read_graph(graph)
            compiled = compile_fx_inner(graph, example_inputs, **arguments)
            self.code.append(compiled.source_code)
            self.provenance.update(_provenance(compiled))
            return compiled

        def backend(graph: Any, example_inputs: Any) -> Any:
            self.dynamo = read_graph(graph)
            self.started = time.perf_counter()
            try:
                # A hit in AOTAutograd's cache would go past ``inner``; Inductor's own graph cache stays.
                with torch._functorch.config.patch(enable_autograd_cache=False):
                    return compile_fx(graph, example_inputs, inner_compile=inner, config_patches=dict(options))
            finally:
                self.seconds += time.perf_counter() - self.started

        return backend

    @contextmanager
    def tables_kept(self) -> Iterator[None]:
        """While it lasts, every choice is noted before Inductor compiles it and once it is tried; tables are kept."""
        from torch._inductor import select_algorithm
        from torch._inductor.ir import ChoiceCaller

        cache = select_algorithm.AlgorithmSelectorCache
        benchmark, mark_failed = cache.__dict__["benchmark_choice"], ChoiceCaller.mark_failed
        select_algorithm.add_preprocessing_fn(self._generated)
        select_algorithm.add_feedback_saver(self._keep_table)
        cache.benchmark_choice = classmethod(self._observed(benchmark.__func__))
        ChoiceCaller.mark_failed = self._failing(mark_failed)
        try:
            yield
        finally:
            ChoiceCaller.mark_failed = mark_failed
            cache.benchmark_choice = benchmark
            select_algorithm.clear_feedback_savers()
            select_algorithm.clear_preprocessing_fns()

    def _generated(self, choices: list[Any]) -> list[Any]:
        """Inductor compiles all of them, which may take minutes, before it times the first. One alone is not timed."""
        if len(choices) > 1:
            self.waiting.update((id(choice), choice) for choice in choices)
            note_generated(self.dump_dir, [self.row(choice).noted() for choice in choices])
        return choices

    def _failing(self, mark_failed: Callable[[Any], None]) -> Callable[[Any], None]:
        """``mark_failed`` of one choice: it did not compile, and Inductor drops it from its table."""

        def failing(choice: Any) -> None:
            mark_failed(choice)
            self._note(choice, None)

        return failing

    def _note(self, choice: Any, milliseconds: float | None) -> None:
        self.waiting.pop(id(choice), None)
        note_candidate(self.dump_dir, self.row(choice, milliseconds).noted())

    def _observed(self, benchmark: Callable[..., float]) -> Callable[..., float]:
        """``benchmark`` of one choice; Inductor turns what it raises into an infinite time and forgets why."""

        def observed(cls: Any, choice: Any, *arguments: Any) -> float:
            try:
                milliseconds = benchmark(cls, choice, *arguments)
            except Exception as error:
                self.refusals[id(choice)] = " ".join(str(error).split())
                self._note(choice, None)
                raise
            self._note(choice, milliseconds)
            return milliseconds

        return observed

    def _keep_table(self, timings: Any, name: str, input_nodes: Any, choices: Any, *_: Any) -> None:
        measured = {id(choice): value for choice, value in timings.items()}
        for choice in choices:
            if id(choice) in self.waiting:  # a contraction like an earlier one is answered with that one's times
                self._note(choice, measured.get(id(choice)))
        rows = tuple(self.row(choice, measured.get(id(choice))) for choice in choices)
        shapes = tuple(str(tuple(node.get_size())) for node in input_nodes)
        self.tables.append(Autotuned(operation=name, choices=rows, shapes=shapes))

    def row(self, choice: Any, milliseconds: float | None = None) -> Choice:
        """What Inductor says of one of its choices; without a time where it could not be benchmarked."""
        usable = milliseconds is not None and math.isfinite(milliseconds)
        return Choice(
            name=str(choice.name),
            kind=type(choice).__name__,
            parameters=_parameters(choice.info_dict() if hasattr(choice, "info_dict") else {}),
            milliseconds=milliseconds if usable else None,
            refusal="" if usable else self.refusals.get(id(choice), "did not compile or run"),
        )


def read_graph(graph: Any) -> FxGraph:
    """The graph as it is now; later passes change it in place."""
    return FxGraph(text=graph.print_readable(print_output=False), nodes=tuple(map(_node, graph.graph.nodes)))


@contextmanager
def debug_files(folder: Path) -> Iterator[None]:
    """While it lasts, Inductor's debug trace goes below ``folder``."""
    import torch._dynamo

    previous = torch._dynamo.config.debug_dir_root
    torch._dynamo.config.debug_dir_root = str(folder)
    try:
        yield
    finally:
        torch._dynamo.config.debug_dir_root = previous


def diagnostic_trace(function: Callable[..., Any], inputs: tuple[Any, ...]) -> str:
    """The same function traced outside ``torch.compile``, in ATen operators and with Inductor's decompositions."""
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(function, decomposition_table=select_decomp_table(), tracing_mode="fake")(*inputs)
    return str(graph.print_readable(print_output=False))


def _provenance(compiled: Any) -> dict[str, tuple[str, ...]]:
    """Kernel names (``name:handle``, as in the output code's comments) with the Dynamo nodes that they compute."""
    mapping = json.loads(getattr(compiled, "inductor_provenance_mapping_str", None) or "{}")
    before = mapping.get("postToPre", {})
    return {
        kernel: tuple(dict.fromkeys(name for node in nodes for name in before.get(node, ())))
        for kernel, nodes in mapping.get("cppCodeToPost", {}).items()
    }


def _node(node: Any) -> FxNode:
    value = node.meta.get("val", node.meta.get("example_value"))
    tensor = hasattr(value, "shape") and hasattr(value, "stride")
    return FxNode(
        name=node.name,
        target=str(node.target) if node.op != "call_function" else _target(node.target),
        kind=node.op,
        shape=tuple(int(size) for size in value.shape) if tensor else (),
        dtype=str(value.dtype).removeprefix("torch.") if tensor else "",
        stride=tuple(int(step) for step in value.stride()) if tensor else (),
        inputs=tuple(source.name for source in node.all_input_nodes),
        line=_source_line(node.meta.get("stack_trace") or ""),
    )


def _target(target: Any) -> str:
    if hasattr(target, "_overloadpacket"):
        return str(target)
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}".lstrip(".")


def _source_line(trace: str) -> int | None:
    """The innermost line of the program's own source in a node's stack trace."""
    line = None
    for entry in trace.splitlines():
        if entry.strip().startswith(f'File "{SOURCE_NAME}", line '):
            line = int(entry.split(", line ")[1].split(",")[0])
    return line


# The name the program's source is compiled under: no path, so that it is the same in every process.
SOURCE_NAME = "program.py"


def _parameters(details: Any) -> dict[str, str | int | float | bool]:
    """Inductor reports a template's ``tile_shape`` as (BLOCK_M, BLOCK_K, BLOCK_N)."""
    flat = details if isinstance(details, dict) else {}
    found = {
        str(key): value if isinstance(value, str | int | float | bool) else str(value) for key, value in flat.items()
    }
    if isinstance(tile := found.pop("tile_shape", None), str):
        m, k, n = ast.literal_eval(tile)
        found |= {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    return found
