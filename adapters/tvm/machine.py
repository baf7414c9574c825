"""CUDA to SASS: TVM's own call of NVRTC, then NVIDIA's tools from this environment."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensor_worker.adapter import Unavailable
from tvm.support import nvcc
from tvm.target import Target

from .toolchain import cuda_root

# Tensor-core instructions first; where there is none, what multiplies most: in FP32, in FP16, or on a CPU.
_TENSOR_CORE = re.compile(r"\bHG?MMA\.[\w.]+")
_SCALAR = re.compile(r"\b(?:FFMA|HFMA2|HMUL2|FMUL)\b(?!\.MMA)|\bv(?:fmadd\d+|fnmadd\d+|mul)[ps][sd]\b")
_COMPILE = nvcc.compile_cuda
_REMEDY = "install adapters/tvm/requirements.lock again"
_FUNCTION = re.compile(r"Function (\S+):\s*REG:(\d+).*?SHARED:(\d+)", re.DOTALL)
# The driver's own share of shared memory on Hopper, which cuobjdump counts where a cubin names it.
_RESERVED_SECTION, _RESERVED_BYTES = b".nv.shared.reserved.0", 1024


@dataclass(frozen=True)
class Resources:
    """What one kernel takes of a multiprocessor."""

    registers: int  # per thread
    shared_bytes: int  # static, per block


class WatchedCompiler:
    """TVM's own call of NVRTC, with what it returned. TVM calls it when a device loads the module, not before."""

    def __init__(self) -> None:
        self.binaries: dict[str, bytes] = {}

    def install(self) -> None:
        nvcc.compile_cuda = self._watched

    def _watched(self, code: str, *arguments: Any, **options: Any) -> bytearray:
        binary = _COMPILE(code, *arguments, **options)
        self.binaries[str(code)] = bytes(binary)
        return binary


def require_nvrtc() -> None:
    """Raises Unavailable where TVM could compile no CUDA."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        raise Unavailable(f"TVM compiles CUDA with NVRTC through cuda-bindings: {error}", _REMEDY) from error


def cubin(source: str, target: Target, watched: WatchedCompiler) -> bytes:
    """The binary that TVM handed to the driver, or would: the same call with the same options, for ``target``."""
    if source in watched.binaries:
        return watched.binaries[source]
    with target:
        return bytes(_COMPILE(source, target_format="cubin", compiler="nvrtc"))


def disassemble(binary: bytes) -> str:
    return _run("nvdisasm", ("--print-code",), binary)


def resources(binary: bytes) -> dict[str, Resources]:
    """Registers and static shared memory of every kernel of a cubin, by name."""
    reserved = _RESERVED_BYTES if _RESERVED_SECTION in binary else 0
    said = _run("cuobjdump", ("--dump-resource-usage",), binary)
    return {
        name: Resources(registers=int(registers), shared_bytes=max(0, int(shared) - reserved))
        for name, registers, shared in _FUNCTION.findall(said)
    }


def matrix_instruction(text: str) -> str:
    """The instruction family that multiplies, as the machine code spells it; empty where none does."""
    found = Counter(_TENSOR_CORE.findall(text)) or Counter(_SCALAR.findall(text))
    return found.most_common(1)[0][0] if found else ""


def _run(tool: str, options: tuple[str, ...], binary: bytes) -> str:
    root = cuda_root()
    own = root / "bin" / tool if root else None
    command = str(own) if own and own.is_file() else shutil.which(tool)
    if command is None:
        raise Unavailable(f"{tool} is neither in this environment nor on the path", _REMEDY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernels.cubin")
        path.write_bytes(binary)
        done = subprocess.run([command, *options, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{tool} failed: {done.stderr.strip()}")
    return done.stdout
