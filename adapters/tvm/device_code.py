"""The code below TensorIR: which kernels a function launches, and the text of each as source and machine code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tvm
from tensor_worker.artifacts import Extent, Language
from tvm import IRModule, tirx

from .machine import Resources, WatchedCompiler, cubin, disassemble, resources

_AXES = ("x", "y", "z")
_LAUNCH = "tirx.call_ffi_kernel"


@dataclass(frozen=True)
class Kernel:
    """One kernel that a function launches; on a CPU the function itself."""

    name: str
    function: str  # the TensorIR function that calls it
    grid: Extent | None = None
    block: Extent | None = None
    dynamic_shared_bytes: int = 0


@dataclass(frozen=True)
class Code:
    """What was generated, whole and by kernel."""

    source: str
    source_language: Language  # CUDA, or LLVM IR
    machine: str
    machine_language: Language
    by_kernel: Mapping[str, str]  # machine code of each kernel
    resources: Mapping[str, Resources]  # of each kernel; empty on a CPU


def kernels_launched(split: IRModule, function: str) -> tuple[Kernel, ...]:
    """``split`` is the module after SplitHostDevice: host functions that launch kernels by name, in order."""
    launched = []
    for name in _launches(split[function]):
        sizes = _launch_sizes(split[name])
        launched.append(
            Kernel(
                name=name,
                function=function,
                grid=_extent("blockIdx", sizes),
                block=_extent("threadIdx", sizes),
                dynamic_shared_bytes=_dynamic_shared(split[name]),
            )
        )
    return tuple(launched)


def cuda_code(
    executable: tvm.relax.VMExecutable, target: tvm.target.Target, watched: WatchedCompiler, names: tuple[str, ...]
) -> Code:
    """CUDA source of the executable, and the SASS that NVRTC makes of it with TVM's own options."""
    source = str(_imported(executable.mod, "cuda").inspect_source("cuda"))
    binary = cubin(source, target, watched)
    text = disassemble(binary)
    return Code(
        source=source,
        source_language="cuda",
        machine=text,
        machine_language="sass",
        by_kernel={name: _sass_section(text, name) for name in names},
        resources=resources(binary),
    )


def cpu_code(executable: tvm.relax.VMExecutable, names: tuple[str, ...]) -> Code:
    module = _imported(executable.mod, "llvm")
    text = str(module.inspect_source("asm"))
    return Code(
        source=str(module.inspect_source("ll")),
        source_language="llvm",
        machine=text,
        machine_language="asm",
        by_kernel={name: _assembly_function(text, name) for name in names},
        resources={},
    )


def _imported(module: tvm.runtime.Module, kind: str) -> tvm.runtime.Module:
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current.kind == kind:
            return current
        waiting += list(current.imports)
    raise RuntimeError(f"the executable imports no {kind} module")


def _statements(node: Any) -> Iterator[Any]:
    """The statement and every statement inside it, in the order of the text."""
    yield node
    inner = [*getattr(node, "seq", ()), *(getattr(node, name, None) for name in ("body", "then_case", "else_case"))]
    for statement in inner:
        if statement is not None:
            yield from _statements(statement)


def _launches(function: tirx.PrimFunc) -> list[str]:
    """Names of the kernels that a host function launches, in order."""
    calls = [getattr(statement, "value", None) for statement in _statements(function.body)]
    launches: list[Any] = [call for call in calls if str(getattr(getattr(call, "op", None), "name", "")) == _LAUNCH]
    return [str(call.args[0].value) for call in launches]


def _launch_sizes(kernel: tirx.PrimFunc) -> dict[str, int]:
    """Thread extents by the name of their axis, e.g. ``blockIdx.x``."""
    return {
        str(statement.node.thread_tag): int(statement.value)
        for statement in _statements(kernel.body)
        if isinstance(statement, tirx.AttrStmt) and statement.attr_key == "thread_extent"
    }


def _extent(prefix: str, sizes: Mapping[str, int]) -> Extent:
    x, y, z = (sizes.get(f"{prefix}.{axis}", 1) for axis in _AXES)
    return (x, y, z)


def _dynamic_shared(kernel: tirx.PrimFunc) -> int:
    buffers = [statement.buffer for statement in _statements(kernel.body) if isinstance(statement, tirx.AllocBuffer)]
    dynamic = [buffer for buffer in buffers if buffer.scope() == "shared.dyn"]
    return sum(
        math.prod(int(size) for size in buffer.shape) * tvm.DataType(buffer.dtype).itemsize for buffer in dynamic
    )


def _sass_section(text: str, kernel: str) -> str:
    """From the section header of the kernel to the next one."""
    found = re.search(rf"^\.text\.{re.escape(kernel)}:\n(.*?)(?=^//-{{5,}}|\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise RuntimeError(f"the cubin holds no code of {kernel}")
    return found[1]


def _assembly_function(text: str, function: str) -> str:
    """Every symbol that LLVM made of the function: its entry and the loops that it calls."""
    parts = re.split(r"(?m)^(?=[\w.]+:[^\n]*\n)(?!\.L)", text)
    mine = [part for part in parts if re.match(rf"(?:__tvm_ffi_)?{re.escape(function)}(?:_compute_)?:", part)]
    if not mine:
        raise RuntimeError(f"the object holds no code of {function}")
    return "".join(mine)
