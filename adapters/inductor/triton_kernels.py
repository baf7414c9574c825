"""Inductor's Triton kernels on a GPU: launch geometry, schedule parameters, and Triton's own stages from its cache."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensor_worker.artifacts import Extent, Language, Launch, Level
from tensor_worker.normalize import code_sha256

from .output_code import Call, Kernel
from .stage_text import StageText, kernel_stage

Parameters = dict[str, str | int | float | bool]

# Files of Triton's cache, in the order it makes them.
_FILES: tuple[tuple[str, str, Level, Language, str], ...] = (
    ("ttir", "Triton IR", "scheduled", "mlir", "triton: ast_to_ttir, make_ttir"),
    ("ttgir", "Triton GPU IR", "scheduled", "mlir", "triton: make_ttgir"),
    ("llir", "LLVM IR", "code", "llvm", "triton: make_llir"),
    ("ptx", "PTX", "machine", "ptx", "triton: make_ptx"),
)
_MATRIX = re.compile(r"\b(wgmma\.mma_async[\w.]*|mma\.sync[\w.]*)")
_SASS_MATRIX = re.compile(r"\b((?:HGMMA|HMMA|IMMA|IGMMA|QGMMA)[\w.]*)")
_HALF = re.compile(r"\b(cvt\.rn\.f16(?:x2)?\.f32|(?:add|sub|mul|fma)(?:\.rn)?\.f16(?:x2)?)\b")
_CONSTANT = re.compile(r"^\s*(\w+)\s*:\s*tl\.constexpr = (.+)$", re.MULTILINE)
_WARP_THREADS = 32


@dataclass(frozen=True)
class Launcher:
    """What Inductor launches once it has chosen among a kernel's configurations."""

    registers: int | None
    shared_bytes: int
    warps: int
    stages: int
    constants: Parameters
    folder: Path  # Triton's cache entry
    meta: dict[str, Any]  # Inductor's
    signature: tuple[str, ...]  # parameters a launch passes


def triton_launch(call: Call, ops: tuple[str, ...]) -> Launch:
    kernel = _kernel_of(call)
    launcher = find_launcher(kernel)
    machine = sass(launcher)
    return Launch(
        kind="kernel",
        name=call.name,
        grid=_grid(call, launcher),
        block=(launcher.warps * _WARP_THREADS, 1, 1),
        registers=launcher.registers,
        shared_bytes=launcher.shared_bytes,
        parameters=_parameters(kernel, launcher),
        computes=ops,
        instruction=_instruction(launcher, machine),
        code_sha256=code_sha256(machine, "sass"),
        stage=kernel_stage(call.name),
    )


def triton_stages(kernel: Kernel) -> Iterator[StageText]:
    name = kernel_stage(kernel.name)
    yield StageText(name, f"{kernel.name} in Triton", "code", "python", kernel.text, "TritonScheduling")
    launcher = find_launcher(kernel)
    for suffix, title, level, language, made_by in _FILES:
        file = next(launcher.folder.glob(f"*.{suffix}"), None)
        if file is not None:
            text = file.read_text(errors="replace")
            yield StageText(f"{name}.{suffix}", f"{kernel.name}: {title}", level, language, text, made_by)
    yield StageText(
        f"{name}.sass", f"{kernel.name}: SASS", "machine", "sass", sass(launcher), "ptxas, read by nvdisasm"
    )


def template_constants(kernel: Kernel) -> Parameters:
    """Compile-time constants that a template's source sets (BLOCK_M, …), with its warps and stages."""
    found: Parameters = {name: _literal(value) for name, value in _CONSTANT.findall(kernel.text)}
    decorator = re.search(r"@triton_heuristics\.template\((.*?)\n\)", kernel.text, re.DOTALL)
    for name in ("num_stages", "num_warps"):
        if decorator and (match := re.search(rf"\b{name}=(\d+)", decorator[1])):
            found[name] = int(match[1])
    return found


def is_template(kernel: Kernel) -> bool:
    return "@triton_heuristics.template(" in kernel.text


def find_launcher(kernel: Kernel) -> Launcher:
    """After the first run: before it, a kernel may still have several configurations."""
    from torch._inductor.runtime.cache_dir_utils import triton_cache_dir

    loaded = _loaded(kernel.name)
    (chosen,) = loaded.launchers
    signature = [name for name, kind in loaded.triton_meta["signature"].items() if kind != "constexpr"]
    return Launcher(
        registers=None if chosen.n_regs is None else int(chosen.n_regs),
        shared_bytes=int(chosen.shared),
        warps=int(chosen.config.num_warps),
        stages=int(chosen.config.num_stages),
        constants={name: _plain(value) for name, value in chosen.config.kwargs.items()},
        folder=Path(triton_cache_dir(0)) / chosen.cache_hash,
        meta=loaded.inductor_meta,
        signature=(*signature, *loaded.inductor_meta.get("extra_launcher_args", ())),
    )


def sass(launcher: Launcher) -> str:
    """Disassembly of the chosen binary by the ``nvdisasm`` that Triton brings."""
    import triton

    cubin = next(launcher.folder.glob("*.cubin"), None)
    if cubin is None:
        raise FileNotFoundError(f"Triton's cache entry {launcher.folder.name} holds no cubin")
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    command = [str(tool), "--print-code", str(cubin)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def _loaded(name: str) -> Any:
    """The kernel object in the module that Inductor made of its output code."""
    from torch._inductor.codecache import PyCodeCache

    for module in reversed(PyCodeCache.modules):
        if hasattr(getattr(module, name, None), "launchers"):
            return getattr(module, name)
    raise LookupError(f"no loaded module of Inductor defines the kernel {name}")


def _grid(call: Call, launcher: Launcher) -> Extent:
    """Inductor's own grid expression, on the sizes that the launch passes."""
    from torch._inductor.runtime.triton_heuristics import GridExpr

    sizes = {
        name: int(argument)
        for name, argument in zip(launcher.signature, call.arguments, strict=False)
        if argument.lstrip("-").isdigit()
    }
    constants = {**launcher.constants, "num_warps": launcher.warps, "num_stages": launcher.stages}
    x, y, z = GridExpr.from_meta(launcher.meta, constants).eval_slow({**constants, **sizes})
    return int(x), int(y), int(z)


def _parameters(kernel: Kernel, launcher: Launcher) -> Parameters:
    chosen: Parameters = {**launcher.constants, "num_warps": launcher.warps, "num_stages": launcher.stages}
    made: Parameters = {"grid_type": str(launcher.meta.get("grid_type", "")), "template": is_template(kernel)}
    if rounding := half_arithmetic(_ptx(launcher)):
        made["rounding to half in PTX"] = rounding
    return {**made, **(template_constants(kernel) if is_template(kernel) else {}), **chosen}


def _instruction(launcher: Launcher, machine: str) -> str:
    """The family in PTX where Triton kept it, which names operand types; else the opcode."""
    found = _MATRIX.search(_ptx(launcher)) or _SASS_MATRIX.search(machine)
    return found[1] if found else ""


def half_arithmetic(ptx: str) -> str:
    """What rounds to half, by first appearance, with counts: ``cvt.rn.f16x2.f32 x32, add.rn.f16x2 x32``."""
    found = Counter(_HALF.findall(ptx))  # keeps the order of first appearance
    return ", ".join(f"{opcode} x{count}" for opcode, count in found.items())


def _ptx(launcher: Launcher) -> str:
    file = next(launcher.folder.glob("*.ptx"), None)
    return file.read_text(errors="replace") if file else ""


def _kernel_of(call: Call) -> Kernel:
    if call.kernel is None:
        raise LookupError(f"{call.name} is a library call")
    return call.kernel


def _literal(text: str) -> str | int | float | bool:
    try:
        return _plain(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError):
        return text.strip()


def _plain(value: Any) -> str | int | float | bool:
    return value if isinstance(value, str | int | float | bool) else str(value)
