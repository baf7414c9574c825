"""Writes every representation that tinygrad passes through, and reads from the machine code what the plan needs."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tensor_worker.activities import activity
from tensor_worker.artifacts import Language, Stage
from tensor_worker.dump import write_stage
from tinygrad.helpers import ansistrip
from tinygrad.uop.render import print_uops, pyrender

from .kernels import Kernel
from .machine import Resources, cubin, disassemble_cubin, disassemble_object, matrix_instruction, resources
from .semantic import STAGE, TensorGraph


@dataclass(frozen=True)
class Machine:
    """A kernel below its source."""

    shipped: str  # text of what tinygrad hands to the device: PTX, or the disassembled object
    shipped_language: Language
    disassembly: str
    resources: Resources | None  # None on the CPU
    made_by: str  # who made the machine code that is shown

    @property
    def instruction(self) -> str:
        return matrix_instruction(self.disassembly)


def code_stage(index: int) -> str:
    return f"source-{index}"


def machine_stage(index: int) -> str:
    return f"machine-{index}"


def machine_of(kernel: Kernel, architecture: str | None, on_device: bool) -> Machine:
    """``architecture`` is the GPU's, e.g. ``sm_90``; None on the CPU.

    tinygrad gives the driver PTX, which the driver compiles when it loads it. Where there is a device the machine code
    is the driver's, elsewhere what NVRTC makes of the same source.
    """
    if architecture is None:
        text = disassemble_object(kernel.binary)
        return Machine(text, "asm", text, resources=None, made_by="clang, capstone")
    code = _driver_code(kernel) if on_device else cubin(kernel.source, architecture)
    return Machine(
        shipped=kernel.binary.rstrip(b"\0").decode(),
        shipped_language="ptx",
        disassembly=disassemble_cubin(code),
        resources=resources(code),
        made_by="CUDA driver, nvdisasm" if on_device else "NVRTC, nvdisasm",
    )


def _driver_code(kernel: Kernel) -> bytes:
    from .driver import driver_cubin  # loads the CUDA driver

    return driver_cubin(kernel.binary)


def write_stages(
    dump_dir: Path, graph: TensorGraph, kernels: Sequence[Kernel], machines: Sequence[Machine], history: str = ""
) -> tuple[Stage, ...]:
    """``history`` is the JSON of the rewrites, empty where none was recorded."""
    stages = [
        write_stage(dump_dir, STAGE, "Tensor UOps", "semantic", "text", graph.text + "\n", "str(UOp)"),
        write_stage(
            dump_dir, "kernels", "Scheduled kernels", "scheduled", "python", _scheduled(kernels),
            "Tensor.linear_with_vars, pyrender",
        ),
        write_stage(
            dump_dir, "optimized", "Kernels after optimization", "scheduled", "python", _optimized(kernels),
            "full_rewrite_to_sink, pyrender",
        ),
        write_stage(
            dump_dir, "linearized", "Linearized UOps", "scheduled", "text", _linearized(kernels), "print_uops"
        ),
    ]  # fmt: skip
    if history:
        stages.append(
            write_stage(dump_dir, "rewrites", "Rewrite history", "scheduled", "json", history, "TRACK_MATCH_STATS=2")
        )
    for index, (kernel, machine) in enumerate(zip(kernels, machines, strict=True)):
        stages += _code_stages(dump_dir, index, kernel, machine)
    return tuple(stages)


def _code_stages(dump_dir: Path, index: int, kernel: Kernel, machine: Machine) -> list[Stage]:
    on_gpu = machine.resources is not None
    language: Language = "cuda" if on_gpu else "c"
    title = f"{'CUDA' if on_gpu else 'C'} of {activity(index)}: {kernel.name}"
    renderer = "CUDARenderer" if on_gpu else "ClangRenderer"
    stages = [write_stage(dump_dir, code_stage(index), title, "code", language, kernel.source + "\n", renderer)]
    if on_gpu:
        title = f"PTX of {activity(index)}"
        stages.append(write_stage(dump_dir, f"ptx-{index}", title, "code", "ptx", machine.shipped, "NVRTC"))
    name, by, text = machine_stage(index), machine.made_by, machine.disassembly
    title = f"{'SASS' if on_gpu else 'Assembly'} of {activity(index)}"
    stages.append(write_stage(dump_dir, name, title, "machine", "sass" if on_gpu else "asm", text, by))
    return stages


def _scheduled(kernels: Sequence[Kernel]) -> str:
    return "\n".join(
        f"# {activity(index)}: {kernel.name}\n{pyrender(kernel.ast)}\n" for index, kernel in enumerate(kernels)
    )


def _optimized(kernels: Sequence[Kernel]) -> str:
    return "\n".join(
        f"# {activity(index)}: {kernel.name}\n{ansistrip(pyrender(kernel.sink))}\n"
        for index, kernel in enumerate(kernels)
    )


def _linearized(kernels: Sequence[Kernel]) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        for index, kernel in enumerate(kernels):
            print(f"{activity(index)}: {kernel.name}")
            print_uops(list(kernel.lines))
    return ansistrip(text.getvalue())
