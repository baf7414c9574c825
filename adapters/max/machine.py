"""Machine code as text: the host functions a dispatch reaches, and the SASS of the cubins they hold."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import capstone
from tensor_worker.adapter import Unavailable
from tensor_worker.normalize import code_sha256

from .code import Kernel, RoutineCode
from .cubins import Resources, kernel_resources
from .dispatches import Dispatch, divide, reached_symbols, routines_of, share_fetched
from .objects import Function, HostObject, find_cubins
from .sass import contracting_instruction

_ARCHITECTURES = {
    "x64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "AArch64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
}
_LIBRARY_CALL = re.compile(rb"(cublas(?:Lt)?(?:Gemm|Matmul|[SHDC]gemm)\w*)\x00?")
_SASS_FUNCTION = re.compile(r"\s*\.section\s+\.text\.(\S+?),")
_VECTOR_MULTIPLY = re.compile(r"vfn?m(?:add|sub)\w*|vdpbf16ps|tdp\w+|fmla|fmadd|fmmla")


def disassemble(
    data: bytes, dispatches: Sequence[Dispatch], routines: Sequence[str], contracting: Collection[str]
) -> list[RoutineCode]:
    """One entry for each of ``routines``, the names that the dispatches hold, in order. ``contracting``: some of them.

    Raises Unavailable where a cubin is met and nvdisasm is not installed, ValueError where a dispatch of several
    routines does not tell them apart.
    """
    host = HostObject(data)
    held = routines_of(dispatches, routines)
    return [code for symbol, names in held for code in _dispatch_codes(host, symbol, names, contracting)]


def _dispatch_codes(
    host: HostObject, symbol: str, routines: Sequence[str], contracting: Collection[str]
) -> list[RoutineCode]:
    """The text is that of the whole host function; kernels and library calls are each routine's own."""
    whole = reached_symbols(host, [(0, symbol)])
    if len(routines) == 1:
        return [_routine_code(host, symbol, whole)]
    parts = divide(host, symbol, routines)
    reached = {name: _routine_code(host, symbol, reached_symbols(host, part)) for name, part in parts.items()}
    calls = _library_calls(host.data(name) for name in whole)
    return share_fetched([reached[name] for name in routines], [name in contracting for name in routines], calls)


def _routine_code(host: HostObject, symbol: str, reached: Sequence[str]) -> RoutineCode:
    functions = host.closure(symbol)
    names = short_names(function.name for function in functions)
    texts = [_function_text(function, names, host.machine) for function in functions]
    held = [host.data(name) for name in reached]
    cubins = dict.fromkeys(cubin for data in held for _, cubin in find_cubins(data))
    operations = Counter(operation for text in texts for operation in _VECTOR_MULTIPLY.findall(text))
    text = "\n".join(texts)
    return RoutineCode(
        symbol=symbol,
        text=text,
        code_sha256=code_sha256(text, "asm"),
        instruction=operations.most_common(1)[0][0] if operations else "",
        library_calls=_library_calls(held),
        kernels=tuple(kernel for cubin in cubins for kernel in read_cubin(cubin)),
    )


def _library_calls(held: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match[1].decode() for data in held for match in _LIBRARY_CALL.finditer(data)))


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Mojo's symbols spell out every parameter, kilobytes each: cut at the first, numbered where that is ambiguous."""
    short: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for name in names:
        stem = re.split(r"[\[(,]", name, maxsplit=1)[0]
        seen[stem] += 1
        short[name] = stem if seen[stem] == 1 else f"{stem}#{seen[stem]}"
    return short


def _function_text(function: Function, names: dict[str, str], machine: str) -> str:
    references = dict(function.references)
    lines = [f"{names[function.name]}:  # {len(function.code)} bytes"]
    for instruction in _decoder(machine).disasm(function.code, 0):
        line = f"  {instruction.address:6x}:  {instruction.mnemonic} {instruction.op_str}".rstrip()
        inside = range(instruction.address, instruction.address + instruction.size)
        named = [references[offset] for offset in inside if offset in references]
        lines.append(line + "".join(f"  # {names.get(name) or _cut(name)}" for name in named))
    return "\n".join(lines) + "\n"


def _cut(name: str) -> str:
    return re.split(r"[\[(,]", name, maxsplit=1)[0]


@functools.cache
def _decoder(machine: str) -> capstone.Cs:
    if machine not in _ARCHITECTURES:
        raise Unavailable(f"no disassembler here reads {machine} objects")
    decoder = capstone.Cs(*_ARCHITECTURES[machine])
    decoder.skipdata = True
    return decoder


def read_cubin(cubin: bytes) -> list[Kernel]:
    """The kernels of one CUDA ELF file, with their SASS."""
    text = _nvdisasm(cubin)
    resources = kernel_resources(cubin)
    starts = [(match.start(), match[1]) for match in _SASS_FUNCTION.finditer(text)]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return [
        _kernel(name, text[start:end], resources.get(name, Resources()))
        for (start, name), end in zip(starts, ends, strict=True)
    ]


def _kernel(name: str, sass: str, resources: Resources) -> Kernel:
    return Kernel(
        name=name,
        sass=sass,
        registers=resources.registers,
        threads=resources.threads,
        shared_bytes=resources.shared_bytes,
        instruction=contracting_instruction(name, sass),
        code_sha256=code_sha256(sass, "sass"),
    )


def _nvdisasm(cubin: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        command = [str(nvdisasm_path()), "--print-code", str(path)]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise RuntimeError(f"nvdisasm refused a cubin of MAX: {finished.stderr.strip()}")
    return finished.stdout


@functools.cache
def nvdisasm_path() -> Path:
    packages = Path(sysconfig.get_paths()["purelib"])
    found = sorted(packages.glob("nvidia/*/bin/nvdisasm"))
    path = found[0] if found else shutil.which("nvdisasm")
    if path is None:
        raise Unavailable("nvdisasm is not installed", "install nvidia-cuda-nvdisasm into MAX's environment")
    return Path(path)
