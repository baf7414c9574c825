"""The machine code of Inductor's C++ kernels: found by the source that Inductor kept beside each object."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path


def cpu_assembly(kernel_text: str) -> str | None:
    """Disassembly of the functions of one generated C++ kernel; None where there is no ``objdump``."""
    objdump, library = shutil.which("objdump"), _shared_object(kernel_text)
    if objdump is None:
        return None
    command = [objdump, "--disassemble", "--no-show-raw-insn", "--section=.text", str(library)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    return "\n\n".join(part for part in printed.split("\n\n") if _is_kernel(part)) + "\n"


def _shared_object(kernel_text: str) -> Path:
    """The object next to the only C++ file in Inductor's cache that holds ``kernel_text``."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    body = kernel_text.strip()
    for source in sorted(Path(cache_dir()).glob("*/*.cpp")):
        library = source.with_suffix(".so")
        if library.is_file() and body in source.read_text(errors="replace"):
            return library
    raise FileNotFoundError("Inductor's cache holds no object of a C++ kernel that its output code calls")


def _is_kernel(part: str) -> bool:
    """``kernel`` itself and the bodies of its parallel regions, which g++ takes out of it."""
    head = re.match(r"\s*[0-9a-f]+ <([^>]+)>:", part)
    return head is not None and re.fullmatch(r"kernel(\._omp_fn\.\d+)?(\.cold|\.part\.\d+)*", head[1]) is not None
