"""The plan: launches in the order of the virtual machine's calls, buffers between them, roundings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensor_worker.artifacts import Buffer, Launch, Plan
from tensor_worker.normalize import code_sha256
from tensor_worker.program import Program, Value
from tvm import IRModule, relax

from .device_code import Code, Kernel
from .machine import matrix_instruction
from .relax_reading import FusedCall
from .rounding import roundings
from .rules import Scheduled
from .stages import SOURCE

Parameters = dict[str, str | int | float | bool]
_BYTES = {"float16": 2, "float32": 4}


@dataclass(frozen=True)
class Called:
    """One call of ``main`` with the kernels that it launches, in order."""

    call: FusedCall
    kernels: tuple[Kernel, ...]


def make_plan(
    program: Program, called: Sequence[Called], grouped: IRModule, code: Code, scheduled: Sequence[Scheduled]
) -> Plan:
    rules = {one.function: one for one in scheduled}
    launches = [_launch(one, kernel, code, rules) for one in called for kernel in one.kernels]
    last = _last_launches(called)
    return Plan(
        launches=tuple(launches),
        buffers=_buffers(program, called, grouped),
        roundings=roundings(program, [one.call for one in called], last, grouped),
        notes=_notes(called),
    )


def _launch(called: Called, kernel: Kernel, code: Code, rules: Mapping[str, Scheduled]) -> Launch:
    used = code.resources.get(kernel.name)
    machine = code.by_kernel[kernel.name]
    return Launch(
        kind="library" if called.call.library else "kernel",
        name=kernel.name,
        grid=kernel.grid,
        block=kernel.block,
        registers=used.registers if used else None,
        shared_bytes=used.shared_bytes + kernel.dynamic_shared_bytes if used else None,
        parameters=_parameters(kernel, rules.get(kernel.function)),
        computes=called.call.computes,
        instruction=matrix_instruction(machine),
        code_sha256=code_sha256(machine, code.machine_language),
        stage=SOURCE,
    )


def _parameters(kernel: Kernel, scheduled: Scheduled | None) -> Parameters:
    parameters: Parameters = {"function": kernel.function}
    if kernel.dynamic_shared_bytes:
        parameters["dynamic shared bytes"] = kernel.dynamic_shared_bytes
    if scheduled is None:
        return parameters
    parameters["DLight rule"] = scheduled.rule or "none"
    if scheduled.declined:
        parameters["declined"] = ", ".join(scheduled.declined)
    if scheduled.intrinsics:
        parameters["tensor intrinsics"] = ", ".join(scheduled.intrinsics)
    for index, factors in enumerate(scheduled.splits):
        parameters[f"split {index}"] = factors
    return parameters


def _last_launches(called: Sequence[Called]) -> list[int]:
    ends, count = [], 0
    for one in called:
        count += len(one.kernels)
        ends.append(count - 1)
    return ends


def _buffers(program: Program, called: Sequence[Called], grouped: IRModule) -> tuple[Buffer, ...]:
    """Every value that a call reads or writes in memory. ``first`` is the launch that writes it."""
    sizes = _sizes(program, called, grouped)
    order = dict.fromkeys(name for one in called for name in (*one.call.reads, one.call.writes))
    inputs = {value.name for value in program.inputs}
    ends = _last_launches(called)
    buffers = []
    for name in order:
        written = [end for one, end in zip(called, ends, strict=True) if one.call.writes == name]
        read = [end for one, end in zip(called, ends, strict=True) if name in one.call.reads]
        role = "input" if name in inputs else "output" if name in program.outputs else "intermediate"
        buffers.append(
            Buffer(
                name=name,
                role=role,  # type: ignore[arg-type]
                bytes=sizes[name],
                first=written[0] if written else None,
                last=read[-1] if read else None,
            )
        )
    return tuple(buffers)


def _sizes(program: Program, called: Sequence[Called], grouped: IRModule) -> dict[str, int]:
    sizes = {value.name: _value_bytes(value) for value in program.inputs}
    types = [binding.var.ty for block in grouped["main"].body.blocks for binding in block.bindings]
    calls = [ty for ty, binding in zip(types, _values(grouped), strict=True) if isinstance(binding, relax.Call)]
    for one, ty in zip(called, calls, strict=True):
        sizes[one.call.writes] = _bytes([int(size) for size in ty.shape], str(ty.dtype))
    return sizes


def _values(module: IRModule) -> list[relax.Expr]:
    return [binding.value for block in module["main"].body.blocks for binding in block.bindings]


def _value_bytes(value: Value) -> int:
    return _bytes(value.shape, {"f16": "float16", "f32": "float32"}[value.dtype])


def _bytes(shape: Sequence[int], dtype: str) -> int:
    size = _BYTES[dtype]
    for extent in shape:
        size *= extent
    return size


def _notes(called: Sequence[Called]) -> tuple[str, ...]:
    split = [one.call.function for one in called if len(one.kernels) > 1]
    return (f"{', '.join(split)}: several kernels of one function share its ops",) if split else ()
