"""From lazy tensors to compiled kernels: tinygrad's schedule, and the program that each of its calls becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tensor_worker.adapter import Unsupported
from tinygrad import Tensor
from tinygrad.codegen import to_program, to_program_cache
from tinygrad.engine.realize import compile_linear, get_call_arg_uops
from tinygrad.helpers import Context, Target
from tinygrad.renderer.cstyle import CUDARenderer
from tinygrad.uop.ops import Ops, UOp

from .dialect import code_of

BEAMS = {"default": 0, "tuned": 2, "expanded": 8, "widened": 0}


@dataclass(frozen=True)
class Kernel:
    """One call of the schedule: what it computes before optimization, and the program that tinygrad made of it."""

    ast: UOp  # Ops.SINK as scheduled
    program: UOp  # Ops.PROGRAM with its AST, linearized UOps, source, binary
    arguments: tuple[UOp, ...]  # buffers in the order of the program's parameters

    @property
    def name(self) -> str:
        return str(self.program.arg.function_name)

    @property
    def sink(self) -> UOp:
        return self.program.src[0]

    @property
    def lines(self) -> tuple[UOp, ...]:
        """The linearized UOps, in the order of the code."""
        return tuple(code_of(self.program)[0])

    @property
    def source(self) -> str:
        return code_of(self.program)[1]

    @property
    def binary(self) -> bytes:
        return code_of(self.program)[2]


def schedule(outputs: Mapping[str, Tensor]) -> UOp:
    """tinygrad's schedule (Ops.LINEAR of Ops.CALL) that realizes the outputs; their tensors become buffers."""
    linear, variables = Tensor.linear_with_vars(*outputs.values())
    if variables:
        raise Unsupported(f"the schedule is symbolic in {sorted(variables)}")
    return linear


def compile_for_device(linear: UOp, beam: int) -> tuple[Kernel, ...]:
    """Compile for the device that the tensors are on; with a beam, tinygrad times candidates on it."""
    with Context(BEAM=beam):
        compiled = compile_linear(linear)
    return _kernels(linear, tuple(call.src[0] for call in compiled.src))


def compile_for_architecture(linear: UOp, architecture: str) -> tuple[Kernel, ...]:
    """Compile for a GPU that need not be here, e.g. ``sm_90``: the renderer that the CUDA device would pick."""
    renderer = CUDARenderer(Target("CUDA", "CUDA", architecture))
    return _kernels(linear, tuple(to_program(call.src[0], renderer) for call in linear.src))


def programs_run(linear: UOp) -> tuple[UOp, ...]:
    """The programs that a captured schedule runs, in order, those batched into a CUDA graph included."""
    found: list[UOp] = []
    for call in linear.src:
        called = call.src[0]
        if called.op is Ops.CUSTOM_FUNCTION and called.arg == "graph":
            found += programs_run(called.src[0])
        else:
            found.append(called)
    return tuple(found)


def compilations() -> int:
    """How many programs this process has compiled so far."""
    return len(to_program_cache)


def _kernels(linear: UOp, programs: tuple[UOp, ...]) -> tuple[Kernel, ...]:
    for call, program in zip(linear.src, programs, strict=True):
        if program.op is not Ops.PROGRAM:
            raise Unsupported(f"the schedule holds {program.op}, which is no kernel: {call.src[0].op}")
    return tuple(
        Kernel(ast=call.src[0], program=program, arguments=get_call_arg_uops(call))
        for call, program in zip(linear.src, programs, strict=True)
    )
