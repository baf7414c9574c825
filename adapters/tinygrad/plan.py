"""The plan: tinygrad's kernels in order, what each computes, where boundaries are rounded, and what lies in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensor_worker.activities import activity
from tensor_worker.artifacts import Buffer, Extent, Launch, Plan
from tensor_worker.normalize import code_sha256
from tensor_worker.program import Program
from tinygrad.uop.ops import UOp, sym_infer

from .dialect import elements
from .fusion import Fusion
from .kernels import Kernel
from .rounding import roundings
from .semantic import TensorGraph
from .spelling import spell
from .stages import Machine, code_stage

Parameters = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Memory:
    """Which buffers of the schedule are the program's own, by name."""

    inputs: Mapping[UOp, str]
    outputs: Mapping[UOp, str]


def make_plan(
    program: Program,
    graph: TensorGraph,
    kernels: Sequence[Kernel],
    machines: Sequence[Machine],
    fusions: Sequence[Fusion],
    memory: Memory,
) -> Plan:
    launches = tuple(
        _launch(index, kernel, machine, fusion)
        for index, (kernel, machine, fusion) in enumerate(zip(kernels, machines, fusions, strict=True))
    )
    return Plan(
        launches=launches,
        buffers=_buffers(kernels, memory),
        roundings=roundings(program, graph, kernels, machines, fusions),
        notes=_notes(fusions),
    )


def _launch(index: int, kernel: Kernel, machine: Machine, fusion: Fusion) -> Launch:
    on_gpu = machine.resources is not None
    return Launch(
        kind="kernel",
        name=kernel.name,
        grid=_extent(kernel.program.arg.global_size) if on_gpu else None,
        block=_extent(kernel.program.arg.local_size) if on_gpu else None,
        registers=machine.resources.registers if machine.resources else None,
        shared_bytes=machine.resources.shared_bytes if machine.resources else None,
        parameters=_parameters(kernel, on_gpu),
        computes=fusion.computes,
        instruction=machine.instruction,
        code_sha256=code_sha256(machine.shipped, machine.shipped_language),
        stage=code_stage(index),
    )


def _parameters(kernel: Kernel, on_gpu: bool) -> Parameters:
    """tinygrad's own words: the options it applied in order, the axes by kind, its estimates per invocation."""
    info = kernel.sink.arg
    parameters: Parameters = {f"opt {index}": spell(opt) for index, opt in enumerate(info.applied_opts)}
    parameters["axes"] = kernel.name
    if not on_gpu:
        parameters["threads"] = int(kernel.program.arg.global_size[0])
    if info.estimates is not None:
        for name in ("ops", "lds", "mem"):
            parameters[f"estimated {name}"] = int(sym_infer(getattr(info.estimates, name), {}))
    return parameters


def _extent(size: Sequence[int] | None) -> Extent:
    x, y, z = (*(int(part) for part in size or ()), 1, 1, 1)[:3]
    return (x, y, z)


def _buffers(kernels: Sequence[Kernel], memory: Memory) -> tuple[Buffer, ...]:
    order = dict.fromkeys(argument for kernel in kernels for argument in kernel.arguments)
    return tuple(_buffer(index, buffer, kernels, memory) for index, buffer in enumerate(order))


def _buffer(index: int, buffer: UOp, kernels: Sequence[Kernel], memory: Memory) -> Buffer:
    written = [at for at, kernel in enumerate(kernels) if _touches(kernel, kernel.program.arg.outs, buffer)]
    read = [at for at, kernel in enumerate(kernels) if _touches(kernel, kernel.program.arg.ins, buffer)]
    if buffer in memory.inputs:
        name, role = memory.inputs[buffer], "input"
    elif buffer in memory.outputs:
        name, role = memory.outputs[buffer], "output"
    else:
        name, role = f"buffer {index}", "intermediate"
    return Buffer(
        name=name,
        role=role,  # type: ignore[arg-type]
        bytes=elements(buffer) * buffer.dtype.itemsize,
        first=written[0] if written else None,
        last=read[-1] if read else None,
    )


def _touches(kernel: Kernel, indices: Sequence[int], buffer: UOp) -> bool:
    return any(kernel.arguments[index] is buffer for index in indices)


def _notes(fusions: Sequence[Fusion]) -> tuple[str, ...]:
    unsure = [activity(index) for index, fusion in enumerate(fusions) if not fusion.certain]
    notes = ["tinygrad keeps no link from a kernel to its tensors; what a kernel computes is found from its buffers"]
    if unsure:
        notes.append(f"the arithmetic of {', '.join(unsure)} differs from the tensor graph's")
    return tuple(notes)
