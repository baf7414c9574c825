"""The machine code that the driver loaded for a traced kernel, read by NVIDIA's own disassembler."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tensor_assets.sessions.sass import opcode_counts

DISASSEMBLER = "cuobjdump"


class NotRead(Exception):
    """Loaded code could not be disassembled; the message says why."""


def loaded_opcodes(modules: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Kernel → instruction with modifiers → static count, for every kernel of ``modules`` (kernel → cubin file).

    Raises NotRead.
    """
    program = shutil.which(DISASSEMBLER)
    if modules and program is None:
        raise NotRead(f"{DISASSEMBLER} is not installed")
    return {kernel: _opcodes(str(program), kernel, Path(module)) for kernel, module in modules.items()}


def _opcodes(program: str, kernel: str, module: Path) -> dict[str, int]:
    # A library's module holds hundreds of kernels: only the one that ran is read.
    command = (program, "--dump-sass", "--function", kernel, str(module))
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    counts = opcode_counts(done.stdout).get(kernel)
    if done.returncode or not counts:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise NotRead(f"{DISASSEMBLER} found no code of {kernel}: {said[0]}")
    return counts
