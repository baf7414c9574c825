"""Compiles the authored source with Triton, for a device or for an architecture without one."""

from __future__ import annotations

import linecache
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from .authoring import SOURCE_NAME, Authored, pointers
from .family import KernelSpec
from .tiles import Tile

SM_90 = GPUTarget("cuda", 90, 32)
# Set here because Triton's own default changes between releases: a product and a sum must not become one rounding.
OPTIONS = {"enable_fp_fusion": False}


@dataclass(frozen=True)
class Built:
    """One compiled kernel. ``asm`` maps Triton's stage names to text (the cubin to bytes)."""

    kernel: KernelSpec
    tile: Tile
    asm: dict[str, Any]
    shared_bytes: int
    registers: int


def load_functions(source: Authored) -> dict[str, Any]:
    """The kernels as Triton's JIT functions, by name."""
    text = source.text
    linecache.cache[SOURCE_NAME] = (len(text), None, text.splitlines(keepends=True), SOURCE_NAME)
    namespace: dict[str, Any] = {"__name__": "kernels"}
    exec(compile(text, SOURCE_NAME, "exec"), namespace)
    return {name: namespace[name] for name in source.spans}


def build_for(target: GPUTarget, function: Any, kernel: KernelSpec, tile: Tile, dtypes: Mapping[str, str]) -> Built:
    """Compile without a device; pointers count as aligned to 16 bytes, as allocations are.

    ``dtypes`` names the dtype of every value behind a pointer.
    """
    names = pointers(kernel)
    signature = {f"{name}_ptr": _POINTERS[dtypes[name]] for name in names}
    constants = tile.constants()
    source = ASTSource(
        fn=function,
        signature={**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs=constants,
        attrs={(index,): [["tt.divisibility", 16]] for index in range(len(names))},
    )
    options = {**OPTIONS, "num_warps": tile.warps, "num_stages": tile.stages}
    return built(kernel, tile, triton.compile(source, target=target, options=options))


def built(kernel: KernelSpec, tile: Tile, compiled: Any) -> Built:
    asm = {name: compiled.asm[name] for name in ("ttir", "ttgir", "llir", "ptx", "cubin")}
    return Built(kernel, tile, asm, int(compiled.metadata.shared), registers(asm["cubin"]))


def registers(cubin: bytes) -> int:
    """Registers per thread, as the binary declares them."""
    used = re.search(r"\bREG:(\d+)", _on_cubin("cuobjdump", ["--dump-resource-usage"], cubin))
    if used is None:
        raise ValueError("cuobjdump reports no register count for the cubin that Triton made")
    return int(used[1])


def disassemble(cubin: bytes) -> str:
    """SASS with the source lines it came from."""
    return _on_cubin("nvdisasm", ["--print-code", "--print-line-info"], cubin)


def _on_cubin(tool: str, options: list[str], cubin: bytes) -> str:
    """Run one of the tools that Triton brings. They read files only."""
    import tempfile

    program = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / tool
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(program), *options, file.name]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


_POINTERS = {"f16": "*fp16", "f32": "*fp32"}
