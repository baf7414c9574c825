"""Some rows or columns of a program: the same program on a part of its outputs, where the parts are independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tensor_worker.program import Op, Program, Value

from tensor_assets.contract.inference import result_dims

Array = NDArray[Any]
Axes = dict[str, int | None]

ROWS, COLUMNS = -2, -1


class Entangled(Exception):
    """The program's output rows (or columns) depend on each other: it cannot be cut there."""


def take(
    program: Program, inputs: Mapping[str, Array], places: Sequence[int], along: int = ROWS
) -> tuple[Program, dict[str, Array]]:
    """The program and its inputs for the given output rows (or columns), in that order. Raises Entangled."""
    axes = carrying_axes(program, along)
    cut = {name: taken(array, axes.get(name), places) for name, array in inputs.items()}
    return resized(program, len(places), along), cut


def take_first(
    program: Program, inputs: Mapping[str, Array], count: int, along: int = ROWS
) -> tuple[Program, dict[str, Array]]:
    """As ``take``, the first ``count`` rows (or columns), or all where there are fewer."""
    carrying_axes(program, along)
    size = program.value(program.outputs[0]).shape[along]
    return take(program, inputs, range(min(count, size)), along)


def taken(array: Array, axis: int | None, places: Sequence[int]) -> Array:
    return array if axis is None else np.take(array, np.asarray(places, np.intp), axis=axis)


def resized(program: Program, count: int, along: int = ROWS) -> Program:
    """The program with ``count`` output rows (or columns). Raises Entangled."""
    axes = carrying_axes(program, along)
    shapes: dict[str, tuple[int, ...]] = {}
    inputs: list[Value] = []
    for value in program.inputs:
        shapes[value.name] = _resized(value.shape, axes.get(value.name), count)
        inputs.append(Value(name=value.name, shape=shapes[value.name], dtype=value.dtype))
    ops: list[Op] = []
    for op in program.ops:
        dims = result_dims(op.op, [shapes[part] if isinstance(part, str) else () for part in op.of])
        shapes[op.name] = tuple(int(dim) for dim in dims)
        ops.append(Op(name=op.name, op=op.op, of=op.of, shape=shapes[op.name], dtype=op.dtype))
    return Program(
        workload=program.workload,
        shape=program.shape,
        inputs=tuple(inputs),
        ops=tuple(ops),
        outputs=program.outputs,
        tolerance=program.tolerance,
        signed_zero=program.signed_zero,
    )


def carrying_axes(program: Program, along: int = ROWS) -> Axes:
    """For each value the axis that carries the outputs' rows (counted from the end), None where all of it is needed.

    Raises Entangled if a value is needed both in part and as a whole.
    """
    axes: Axes = {}
    for name in program.outputs:
        shape = program.value(name).shape
        if len(shape) < 2 or shape[along] != program.value(program.outputs[0]).shape[along]:
            raise Entangled(f"{name} has no rows in common with {program.outputs[0]}")
        axes[name] = along
    for op in reversed(program.ops):
        for index, part in enumerate(op.of):
            if isinstance(part, str):
                _need(axes, part, _operand_axis(program, op, index, axes[op.name]))
    return axes


def _need(axes: Axes, name: str, axis: int | None) -> None:
    if axes.setdefault(name, axis) != axis:
        raise Entangled(f"{name} is needed along two axes")


def _operand_axis(program: Program, op: Op, index: int, axis: int | None) -> int | None:
    if axis is None:
        return None
    if op.op == "matmul":
        return axis if index == (0 if axis == -2 else 1) else None
    if op.op == "transpose":
        return -3 - axis
    if op.op in ("max", "sum", "mean") and axis == -1:
        raise Entangled(f"{op.name} reduces over rows")
    shape = program.value(str(op.of[index])).shape
    carries = len(shape) >= -axis and (shape[axis] != 1 or op.shape[axis] == 1)
    return axis if carries else None


def _resized(shape: tuple[int, ...], axis: int | None, count: int) -> tuple[int, ...]:
    if axis is None:
        return shape
    position = len(shape) + axis
    return (*shape[:position], count, *shape[position + 1 :])
