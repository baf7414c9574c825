"""A workload in mathematical form, with every boundary in place: what its manifest means, for a person to check."""

from __future__ import annotations

from pathlib import Path

from tensor_assets.contract.inference import spelled
from tensor_assets.contract.manifest import Manifest, Symbol, SymbolicOp, load_manifest
from tensor_assets.contract.shapes import Shapes

_SIGNS = {"add": "+", "sub": "−", "mul": "·", "div": "/", "matmul": "@"}
_FUNCTIONS = {"relu": "relu", "exp": "exp", "max": "max", "sum": "Σ", "mean": "mean"}
_MOVES = ("transpose", "relu", "max")
_WIDEST = 100  # characters of a formula written in one line


def check_workload(path: Path, shapes: Shapes) -> str:
    """The explanation of the manifest in ``path``. Raises ManifestError: file, JSON pointer, value, what is allowed.

    Every shape is filled in, so that a value too large to hold is refused here.
    """
    manifest = load_manifest(path)
    for shape in shapes:
        manifest.program(shape, shapes)
    return explain(manifest, shapes)


def explain(manifest: Manifest, shapes: Shapes) -> str:
    """The program op by op, in one formula where that fits, its fixed check, its sizes. Text of several lines."""
    lines = [f"{manifest.workload} ({manifest.suite}): {manifest.question}", ""]
    lines += _table([_input_row(value) for value in manifest.inputs] + [_op_row(manifest, op) for op in manifest.ops])
    lines += ["", *formulas(manifest), ""]
    absolute, relative = manifest.tolerance
    zeros = "−0 differs from +0" if manifest.signed_zero else "−0 equals +0"
    lines.append(f"fixed check (reported, decides nothing): |a − r| ≤ {absolute:g} + {relative:g}·|r|; {zeros}")
    sizes = (f"{shape.name} {'×'.join(str(size) for size in shape.sizes.values())}" for shape in shapes.values())
    lines.append(f"M×K×N: {', '.join(sizes)}")
    return "\n".join(lines) + "\n"


def formulas(manifest: Manifest) -> list[str]:
    """Each output as a formula of inputs, named values standing for themselves where it would be too long."""
    whole: dict[str, str] = {}
    for op in manifest.ops:
        text = _formula(manifest, op, whole)
        whole[op.name] = text if len(text) <= _WIDEST else op.name
    return [f"{name} = {whole[name]}" for name in manifest.outputs if whole[name] != name]


def _input_row(value: Symbol) -> tuple[str, str, str]:
    return (value.name, f"{_dtype(value)} {spelled(value.shape)}", "input")


def _op_row(manifest: Manifest, op: SymbolicOp) -> tuple[str, str, str]:
    return (f"{op.name} = {_formula(manifest, op, {})}", f"{_dtype(op)} {spelled(op.shape)}", _meaning(manifest, op))


def _formula(manifest: Manifest, op: SymbolicOp, whole: dict[str, str]) -> str:
    text = _unrounded(op, [_operand(part, whole) for part in op.of])
    return f"FP16({text})" if _rounds(manifest, op) else text


def _unrounded(op: SymbolicOp, parts: list[str]) -> str:
    if op.op in _SIGNS:
        return f" {_SIGNS[op.op]} ".join(_grouped(part) for part in parts)
    if op.op == "transpose":
        return f"{_grouped(parts[0])}ᵀ"
    if op.op == "square":
        return f"{_grouped(parts[0])}²"
    if op.op == "rsqrt":
        return f"1/√{_grouped(parts[0])}"
    return f"{_FUNCTIONS[op.op]}({parts[0]})"


def _operand(part: str | float, whole: dict[str, str]) -> str:
    return whole.get(part, part) if isinstance(part, str) else f"{part:g}"


def _grouped(text: str) -> str:
    """In brackets unless it is a name, a number or a call."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == " " and depth == 0:
            return f"({text})"
    return text


def _meaning(manifest: Manifest, op: SymbolicOp) -> str:
    notes = ["output"] if op.name in manifest.outputs else []
    if op.op == "matmul":
        notes.append("products exact, sums in FP32 in any order")
    if op.op in ("sum", "mean"):
        notes.append("sums in FP32 in any order")
    if _rounds(manifest, op):
        notes.append("boundary: rounded to FP16 before it is read")
    elif op.dtype == "f32":
        notes.append("interior: FP32")
    return "; ".join(notes)


def _rounds(manifest: Manifest, op: SymbolicOp) -> bool:
    dtypes = {value.name: value.dtype for value in manifest.inputs} | {
        value.name: value.dtype for value in manifest.ops
    }
    exact = op.op in _MOVES and all(dtypes[str(part)] == "f16" for part in op.of)
    return op.dtype == "f16" and not exact


def _dtype(value: Symbol | SymbolicOp) -> str:
    return {"f16": "FP16", "f32": "FP32"}[value.dtype]


def _table(rows: list[tuple[str, str, str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"  {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows]
