"""The smallest program that still fails the same way: greedy delta debugging over sizes and ops. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
from tensor_worker.program import Program

from tensor_assets.contract.manifest import Manifest, Symbol, SymbolicOp, parse_manifest
from tensor_assets.contract.shapes import SYMBOLS, Shape
from tensor_assets.contract.writing import manifest_text
from tensor_assets.errors import ManifestError

REDUCED = "reduced"  # the name of the shape


class Sketch(NamedTuple):
    """A workload with its sizes: what is tried."""

    manifest: Manifest
    sizes: tuple[int, ...]  # M, K, N

    @property
    def program(self) -> Program:
        sizes = dict(zip(SYMBOLS, self.sizes, strict=True))
        return self.manifest.program(REDUCED, {REDUCED: Shape(name=REDUCED, sizes=sizes, purpose="reduced")})


class Reduced(NamedTuple):
    sketch: Sketch
    trials: int

    def words(self, start: Sketch) -> str:
        """What was taken away."""
        sizes = [
            f"{symbol} {before} → {after}"
            for symbol, before, after in zip(SYMBOLS, start.sizes, self.sketch.sizes, strict=True)
            if before != after
        ]
        before, after = len(start.manifest.ops), len(self.sketch.manifest.ops)
        ops = [f"{before} ops → {after}"] if before != after else []
        return ", ".join(sizes + ops) or "nothing: no smaller program fails the same way"


def reduce(start: Sketch, fails: Callable[[Sketch], bool], limit: int = 60) -> Reduced:
    """``start`` fails; ``fails`` tries a smaller one. After ``limit`` trials what was found by then is the answer."""
    search = _Search(fails, limit)
    sketch = _smaller_sizes(start, search)
    sketch = _fewer_ops(sketch, search)
    return Reduced(_smaller_sizes(sketch, search), search.trials)


class _Search:
    """Tries each sketch once."""

    def __init__(self, fails: Callable[[Sketch], bool], limit: int) -> None:
        self._fails, self._limit = fails, limit
        self._known: dict[tuple[str, tuple[int, ...]], bool] = {}
        self.trials = 0

    def first(self, candidates: Iterator[Sketch]) -> Sketch | None:
        return next((sketch for sketch in candidates if self._still_fails(sketch)), None)

    def _still_fails(self, sketch: Sketch) -> bool:
        name = manifest_text(sketch.manifest), sketch.sizes
        if name not in self._known:
            if self.trials >= self._limit:
                return False
            self.trials += 1
            self._known[name] = self._fails(sketch)
        return self._known[name]


def _smaller_sizes(sketch: Sketch, search: _Search) -> Sketch:
    """All sizes small at once if that still fails, then each by itself as small as it goes."""
    together = (sketch._replace(sizes=tuple(min(size, most) for size in sketch.sizes)) for most in (1, 2, 4, 8, 16, 32))
    sketch = search.first(one for one in together if one.sizes != sketch.sizes) or sketch
    for place in range(len(SYMBOLS)):
        sketch = search.first(_each_smaller(sketch, place)) or sketch
    return sketch


def _each_smaller(sketch: Sketch, place: int) -> Iterator[Sketch]:
    size = 1
    while size < sketch.sizes[place]:
        yield sketch._replace(sizes=(*sketch.sizes[:place], size, *sketch.sizes[place + 1 :]))
        size *= 2


def _fewer_ops(sketch: Sketch, search: _Search) -> Sketch:
    while found := search.first(sketch._replace(manifest=cut) for cut in cuts(sketch.manifest)):
        sketch = found
    return sketch


def cuts(manifest: Manifest) -> Iterator[Manifest]:
    """Every valid workload that is this one less an output, less an op, or with an op's value given as an input."""
    for name in manifest.outputs if len(manifest.outputs) > 1 else ():
        yield from _valid(manifest, manifest.ops, tuple(other for other in manifest.outputs if other != name))
    for op in reversed(manifest.ops):
        for part in dict.fromkeys(op.of):
            if isinstance(part, str) and _alike(manifest, op, part):
                yield from _without(manifest, op, part)
    for op in manifest.ops:
        if op.name not in manifest.outputs:
            given = Symbol(name=op.name, shape=op.shape, dtype=op.dtype)
            rest = tuple(other for other in manifest.ops if other is not op)
            more = msgspec.structs.replace(manifest, inputs=(*manifest.inputs, given))
            yield from _valid(more, rest, manifest.outputs)


def _alike(manifest: Manifest, op: SymbolicOp, name: str) -> bool:
    values: list[Symbol | SymbolicOp] = [*manifest.inputs, *manifest.ops]
    return any((one.name, one.shape, one.dtype) == (name, op.shape, op.dtype) for one in values)


def _without(manifest: Manifest, op: SymbolicOp, stands_in: str) -> Iterator[Manifest]:
    """The op gone, one of its operands in its place."""
    ops = tuple(
        msgspec.structs.replace(other, of=tuple(stands_in if part == op.name else part for part in other.of))
        for other in manifest.ops
        if other is not op
    )
    outputs = tuple(dict.fromkeys(stands_in if name == op.name else name for name in manifest.outputs))
    yield from _valid(manifest, ops, outputs)


def _valid(manifest: Manifest, ops: tuple[SymbolicOp, ...], outputs: tuple[str, ...]) -> Iterator[Manifest]:
    """With what no output needs left out, if that is a workload."""
    needed = set(outputs)
    for op in reversed(ops):
        if op.name in needed:
            needed.update(part for part in op.of if isinstance(part, str))
    made = msgspec.structs.replace(
        manifest,
        inputs=tuple(value for value in manifest.inputs if value.name in needed),
        ops=tuple(op for op in ops if op.name in needed),
        outputs=outputs,
    )
    try:
        yield parse_manifest(manifest_text(made), manifest.source)
    except ManifestError:
        return
