"""A Python function, written with plain tensor operators, as a workload manifest.

The function is called once with stand-ins that write down what is done to them. ``@``, ``+ - * /``, ``** 2``,
``** -0.5``, ``.T``, ``.relu()``, ``.exp()``, ``.square()``, ``.rsqrt()``, ``.amax(-1, keepdim=True)``, ``.sum(…)``,
``.mean(…)`` and their NumPy and torch spellings are understood. Results are FP16, so every one is a boundary; after
``.float()`` they are FP32, interior values, until ``.half()`` rounds. Anything else is refused with its line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import Any

from tensor_worker.program import Dtype

from tensor_assets.contract.manifest import Manifest, Symbol, SymbolicOp, parse_manifest
from tensor_assets.contract.reading import is_name, shown
from tensor_assets.contract.shapes import SYMBOLS
from tensor_assets.contract.standins import Graph, Node, Standin, here
from tensor_assets.contract.writing import manifest_text
from tensor_assets.errors import SettingsError, TraceError

_INPUT = re.compile(r"\s*(\w+)\s*=\s*(\w+)\s*\[([^\]]*)\]\s*(?:,|$)")


def trace(
    function: Callable[..., Any],
    inputs: Iterable[Symbol],
    *,
    workload: str = "",
    question: str = "",
    suite: str = "own",
) -> Manifest:
    """The manifest of ``function`` called with ``inputs``, in order. It returns a value, a tuple or a dict of values.

    Values are called as the function's variables are, where it has one for them. Raises TraceError for what the
    function does that no workload can (with its line), and ManifestError for a result that no manifest may hold.
    """
    symbols = tuple(inputs)
    if not hasattr(function, "__code__"):
        raise TraceError(f"{type(function).__name__} is no Python function, only those can be traced")
    graph = Graph()
    arguments = [graph.input(symbol) for symbol in symbols]
    result, variables = _called(function, arguments)
    outputs = _outputs(function, result)
    graph.merge_roundings(outputs.values())
    names = _names(graph, variables, {name: node for name, node in outputs.items() if name}, symbols)
    kept = _needed(outputs.values())
    ops = tuple(_op(node, names) for node in graph.nodes if node in kept and node.op)
    manifest = Manifest(
        workload=workload or function.__name__,
        suite=suite,
        question=question or _first_line(function) or f"what becomes of {function.__name__}",
        inputs=symbols,
        ops=ops,
        outputs=tuple(names[node.merged] for node in outputs.values()),
    )
    return parse_manifest(manifest_text(manifest), here(function.__code__))


def parse_inputs(text: str) -> tuple[Symbol, ...]:
    """The inputs in ``x=f16[M,K],b=f16[N]``. Raises SettingsError."""
    found: list[Symbol] = []
    place = 0
    while place < len(text):
        match = _INPUT.match(text, place)
        if match is None:
            raise SettingsError(f"inputs {shown(text)} at {shown(text[place:])}: expected name=f16[M,K]")
        name, dtype, dims = match.groups()
        found.append(Symbol(name=_input_name(name), shape=tuple(map(_dim, dims.split(","))), dtype=_dtype(dtype)))
        place = match.end()
    if not found:
        raise SettingsError("no inputs given, expected name=f16[M,K],…")
    return tuple(found)


def _called(function: Callable[..., Any], arguments: list[Standin]) -> tuple[Any, dict[str, Any]]:
    """The function's result, and its variables as they were when it returned."""
    code: CodeType = function.__code__
    variables: dict[str, Any] = {}

    def watch(frame: FrameType, event: str, value: object) -> None:
        if event == "return" and frame.f_code is code:
            variables.update(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        return function(*arguments), variables
    except TraceError:
        raise
    except Exception as error:
        place = error.__traceback__
        line = code.co_firstlineno
        while place is not None:
            line = place.tb_lineno if place.tb_frame.f_code is code else line
            place = place.tb_next
        raise TraceError(f"{here(code, line)}: {type(error).__name__}: {str(error)[:200]}") from None
    finally:
        sys.setprofile(before)


def _outputs(function: Callable[..., Any], result: Any) -> dict[str, Node]:
    """The returned nodes, by the name that a dict gives them or by a blank one."""
    place = here(function.__code__)
    given = result.items() if isinstance(result, Mapping) else [("", item) for item in _sequence(result)]
    found: dict[str, Node] = {}
    for index, (name, item) in enumerate(given):
        if not isinstance(item, Standin):
            raise TraceError(f"{place}: {function.__name__} returns {shown(item)}, not a tensor")
        if item.node.symbol:
            raise TraceError(f"{place}: {function.__name__} returns its input {item.node.symbol.name} as it is")
        if name and not is_name(str(name)):
            raise TraceError(f"{place}: {shown(name)} cannot name an output")
        found[str(name) or " " * (index + 1)] = item.node
    return {name.strip() or name: node for name, node in found.items()}


def _sequence(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


def _names(
    graph: Graph, variables: Mapping[str, Any], outputs: Mapping[str, Node], inputs: tuple[Symbol, ...]
) -> dict[Node, str]:
    """A name for each node: one that the function has for it, y where it returns one value, else v1, v2, …"""
    names = {node: node.symbol.name for node in graph.nodes if node.symbol}
    taken = {symbol.name for symbol in inputs}
    wanted = [(name, node) for name, node in outputs.items() if not name.isspace()]
    wanted += [(name, value.node) for name, value in variables.items() if isinstance(value, Standin)]
    wanted += [("y", node) for node in outputs.values() if len(outputs) == 1]
    for name, node in wanted:
        if node.merged not in names and name not in taken and is_name(name):
            names[node.merged] = name
            taken.add(name)
    count = 0
    for node in graph.nodes:
        if node.merged not in names:
            count += 1
            while f"v{count}" in taken:
                count += 1
            names[node.merged] = f"v{count}"
    return names


def _needed(outputs: Iterable[Node]) -> set[Node]:
    """What the outputs depend on; what was computed in vain is no part of the program."""
    found: set[Node] = set()
    rest = [node.merged for node in outputs]
    while rest:
        node = rest.pop()
        if node not in found:
            found.add(node)
            rest += [part.merged for part in node.of if isinstance(part, Node)]
    return found


def _op(node: Node, names: Mapping[Node, str]) -> SymbolicOp:
    of = tuple(names[part.merged] if isinstance(part, Node) else part for part in node.of)
    return SymbolicOp(name=names[node], op=node.op, of=of, shape=node.dims, dtype=node.dtype)  # type: ignore[arg-type]


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().splitlines()[0][:300].strip() if function.__doc__ else ""


def _input_name(text: str) -> str:
    if not is_name(text):
        raise SettingsError(f"input {shown(text)} is no name: a letter, then letters, digits, underscores")
    return text


def _dim(text: str) -> str | int:
    text = text.strip()
    if text in SYMBOLS:
        return text
    if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text):
        return int(text)
    raise SettingsError(f"size {shown(text)} is not allowed, expected {', '.join(SYMBOLS)} or a positive integer")


def _dtype(text: str) -> Dtype:
    if text == "f16":
        return "f16"
    if text == "f32":
        return "f32"
    raise SettingsError(f"dtype {shown(text)} is not allowed, expected f16 or f32")
