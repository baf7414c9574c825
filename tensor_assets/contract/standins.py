"""Stand-ins for tensors that write down what is done to them, for ``trace``."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Collection
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn

from tensor_worker.program import Dtype

from tensor_assets.contract.inference import Dims, Mismatch, result_dims
from tensor_assets.contract.manifest import Symbol
from tensor_assets.errors import TraceError

# What NumPy and torch call these operations, where the name differs from the stand-in's own.
_SPELLINGS = {
    "mm": "matmul", "dot": "matmul", "__matmul__": "matmul", "subtract": "sub", "multiply": "mul", "divide": "div",
    "true_divide": "div", "t": "transpose", "swapaxes": "transpose", "permute": "transpose", "amax": "max",
    "negative": "neg", "maximum": "maximum", "float_power": "power", "pow": "power",
}  # fmt: skip

_BINARY = ("matmul", "add", "sub", "mul", "div")
_UNARY = ("relu", "exp", "square", "rsqrt")
_REDUCTIONS = ("max", "sum", "mean")
UNDERSTOOD = "@ + - * / **2 **-0.5 .T relu exp square rsqrt amax sum mean float half"


class Node:
    """One value: an input or an op's result. ``merged`` is the node it became one with."""

    def __init__(
        self, op: str, of: tuple[Node | float, ...], dims: Dims, dtype: Dtype, symbol: Symbol | None = None
    ) -> None:
        self.op, self.of, self.dims, self.dtype, self.symbol = op, of, dims, dtype, symbol
        self.into: Node | None = None

    @property
    def merged(self) -> Node:
        return self.into.merged if self.into else self


class Graph:
    """What was written down, in order."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def input(self, symbol: Symbol) -> Standin:
        return Standin(self, self._kept(Node("", (), symbol.shape, symbol.dtype, symbol)), symbol.dtype)

    def apply(self, op: str, parts: list[Standin | float], dtype: Dtype) -> Standin:
        of = tuple(part.node if isinstance(part, Standin) else part for part in parts)
        try:
            dims = result_dims(op, [part.dims if isinstance(part, Node) else () for part in of])
        except Mismatch as mismatch:
            refuse(str(mismatch))
        return Standin(self, self._kept(Node(op, of, dims, dtype)), dtype)

    def rounded(self, node: Node) -> Node:
        return self._kept(Node("mul", (node, 1.0), node.dims, "f16"))

    def merge_roundings(self, outputs: Collection[Node]) -> None:
        """A value that is only ever read rounded is that value, rounded: one op with an FP16 result."""
        for node in self.nodes:
            source = node.of[0] if node.op == "mul" and node.of[1:] == (1.0,) else None
            if isinstance(source, Node) and source.op and source.dtype == "f32" and node.dtype == "f16":
                readers = [reader for reader in self.nodes if source in reader.of]
                if readers == [node] and source not in outputs:
                    source.dtype, node.into = "f16", source

    def _kept(self, node: Node) -> Node:
        self.nodes.append(node)
        return node


class Standin:
    """A tensor that is not there. ``as_dtype`` is what its results have: FP32 after ``.float()``."""

    __array_priority__ = 1000

    def __init__(self, graph: Graph, node: Node, dtype: Dtype) -> None:
        self.graph, self.node, self.as_dtype = graph, node, dtype

    def matmul(self, other: Any) -> Standin:
        return self._binary("matmul", self, other)

    def add(self, other: Any) -> Standin:
        return self._binary("add", self, other)

    def sub(self, other: Any) -> Standin:
        return self._binary("sub", self, other)

    def mul(self, other: Any) -> Standin:
        return self._binary("mul", self, other)

    def div(self, other: Any) -> Standin:
        return self._binary("div", self, other)

    def relu(self) -> Standin:
        return self.graph.apply("relu", [self], self.as_dtype)

    def exp(self) -> Standin:
        return self.graph.apply("exp", [self], self.as_dtype)

    def square(self) -> Standin:
        return self.graph.apply("square", [self], self.as_dtype)

    def rsqrt(self) -> Standin:
        return self.graph.apply("rsqrt", [self], self.as_dtype)

    def neg(self) -> Standin:
        return self.mul(-1.0)

    def maximum(self, other: Any) -> Standin:
        if isinstance(other, Standin) or _number(other) != 0.0:
            refuse("maximum is understood with 0 only, as relu")
        return self.relu()

    def power(self, exponent: Any) -> Standin:
        value = None if isinstance(exponent, Standin) else _number(exponent)
        if value == 2.0:
            return self.square()
        if value == -0.5:
            return self.rsqrt()
        refuse("** is understood with 2 and -0.5 only")

    def max(self, *axis: Any, **options: Any) -> Standin:
        return self._reduced("max", axis, options)

    def sum(self, *axis: Any, **options: Any) -> Standin:
        return self._reduced("sum", axis, options)

    def mean(self, *axis: Any, **options: Any) -> Standin:
        return self._reduced("mean", axis, options)

    def transpose(self, *axes: Any) -> Standin:
        flat = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes
        if flat and sorted(axis % 2 for axis in flat if isinstance(axis, int)) != [0, 1]:
            refuse(f"transpose swaps the two axes of a matrix, not {list(flat)}")
        return Standin(self.graph, self.graph.apply("transpose", [self], self.node.dtype).node, self.as_dtype)

    @property
    def T(self) -> Standin:
        return self.transpose()

    mT = T

    def float(self) -> Standin:
        return Standin(self.graph, self.node, "f32")

    def half(self) -> Standin:
        node = self.node if self.node.dtype == "f16" else self.graph.rounded(self.node)
        return Standin(self.graph, node, "f16")

    def astype(self, dtype: Any) -> Standin:
        name = str(getattr(dtype, "__name__", dtype)).rsplit(".", 1)[-1]
        if name in ("float32", "f32", "single", "float"):
            return self.float()
        if name in ("float16", "f16", "half"):
            return self.half()
        refuse(f"dtype {name[:40]} is not allowed, expected float16 or float32")

    to = astype

    @property
    def shape(self) -> Dims:
        return self.node.dims

    @property
    def dtype(self) -> str:
        return {"f16": "float16", "f32": "float32"}[self.as_dtype]

    def __add__(self, other: Any) -> Standin:
        return self.add(other)

    def __radd__(self, other: Any) -> Standin:
        return self._binary("add", other, self)

    def __sub__(self, other: Any) -> Standin:
        return self.sub(other)

    def __rsub__(self, other: Any) -> Standin:
        return self._binary("sub", other, self)

    def __mul__(self, other: Any) -> Standin:
        return self.mul(other)

    def __rmul__(self, other: Any) -> Standin:
        return self._binary("mul", other, self)

    def __truediv__(self, other: Any) -> Standin:
        return self.div(other)

    def __rtruediv__(self, other: Any) -> Standin:
        return self._binary("div", other, self)

    def __matmul__(self, other: Any) -> Standin:
        return self.matmul(other)

    def __rmatmul__(self, other: Any) -> Standin:
        return self._binary("matmul", other, self)

    def __pow__(self, exponent: Any) -> Standin:
        return self.power(exponent)

    def __neg__(self) -> Standin:
        return self.neg()

    def __getattr__(self, name: str) -> Any:
        if name in _SPELLINGS:
            return getattr(self, _SPELLINGS[name])
        if name.startswith("__"):
            raise AttributeError(name)  # Python and NumPy ask for protocols that a tensor need not have
        refuse(f".{name} is no operation of a workload (understood: {UNDERSTOOD})")

    def __array_ufunc__(self, ufunc: Any, method: str, *parts: Any, **options: Any) -> Standin:
        if method != "__call__" or options:
            refuse(f"numpy.{ufunc.__name__}.{method} with {', '.join(options) or 'no options'} is not understood")
        return _dispatched(ufunc.__name__, parts, {})

    def __array_function__(self, function: Any, types: Any, parts: Any, options: Any) -> Standin:
        return _dispatched(function.__name__, parts, options)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, parts: Any = (), options: Any = None) -> Standin:
        return _dispatched(function.__name__, parts, options or {})

    def __bool__(self) -> bool:
        refuse("a workload cannot branch on a tensor's values")

    def __iter__(self) -> NoReturn:
        refuse("a workload cannot loop over a tensor's elements")

    def __getitem__(self, key: Any) -> NoReturn:
        refuse("a workload cannot index a tensor")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse("a workload's tensor has no values to make an array of")

    def _compared(self, other: object) -> NoReturn:
        refuse("a workload cannot compare tensors")

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def _binary(self, op: str, left: Any, right: Any) -> Standin:
        parts = [part if isinstance(part, Standin) else _number(part) for part in (left, right)]
        if op == "matmul" and not all(isinstance(part, Standin) for part in parts):
            refuse("matmul takes two matrices")
        wide = any(isinstance(part, Standin) and part.as_dtype == "f32" for part in parts)
        return self.graph.apply(op, parts, "f32" if wide else "f16")

    def _reduced(self, op: str, axis: tuple[Any, ...], options: dict[str, Any]) -> Standin:
        axes = [*axis, *(options.pop(name) for name in ("dim", "axis") if name in options)]
        keep = [options.pop(name) for name in ("keepdim", "keepdims") if name in options]
        keep = keep or axes[1:2]
        last = len(self.node.dims) - 1
        if options or axes[:1] not in ([-1], [last], [(-1,)], [[-1]]) or keep != [True]:
            refuse(f"{op} reduces the last axis and keeps it: {op}(-1, keepdim=True)")
        return self.graph.apply(op, [self], self.as_dtype)


def refuse(problem: str) -> NoReturn:
    """Raise TraceError with the line of the traced function that asked."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    raise TraceError(f"{here(frame.f_code, frame.f_lineno)}: {problem}")


def here(code: CodeType, line: int | None = None) -> str:
    return f"{Path(code.co_filename).name}:{line or code.co_firstlineno}"


def _dispatched(name: str, parts: tuple[Any, ...], options: dict[str, Any]) -> Standin:
    own = _SPELLINGS.get(name, name)
    first = next((part for part in parts if isinstance(part, Standin)), None)
    if own in _BINARY and len(parts) == 2 and not options and first is not None:
        return first._binary(own, *parts)
    if (
        first is None
        or first is not parts[0]
        or own not in (*_UNARY, *_REDUCTIONS, "transpose", "neg", "power", "maximum")
    ):
        refuse(f"{name} is no operation of a workload (understood: {UNDERSTOOD})")
    result: Standin = getattr(first, own)(*parts[1:], **options)
    return result


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        refuse(f"{type(value).__name__} is no operand of a workload: a tensor or a finite number is")
    return float(value)
