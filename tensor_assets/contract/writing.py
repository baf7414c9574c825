"""A manifest as its JSON file: one input or op a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tensor_assets.contract.manifest import TOLERANCE, Manifest, Symbol, SymbolicOp


def manifest_text(manifest: Manifest) -> str:
    """The file's text; reading it gives the manifest again."""
    members: list[tuple[str, str]] = [
        ("workload", _line(manifest.workload)),
        ("suite", _line(manifest.suite)),
        ("question", _line(manifest.question)),
    ]
    if manifest.note:
        members.append(("note", _line(manifest.note)))
    if manifest.tolerance != TOLERANCE:
        members.append(("tolerance", _line(_tightened(manifest.tolerance))))
    if manifest.signed_zero:
        members.append(("signed_zero", "true"))
    members.append(("inputs", _lines(_input(value) for value in manifest.inputs)))
    members.append(("ops", _lines(_op(op) for op in manifest.ops)))
    members.append(("outputs", _line(manifest.outputs)))
    return "{\n" + ",\n".join(f"  {_line(name)}: {text}" for name, text in members) + "\n}\n"


def _tightened(tolerance: tuple[float, float]) -> dict[str, float]:
    pairs = zip(("absolute", "relative"), tolerance, TOLERANCE, strict=True)
    return {name: value for name, value, usual in pairs if value != usual}


def _input(value: Symbol) -> dict[str, Any]:
    return {"name": value.name, "shape": value.shape, "dtype": value.dtype}


def _op(op: SymbolicOp) -> dict[str, Any]:
    return {"name": op.name, "op": op.op, "of": op.of, "dtype": op.dtype}


def _lines(items: Iterable[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(f"    {_line(item)}" for item in items) + "\n  ]"


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
