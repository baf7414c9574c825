"""Reads Inductor's output code: the kernels it defines, and what ``call`` does with them, in order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# Inductor's own comment above a launch: the nodes of the traced program that the launch computes.
_SOURCE_NODES = re.compile(r"#\s*Topologically Sorted Source Nodes: \[([^\]]*)\]")
# The key of a launch in Inductor's provenance mapping.
_HANDLE = re.compile(r"#\s*\[Provenance debug handles\] (\S+)")
_BYTES = {"float16": 2, "float32": 4, "bfloat16": 2, "int32": 4, "int64": 8, "int8": 1, "uint8": 1, "bool": 1}
_LIBRARY = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.")


@dataclass(frozen=True)
class Kernel:
    """A kernel that the output code defines. ``lines`` is its definition's range, 1-based, inclusive."""

    name: str
    language: Literal["cpp", "python"]  # C++ on the CPU, Triton's Python on a GPU
    text: str
    lines: tuple[int, int]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of its parameters in the order of a launch's arguments; they say what is read and written."""
        if self.language == "cpp":
            head = re.search(r"\bkernel\(([^)]*)\)", self.text)
            return tuple(re.split(r"[\s*&]+", part.strip())[-1] for part in head[1].split(",")) if head else ()
        function = next(n for n in ast.walk(ast.parse(self.text)) if isinstance(n, ast.FunctionDef))
        return tuple(argument.arg for argument in function.args.args)


@dataclass(frozen=True)
class Call:
    """One launch in ``call``. ``kernel`` is None where a library does the work."""

    name: str
    kernel: Kernel | None
    text: str
    line: int
    arguments: tuple[str, ...]  # buffer names, or literals as written
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    source_nodes: tuple[str, ...]
    handle: str  # its key in the provenance mapping, empty where Inductor wrote none


@dataclass(frozen=True)
class Allocation:
    """A buffer by its name in ``call``; ``reuses`` names the dead buffer whose memory it took over."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    reuses: str = ""


@dataclass(frozen=True)
class OutputCode:
    kernels: dict[str, Kernel]
    calls: tuple[Call, ...]
    allocations: dict[str, Allocation]
    returned: tuple[str, ...]
    arguments: tuple[str, ...]


class NotOutputCode(Exception):
    """The text is not laid out as Inductor's output code is known to be."""


def read_output_code(text: str) -> OutputCode:
    """Raises NotOutputCode where there is no ``call``."""
    tree, lines = ast.parse(text), text.splitlines()
    call = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"), None)
    if call is None:
        raise NotOutputCode("Inductor's output code has no function named call")
    kernels = {kernel.name: kernel for kernel in _kernels(tree)}
    statements = list(_statements(call.body))
    return OutputCode(
        kernels=kernels,
        calls=tuple(made for s in statements if (made := _launch(s, kernels, lines)) is not None),
        allocations=_allocations(statements),
        returned=_returned(statements),
        arguments=_arguments(statements),
    )


def _kernels(tree: ast.Module) -> Iterator[Kernel]:
    for node in tree.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        made = ast.unparse(node.value.func)
        texts = [a.value for a in node.value.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if made.startswith("async_compile.") and isinstance(node.targets[0], ast.Name) and texts:
            language: Literal["cpp", "python"] = "cpp" if "cpp" in made else "python"
            span = (node.lineno, node.end_lineno or node.lineno)
            yield Kernel(name=node.targets[0].id, language=language, text=texts[-1], lines=span)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements in order; those inside ``with`` blocks (device guards) in their place."""
    for statement in body:
        if isinstance(statement, ast.With):
            yield from _statements(statement.body)
        else:
            yield statement


def _launch(statement: ast.stmt, kernels: dict[str, Kernel], lines: list[str]) -> Call | None:
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if not isinstance(value, ast.Call):
        return None
    function = ast.unparse(value.func)
    kernel = kernels.get(function.removesuffix(".run"))
    if kernel is None and not function.startswith(_LIBRARY):
        return None
    arguments = tuple(_argument(argument) for argument in value.args)
    reads, writes = _kernel_effects(kernel, arguments) if kernel else _library_effects(statement, value, arguments)
    return Call(
        name=kernel.name if kernel else function,
        kernel=kernel,
        text=ast.unparse(statement),
        line=statement.lineno,
        arguments=arguments,
        reads=reads,
        writes=writes,
        source_nodes=tuple(filter(None, re.split(r",\s*", _comment(_SOURCE_NODES, lines, statement.lineno)))),
        handle=_comment(_HANDLE, lines, statement.lineno),
    )


def _kernel_effects(kernel: Kernel, arguments: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Inductor names pointers after what happens to them: ``in_ptr0``, ``out_ptr0``, ``in_out_ptr0``."""
    pairs = [(p, a) for p, a in zip(kernel.parameters, arguments, strict=False) if not a.lstrip("-").isdigit()]
    reads = tuple(a for p, a in pairs if not p.startswith(("out_ptr", "ws_ptr")))
    return reads, tuple(a for p, a in pairs if p.startswith(("out_ptr", "in_out_ptr")))


def _library_effects(
    statement: ast.stmt, value: ast.Call, arguments: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    outs = [_argument(keyword.value) for keyword in value.keywords if keyword.arg == "out"]
    assigned = [ast.unparse(target) for target in statement.targets] if isinstance(statement, ast.Assign) else []
    return arguments, (*outs, *assigned)


def _argument(node: ast.expr) -> str:
    """A view names the buffer it looks at."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "reinterpret_tensor" and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node)


def _comment(pattern: re.Pattern[str], lines: list[str], line: int) -> str:
    """What ``pattern`` finds in the comments above a launch; only fetching the stream may stand between."""
    for text in reversed(lines[: line - 1]):
        if not text.lstrip().startswith("#") and "get_raw_stream(" not in text:
            break
        if match := pattern.search(text):
            return match[1].strip()
    return ""


def _allocations(statements: list[ast.stmt]) -> dict[str, Allocation]:
    """``buf1 = buf0; del buf0  # reuse`` gives the same memory a second name."""
    found: dict[str, Allocation] = {}
    for statement in statements:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
            continue
        name, value = statement.targets[0].id, statement.value
        if isinstance(value, ast.Call) and ast.unparse(value.func).startswith("empty_strided"):
            found[name] = _allocated(name, value)
        elif (old := found.get(_argument(value))) is not None:
            found[name] = Allocation(name, old.shape, old.dtype, old.bytes, reuses=old.name)
    return found


def _allocated(name: str, value: ast.Call) -> Allocation:
    shape = tuple(int(size) for size in ast.literal_eval(value.args[0]))
    stride = tuple(int(step) for step in ast.literal_eval(value.args[1]))
    dtype = ast.unparse(value.args[2]).removeprefix("torch.")
    elements = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True)) if all(shape) else 0
    return Allocation(name, shape, dtype, elements * _BYTES[dtype])


def _returned(statements: list[ast.stmt]) -> tuple[str, ...]:
    value = next((s.value for s in statements if isinstance(s, ast.Return)), None)
    return tuple(_argument(element) for element in value.elts) if isinstance(value, ast.Tuple) else ()


def _arguments(statements: list[ast.stmt]) -> tuple[str, ...]:
    for statement in statements:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value) == "args":
            target = statement.targets[0]
            return tuple(map(ast.unparse, target.elts)) if isinstance(target, ast.Tuple) else (ast.unparse(target),)
    return ()
