"""Workload manifests: one JSON file a workload, read strictly, filled with a shape to give a Program."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import cast, get_args

import msgspec
from tensor_worker.program import Dtype, Op, OpName, Program, Value

from tensor_assets.contract.inference import Dim, Dims, Mismatch, result_dims
from tensor_assets.contract.reading import Node, parse_document, read_document, shown
from tensor_assets.contract.shapes import SYMBOLS, Shapes
from tensor_assets.errors import ManifestError

# The documents' fixed check; a manifest may tighten it, never loosen it.
TOLERANCE = (2e-4, 2e-3)

# FP64 of one value takes 1 GiB at this size; the largest value of the project's workloads has 2**20 elements.
MAX_ELEMENTS = 2**27

_MAX_VALUES = 64
_MAX_AXES = 4
_ARITY = {"matmul": 2, "add": 2, "sub": 2, "mul": 2, "div": 2}
_NUMBERS_IN = ("add", "sub", "mul", "div")
_OPTIONAL = ("note", "tolerance", "signed_zero")


class Symbol(msgspec.Struct, frozen=True, kw_only=True):
    """A named value with a symbolic shape."""

    name: str
    shape: Dims
    dtype: Dtype


class SymbolicOp(msgspec.Struct, frozen=True, kw_only=True):
    """An op with a symbolic shape; ``of`` as in Program."""

    name: str
    op: OpName
    of: tuple[str | float, ...]
    shape: Dims
    dtype: Dtype


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One workload, whatever its sizes. ``source`` is the file it came from, for messages."""

    workload: str
    suite: str
    question: str
    inputs: tuple[Symbol, ...]
    ops: tuple[SymbolicOp, ...]
    outputs: tuple[str, ...]
    note: str = ""
    tolerance: tuple[float, float] = TOLERANCE
    signed_zero: bool = False
    source: str = ""

    def program(self, shape: str, shapes: Shapes) -> Program:
        """The workload at one named shape. Raises ManifestError for an unknown shape or a value too large to hold."""
        if shape not in shapes:
            raise ManifestError(self.source, "", f"no shape {shown(shape)} (have: {', '.join(shapes)})")
        sizes = shapes[shape].sizes
        inputs = tuple(Value(name=v.name, shape=_filled(v.shape, sizes), dtype=v.dtype) for v in self.inputs)
        ops = tuple(
            Op(name=op.name, op=op.op, of=op.of, shape=_filled(op.shape, sizes), dtype=op.dtype) for op in self.ops
        )
        for index, value in enumerate(inputs):
            self._holdable(f"/inputs/{index}", value, shape)
        for index, op in enumerate(ops):
            self._holdable(f"/ops/{index}", op, shape)
        return Program(
            workload=self.workload,
            shape=shape,
            inputs=inputs,
            ops=ops,
            outputs=self.outputs,
            tolerance=self.tolerance,
            signed_zero=self.signed_zero,
        )

    def _holdable(self, pointer: str, value: Value | Op, shape: str) -> None:
        elements = math.prod(value.shape)
        if elements > MAX_ELEMENTS:
            size = "×".join(map(str, value.shape))
            problem = (
                f"{shown(value.name)} has {elements:,} elements at shape {shape} ({size}), at most {MAX_ELEMENTS:,}"
            )
            raise ManifestError(self.source, pointer, problem)


def load_workloads(folders: Iterable[Path]) -> dict[str, Manifest]:
    """Every manifest of the folders, by workload, folders in order and files by name.

    Raises ManifestError for a wrong file, a folder that is none, and a workload defined twice.
    """
    found: dict[str, Manifest] = {}
    for folder in folders:
        if not folder.is_dir():
            raise ManifestError(str(folder), "", "is no folder of workloads")
        for path in sorted(folder.glob("*.json")):
            manifest = load_manifest(path)
            if manifest.workload in found:
                problem = f"{shown(manifest.workload)} is already defined by another folder's {path.name}"
                raise ManifestError(manifest.source, "/workload", problem)
            found[manifest.workload] = manifest
    return found


def load_manifest(path: Path) -> Manifest:
    """The manifest in ``path``; the file is named after its workload. Raises ManifestError."""
    document = read_document(path)
    manifest = read_manifest(document)
    if path.stem != manifest.workload:
        document.at("workload").expected(f"the file's name, {shown(path.stem)}")
    return manifest


def parse_manifest(text: str, source: str) -> Manifest:
    """A manifest from text. Raises ManifestError."""
    return read_manifest(parse_document(text, source))


def read_manifest(document: Node) -> Manifest:
    document.only(("workload", "suite", "question", "inputs", "ops", "outputs"), _OPTIONAL)
    known: dict[str, Symbol | SymbolicOp] = {}
    inputs = tuple(_input(node, known) for node in document.at("inputs").items(1, _MAX_VALUES, "inputs"))
    nodes = document.at("ops").items(1, _MAX_VALUES, "ops")
    ops = tuple(_op(node, known, nodes) for node in nodes)
    outputs = _outputs(document.at("outputs"), inputs, ops)
    _no_loose_ends(document, inputs, ops, outputs)
    return Manifest(
        workload=document.at("workload").name("a workload's name"),
        suite=document.at("suite").name("a suite's name"),
        question=document.at("question").line(),
        inputs=inputs,
        ops=ops,
        outputs=outputs,
        note=document.at("note").line() if document.has("note") else "",
        tolerance=_tolerance(document),
        signed_zero=document.at("signed_zero").truth() if document.has("signed_zero") else False,
        source=document.source,
    )


def _input(node: Node, known: dict[str, Symbol | SymbolicOp]) -> Symbol:
    node.only(("name", "shape", "dtype"))
    name = _new_name(node.at("name"), known)
    dims = tuple(_dim(item) for item in node.at("shape").items(1, _MAX_AXES, "sizes"))
    value = Symbol(name=name, shape=dims, dtype=_dtype(node.at("dtype")))
    known[name] = value
    return value


def _op(node: Node, known: dict[str, Symbol | SymbolicOp], ops: list[Node]) -> SymbolicOp:
    node.only(("name", "op", "of", "dtype"))
    name = _new_name(node.at("name"), known)
    kind = cast("OpName", node.at("op").choice(get_args(OpName)))
    arity = _ARITY.get(kind, 1)
    operands = node.at("of").items(arity, arity, "operands")
    of = tuple(_operand(item, kind, known, ops) for item in operands)
    if not any(isinstance(part, str) for part in of):
        node.at("of").expected("at least one named value: an op of numbers alone is a number")
    dtype = _dtype(node.at("dtype"))
    _operand_dtypes(node, kind, of, dtype, known)
    try:
        dims = result_dims(kind, [known[part].shape if isinstance(part, str) else () for part in of])
    except Mismatch as mismatch:
        node.at("of").fail(f"{shown(node.at('of').value)}: {mismatch}")
    op = SymbolicOp(name=name, op=kind, of=of, shape=dims, dtype=dtype)
    known[name] = op
    return op


def _operand(node: Node, kind: str, known: dict[str, Symbol | SymbolicOp], ops: list[Node]) -> str | float:
    if type(node.value) in (int, float):
        if kind not in _NUMBERS_IN:
            node.expected(f"a name: {kind} takes no number")
        return node.number(-65504, 65504)
    if not isinstance(node.value, str):
        node.expected("the name of an input or an earlier op, or a number")
    if node.value not in known:
        have = ", ".join(known)
        for later in ops:
            if isinstance(later.value, dict) and later.value.get("name") == node.value:
                node.fail(f"{shown(node.value)} is no earlier op but {later.pointer} itself or after it (have: {have})")
        node.fail(f"{shown(node.value)} is not an input or an earlier op (have: {have})")
    return str(node.value)


def _operand_dtypes(
    node: Node, kind: str, of: tuple[str | float, ...], dtype: Dtype, known: dict[str, Symbol | SymbolicOp]
) -> None:
    dtypes = [known[part].dtype for part in of if isinstance(part, str)]
    if kind == "matmul" and set(dtypes) != {"f16"}:
        node.at("of").fail("matmul takes f16 values: products of f32 values are not exact in FP32")
    if kind == "transpose" and dtypes != [dtype]:
        node.at("dtype").expected(f"{dtypes[0]}: transpose moves values, it does not convert them")


def _dtype(node: Node) -> Dtype:
    return cast("Dtype", node.choice(get_args(Dtype)))


def _dim(node: Node) -> Dim:
    if isinstance(node.value, str):
        return node.choice(SYMBOLS)
    if type(node.value) is not int:
        node.expected(f"{', '.join(SYMBOLS)} or a positive integer")
    return node.integer(1, MAX_ELEMENTS)


def _new_name(node: Node, known: dict[str, Symbol | SymbolicOp]) -> str:
    name = node.name("a value's name")
    if name in known:
        node.fail(f"{shown(name)} already names another value")
    return name


def _outputs(node: Node, inputs: tuple[Symbol, ...], ops: tuple[SymbolicOp, ...]) -> tuple[str, ...]:
    names = [op.name for op in ops]
    found: list[str] = []
    for item in node.items(1, _MAX_VALUES, "outputs"):
        if item.value in [value.name for value in inputs]:
            item.fail(f"{shown(item.value)} is an input: an output is the result of an op (have: {', '.join(names)})")
        name = item.choice(names)
        if name in found:
            item.fail(f"{shown(name)} is returned twice")
        found.append(name)
    return tuple(found)


def _no_loose_ends(
    document: Node, inputs: tuple[Symbol, ...], ops: tuple[SymbolicOp, ...], outputs: tuple[str, ...]
) -> None:
    needed = set(outputs)
    for op in reversed(ops):
        if op.name in needed:
            needed.update(part for part in op.of if isinstance(part, str))
    for kind, names in (("inputs", [value.name for value in inputs]), ("ops", [op.name for op in ops])):
        for index, name in enumerate(names):
            if name not in needed:
                document.at(kind).at(index).fail(f"no output depends on {shown(name)}")


def _tolerance(document: Node) -> tuple[float, float]:
    if not document.has("tolerance"):
        return TOLERANCE
    node = document.at("tolerance")
    node.only((), ("absolute", "relative"))
    absolute = node.at("absolute").number(0, TOLERANCE[0]) if node.has("absolute") else TOLERANCE[0]
    relative = node.at("relative").number(0, TOLERANCE[1]) if node.has("relative") else TOLERANCE[1]
    return absolute, relative


def _filled(dims: Dims, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in dims)
