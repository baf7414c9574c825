"""Draws the inputs of a program: each when the first op that reads it is reached, knowing what was computed so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tensor_worker.program import Op, Program

from tensor_assets.contract.draws import Draws
from tensor_assets.contract.enclosure import enclose
from tensor_assets.contract.floats import Array, Float64, rounded, stored
from tensor_assets.contract.grids import NotExact
from tensor_assets.contract.oracle import Values, by_contract
from tensor_assets.contract.recipes import Recipe
from tensor_assets.contract.rows import Entangled, carrying_axes, resized, taken

# Where only unambiguous rows are kept: how many are drawn at once at least, and how often.
_BATCH, _BATCHES = 64, 8


class Drawn(NamedTuple):
    """The inputs, and every value of the program as the oracle has it: later inputs are fitted to earlier values."""

    inputs: dict[str, Array]
    values: Values


def draw(program: Program, recipe: Recipe, key: str) -> Drawn:
    """Inputs of ``program`` by ``recipe``; ``key`` names the stream of numbers."""
    return _Drawing(program, recipe, key).finish()


def draw_decided(program: Program, recipe: Recipe, key: str) -> Drawn:
    """As ``draw``, but where FP32 interior values meet a boundary, rows are kept whose every result is unambiguous.

    Raises NotExact if no row is, or the program's rows depend on each other.
    """
    head = _rowwise_head(program)
    if head is None:
        return draw(program, recipe, key)
    return _Drawing(program, recipe, key, _decided_rows(head, recipe, key)).finish()


class _Drawing:
    def __init__(self, program: Program, recipe: Recipe, key: str, given: dict[str, Array] | None = None) -> None:
        self._program, self._recipe, self._key = program, recipe, key
        self._producers = {op.name: op for op in program.ops}
        self._inputs: dict[str, Array] = dict(given or {})
        self._values: dict[str, Float64] = {name: array.astype(np.float64) for name, array in self._inputs.items()}
        self._rights: dict[str, list[Float64]] = {}

    def finish(self) -> Drawn:
        for op in self._program.ops:
            if op.op == "transpose" and self._missing(str(op.of[0])):
                continue  # the op that reads the transposed value says what is needed
            self._provide(op)
            self._compute(op)
        for op in self._program.ops:
            if self._missing(op.name):  # an input that is transposed and nothing more
                self._fill(op.name, self._recipe.rows(self._draws(op.name), op.shape, op.op))
        return Drawn({value.name: self._inputs[value.name] for value in self._program.inputs}, self._values)

    def _provide(self, op: Op) -> None:
        missing = [part for part in op.of if isinstance(part, str) and self._missing(part)]
        if op.op == "matmul":
            self._provide_matmul(op)
        elif op.op in ("add", "sub", "mul", "div"):
            largest_first = sorted(dict.fromkeys(missing), key=lambda name: -int(np.prod(self._shape(name))))
            for name in largest_first:
                self._fill(name, self._beside(op, name))
        else:
            for name in missing:
                self._fill(name, self._recipe.rows(self._draws(name), self._shape(name), op.op))

    def _provide_matmul(self, op: Op) -> None:
        left, right = str(op.of[0]), str(op.of[1])
        if self._missing(left) and not self._missing(right):
            shape, given = self._shape(left)[::-1], self._values[right].T
            self._fill(left, self._recipe.right(self._draws(left), shape, given).T)
        if self._missing(left):
            self._fill(left, self._recipe.left(self._draws(left), self._shape(left)))
        if self._missing(right):
            twins = [twin for twin in self._rights.get(left, []) if twin.shape == self._shape(right)]
            draws, shape, value = self._draws(right), self._shape(right), self._values[left]
            drawn = (
                self._recipe.rejoined(draws, shape, value, twins[0])
                if twins
                else self._recipe.right(draws, shape, value)
            )
            self._fill(right, drawn)
        self._rights.setdefault(left, []).append(self._values[right])

    def _beside(self, op: Op, name: str) -> Float64:
        """An operand for an elementwise op whose other operand may be known."""
        others = [part for part in op.of if part != name]
        other = others[0] if others else name
        value = None if isinstance(other, str) and self._missing(other) else self._value(other)
        if isinstance(other, float | int):
            value = None
        draws, shape = self._draws(name), self._shape(name)
        if op.op in ("mul", "div"):
            return self._recipe.scaled(draws, shape, value)
        drawn = self._recipe.added(draws, shape, value)
        return -drawn if op.op == "sub" else drawn

    def _fill(self, name: str, drawn: Float64) -> None:
        """Set the input that ``name`` is, or is a transpose of."""
        producer = self._producers.get(name)
        if producer is not None:
            self._fill(str(producer.of[0]), np.swapaxes(drawn, -1, -2))
            self._values[name] = np.swapaxes(self._values[str(producer.of[0])], -1, -2)
            return
        dtype = self._program.value(name).dtype
        self._inputs[name] = np.ascontiguousarray(stored(drawn, dtype)).reshape(drawn.shape)
        self._values[name] = rounded(drawn, dtype)

    def _compute(self, op: Op) -> None:
        if op.name not in self._values:
            self._values[op.name] = by_contract(op, [self._value(part) for part in op.of])

    def _missing(self, name: str) -> bool:
        return name not in self._values

    def _value(self, part: str | float) -> Float64:
        return self._values[part] if isinstance(part, str) else np.array(part, np.float64)

    def _shape(self, name: str) -> tuple[int, ...]:
        return self._program.value(name).shape

    def _draws(self, name: str) -> Draws:
        while name in self._producers:
            name = str(self._producers[name].of[0])
        return Draws(self._key, name)


def _rowwise_head(program: Program) -> Program | None:
    """The part before the first contraction, as a program of its own, if FP32 interior values are in it."""
    ops: list[Op] = []
    for op in program.ops:
        if op.op == "matmul":
            break
        ops.append(op)
    if not any(op.dtype == "f32" for op in ops):
        return None
    last = [op.name for op in ops if op.dtype == "f16" or op.name in program.outputs]
    read = {part for op in ops for part in op.of}
    inputs = tuple(value for value in program.inputs if value.name in read)
    return Program(
        workload=program.workload,
        shape=program.shape,
        inputs=inputs,
        ops=tuple(ops),
        outputs=tuple(last) or (ops[-1].name,),
    )


def _decided_rows(head: Program, recipe: Recipe, key: str) -> dict[str, Array]:
    """Inputs of ``head`` made of rows whose outputs have one legal value; repeated where there are too few."""
    try:
        axes = carrying_axes(head)
        count = head.value(head.outputs[0]).shape[-2]
        tall = resized(head, max(count, _BATCH))
    except Entangled as reason:
        raise NotExact(str(reason)) from None
    shared: dict[str, Array] = {}
    kept: dict[str, list[Array]] = {name: [] for name, axis in axes.items() if axis is not None}
    found = 0
    for batch in range(_BATCHES):
        inputs = _Drawing(tall, recipe, f"{key}/{batch}", shared).finish().inputs
        shared = {name: array for name, array in inputs.items() if axes[name] is None}
        rows = np.flatnonzero(_unambiguous(tall, inputs, recipe.margin_ulp))
        found += len(rows)
        for name in inputs.keys() - shared.keys():
            kept[name].append(taken(inputs[name], axes[name], rows.tolist()))
        if found >= count:
            break
    if not found:
        raise NotExact("no row has unambiguous results")
    places = np.resize(np.arange(found), count).tolist()
    joined = {name: np.concatenate(parts, axis=axes[name]) for name, parts in kept.items() if parts}
    return shared | {name: taken(array, axes[name], places) for name, array in joined.items()}


def _unambiguous(program: Program, inputs: dict[str, Array], margin_ulp: float) -> NDArray[np.bool_]:
    """For each row of the outputs whether every element has one legal value."""
    values = enclose(program, inputs, margin_ulp).values
    decided = np.ones(program.value(program.outputs[0]).shape[-2], np.bool_)
    for name in program.outputs:
        low, high = values[name]
        decided &= (low == high).all(axis=tuple(axis for axis in range(low.ndim) if axis != low.ndim - 2))
    return decided
