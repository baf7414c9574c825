"""A program in somebody else's record: scripts are written from it and arrays drawn for it, so it must be one."""

from __future__ import annotations

from tensor_worker.program import Program

from tensor_assets.contract.manifest import Manifest, Symbol, SymbolicOp, parse_manifest
from tensor_assets.contract.reading import is_name, shown
from tensor_assets.contract.shapes import SYMBOLS, Shape
from tensor_assets.contract.writing import manifest_text
from tensor_assets.errors import ManifestError


def problem_of(program: Program) -> str:
    """Why no manifest gives this program at any shape; empty if one does."""
    if not is_name(program.shape):
        return f"{shown(program.shape)} is no name of a shape"
    sizes = Shape(name=program.shape, sizes=dict.fromkeys(SYMBOLS, 1), purpose="any: the sizes are written out")
    try:
        manifest = parse_manifest(manifest_text(_written_out(program)), "its program")
        made = manifest.program(program.shape, {program.shape: sizes})
    except ManifestError as error:
        return str(error)
    return "" if made == program else "its program's shapes are not what its ops give"


def _written_out(program: Program) -> Manifest:
    """With numbers for sizes."""
    return Manifest(
        workload=program.workload,
        suite="own",
        question="What came in a bundle?",
        inputs=tuple(Symbol(name=value.name, shape=value.shape, dtype=value.dtype) for value in program.inputs),
        ops=tuple(SymbolicOp(name=o.name, op=o.op, of=o.of, shape=o.shape, dtype=o.dtype) for o in program.ops),
        outputs=program.outputs,
        tolerance=program.tolerance,
        signed_zero=program.signed_zero,
    )
