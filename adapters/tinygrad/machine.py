"""Machine code as text: objects of the CPU device by capstone, cubins by NVIDIA's own tools from this environment."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import capstone
from tensor_worker.adapter import Unavailable
from tinygrad.runtime.support.compiler_cuda import NVRTCCompiler

from .dialect import text_section
from .toolchain import cuda_root

# Tensor-core instructions first; where there is none, what multiplies most: in FP32, in FP16, or on a CPU.
_TENSOR_CORE = re.compile(r"\bHG?MMA\.[\w.]+")
_SCALAR = re.compile(r"\b(?:FFMA|HFMA2|HMUL2|FMUL)\b(?!\.MMA)|\bv(?:fmadd\d+|fnmadd\d+|mul)[ps][sd]\b")
# The driver's own share of shared memory on Hopper, which cuobjdump counts where a cubin names it.
_RESERVED_SECTION, _RESERVED_BYTES = b".nv.shared.reserved.0", 1024
_ARCHITECTURES = {
    "x86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "aarch64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}


@dataclass(frozen=True)
class Resources:
    """What one kernel takes of a multiprocessor."""

    registers: int  # per thread
    shared_bytes: int  # static, per block


def disassemble_object(binary: bytes) -> str:
    """The code of the CPU device's binary, for this machine's architecture, offsets first."""
    architecture, mode = _ARCHITECTURES[platform.machine()]
    decoder = capstone.Cs(architecture, mode)
    found = decoder.disasm(text_section(binary), 0)
    lines = [f"{step.address:6x}:  {step.mnemonic} {step.op_str}".rstrip() for step in found]
    return "\n".join(lines) + "\n"


def cubin(source: str, architecture: str) -> bytes:
    """What NVRTC makes of the CUDA source when asked for machine code instead of PTX."""
    return bytes(NVRTCCompiler(architecture, ptx=False, cache_key="cubin").compile(source))


def disassemble_cubin(binary: bytes) -> str:
    return _run("nvdisasm", ("--print-code",), binary)


def resources(binary: bytes) -> Resources:
    """Registers and static shared memory of the only kernel of a cubin."""
    said = _run("cuobjdump", ("--dump-resource-usage",), binary)
    found = re.search(r"REG:(\d+).*?SHARED:(\d+)", said)
    if found is None:
        raise RuntimeError(f"cuobjdump names no registers: {said.strip()}")
    reserved = _RESERVED_BYTES if _RESERVED_SECTION in binary else 0
    return Resources(registers=int(found[1]), shared_bytes=max(0, int(found[2]) - reserved))


def matrix_instruction(text: str) -> str:
    """The instruction family that multiplies, as the machine code spells it; empty where none does."""
    found = Counter(_TENSOR_CORE.findall(text)) or Counter(_SCALAR.findall(text))
    return found.most_common(1)[0][0] if found else ""


def _run(tool: str, options: tuple[str, ...], binary: bytes) -> str:
    root = cuda_root()
    own = root / "bin" / tool if root else None
    command = str(own) if own and own.is_file() else shutil.which(tool)
    if command is None:
        raise Unavailable(f"{tool} is neither in this environment nor on the path", "install the adapter's lock again")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(binary)
        done = subprocess.run([command, *options, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{tool} failed: {done.stderr.strip()}")
    return done.stdout
