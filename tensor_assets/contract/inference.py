"""Result shapes, symbolic or not: a symbol equals itself only, so a program that fits, fits at every shape."""

from __future__ import annotations

from collections.abc import Sequence

Dim = str | int
Dims = tuple[Dim, ...]


class Mismatch(Exception):
    """The operands' shapes do not go together; the text says why."""


def result_dims(op: str, operands: Sequence[Dims]) -> Dims:
    """Shape of ``op`` over operands of the given shapes (a number has the shape ``()``). Raises Mismatch."""
    if op == "matmul":
        return _contracted(*operands)
    if op == "transpose":
        return _swapped(operands[0])
    if op in ("max", "sum", "mean"):
        return (*operands[0][:-1], 1)
    result: Dims = ()
    for dims in operands:
        result = _broadcast(result, dims)
    return result


def spelled(dims: Dims) -> str:
    return f"[{', '.join(map(str, dims))}]"


def _contracted(left: Dims, right: Dims) -> Dims:
    if len(left) != 2 or len(right) != 2:
        raise Mismatch(f"matmul takes two matrices, not {spelled(left)} and {spelled(right)}")
    if left[1] != right[0]:
        raise Mismatch(f"matmul of {spelled(left)} and {spelled(right)} would contract {left[1]} with {right[0]}")
    return (left[0], right[1])


def _swapped(dims: Dims) -> Dims:
    if len(dims) != 2:
        raise Mismatch(f"transpose takes a matrix, not {spelled(dims)}")
    return (dims[1], dims[0])


def _broadcast(left: Dims, right: Dims) -> Dims:
    width = max(len(left), len(right))
    padded = [(1,) * (width - len(dims)) + dims for dims in (left, right)]
    result: list[Dim] = []
    for a, b in zip(*padded, strict=True):
        if a != b and a != 1 and b != 1:
            raise Mismatch(f"{spelled(left)} and {spelled(right)} do not broadcast: {a} against {b}")
        result.append(b if a == 1 else a)
    return tuple(result)
