"""Builds a program's fixtures: inputs, reference outputs, bounds or intervals, coverage, hashes. From fixed seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.arrays import hash_arrays
from tensor_assets.contract.drawing import Drawn, draw, draw_decided
from tensor_assets.contract.enclosure import Enclosed, enclose
from tensor_assets.contract.floats import Array, stored
from tensor_assets.contract.grids import FAMILY, Exact, Grid, Levels, NotExact, Ties
from tensor_assets.contract.oracle import Values, execute, outputs_of
from tensor_assets.contract.recipes import (
    Cancellation,
    ProductAccumulation,
    ProjectionRounding,
    Recipe,
    Structured,
    Zeros,
)
from tensor_assets.contract.rows import COLUMNS, ROWS, Entangled, take_first
from tensor_assets.contract.violations import violations
from tensor_assets.records import Bound

# Rows and columns on which coverage is measured: they are alike by construction. Where columns depend on each other,
# as in a softmax, rows differ more (one sum decides for all of a row) and four times as many are taken.
_COVERED = {COLUMNS: 256, ROWS: 8}
_COVERED_WHOLE_ROWS = 32
# Fixtures built at once: each holds some ten FP64 arrays.
_THREADS = 2

# Where rows are drawn and kept, the grids of contraction operands have no part.
_WHERE_ROWS_ARE_KEPT = ("", "halfway", "small", "subnormal", "large")
# Multipliers of normalized rows in "large": four times that, the largest result, is still finite.
_LARGE_SCALE = 2.0**13
_LOWERED = (1.0, 2.0**-4, 2.0**-8, 2.0**-12)
_RAISED = (1.0, 1.0, 2.0**4, 2.0**7, 2.0**10)


# What is done to drawn inputs, in turn, where results are not finite: a program overflows, or wants positive values.
_TAMED: dict[str, Callable[[Array], Array]] = {
    "": lambda array: array,
    ", times 2**-4": lambda array: array * array.dtype.type(2.0**-4),
    ", times 2**-8": lambda array: array * array.dtype.type(2.0**-8),
    ", made positive": lambda array: np.abs(array) + array.dtype.type(0.125),
    ", made positive, times 2**-6": lambda array: (np.abs(array) + array.dtype.type(0.125)) * array.dtype.type(2.0**-6),
}


class BuiltFixture(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One set of inputs with its reference outputs.

    ``exact``: every legal execution returns ``reference``, bit for bit (zeros by value), proven from the data; then
    ``bounds`` holds the proof of each contraction and ``coverage`` the share of output elements (of the most changed
    output) that each violation changes. Otherwise ``low`` and ``high`` bound the legal values of each output.
    """

    name: str
    exact: bool
    seed: int
    inputs: Mapping[str, Array]
    reference: Mapping[str, Array]
    low: Mapping[str, Array] | None
    high: Mapping[str, Array] | None
    bounds: tuple[Bound, ...]
    coverage: dict[str, float]
    recipe: str
    hashes: dict[str, str]


def build_fixtures(program: Program, names: Iterable[str] | None = None, seed: int = 0) -> tuple[BuiltFixture, ...]:
    """All fixtures of ``program``, or those called ``names``, always in the same order.

    ``seed`` shifts every stream; the published fixtures use 0. Exact fixtures that no data of theirs can prove for this
    program are left out, and so are those whose results would not be finite. Raises ValueError for a name that no
    fixture of this program has.
    """
    wanted = None if names is None else set(names)
    makers = _makers(program)
    unknown = (wanted or set()) - set(makers)
    if unknown:
        raise ValueError(f"{program.workload} has no fixture {sorted(unknown)[0]!r} (have: {', '.join(makers)})")
    chosen = [maker for name, maker in makers.items() if wanted is None or name in wanted]
    with ThreadPoolExecutor(_THREADS) as pool:  # NumPy releases the lock; each fixture has its own stream of numbers
        return tuple(fixture for fixture in pool.map(lambda maker: maker(seed), chosen) if fixture is not None)


def fixture_of(program: Program, name: str, inputs: Mapping[str, Array], recipe: str = "given") -> BuiltFixture:
    """A fixture of given inputs: reference, proof or intervals, coverage. Raises ValueError if they do not fit."""
    given = {value.name: inputs[value.name] for value in program.inputs if value.name in inputs}
    return _built(program, name, 0, Drawn(given, execute(program, given)), recipe)


def fixture_names(program: Program) -> tuple[str, ...]:
    """What ``build_fixtures`` may return, in order."""
    return tuple(_makers(program))


Maker = Callable[[int], BuiltFixture | None]


def _makers(program: Program) -> dict[str, Maker]:
    plain: dict[str, Recipe] = {
        "search": Recipe(),
        "random": Recipe(),
        "zeros": Zeros(),
        "structured": Structured(),
        "cancellation": Cancellation(),
        "product_accumulation": ProductAccumulation(),
        "projection_rounding": ProjectionRounding(),
    }
    makers: dict[str, Maker] = {"search": _plain(program, "search", plain.pop("search"))}
    for name, recipes in _exact_recipes(program).items():
        makers[name] = _exact(program, name, recipes)
    makers.update({name: _plain(program, name, recipe) for name, recipe in plain.items()})
    return makers


def _exact_recipes(program: Program) -> dict[str, list[Exact]]:
    """For each exact fixture the recipes to try, in order."""
    kinds = {op.op for op in program.ops}
    if "exp" in kinds:
        levels: list[Exact] = [Levels()]
        return {"exact-0": levels, "exact-1": levels, "exact-ties": [Ties()], "exact-subnormal": [Levels(deep=True)]}
    interior = _has_interior(program)
    members = FAMILY if "matmul" in kinds and not interior else _WHERE_ROWS_ARE_KEPT
    found: dict[str, list[Exact]] = {}
    for name in members:
        grid = FAMILY[name]
        if name == "large" and interior:
            grid = msgspec.structs.replace(grid, scale=_LARGE_SCALE)
        needless = {"4x4": not _has_chain(program), "halfway": "matmul" not in kinds, "small": not interior}
        if needless.get(name, False):
            continue
        recipes = [Exact(variant) for variant in _tops(name, grid)]
        found.update({f"exact-{name}": recipes} if name else {"exact-0": recipes, "exact-1": recipes})
    return found


def _tops(name: str, grid: Grid) -> list[Grid]:
    """The grid with the sizes of results to try: where a product of results would overflow or vanish, others."""
    factors = _RAISED if name == "subnormal" else _LOWERED if name == "large" else (1.0, 2.0**-4)
    return [msgspec.structs.replace(grid, top=grid.top * factor) for factor in factors]


def _has_interior(program: Program) -> bool:
    return any(op.dtype == "f32" for op in program.ops)


def _has_chain(program: Program) -> bool:
    """Whether a contraction reads what depends on another one."""
    tainted: set[str | float] = set()
    for op in program.ops:
        if op.op == "matmul" and tainted & set(op.of):
            return True
        if op.op == "matmul" or tainted & set(op.of):
            tainted.add(op.name)
    return False


def _plain(program: Program, name: str, recipe: Recipe) -> Maker:
    def make(seed: int) -> BuiltFixture | None:
        drawn = draw(program, recipe, f"{program.workload}/{program.shape}/{name}/{seed}")
        for words, tame in _TAMED.items():
            if words:
                inputs = {value.name: tame(drawn.inputs[value.name]) for value in program.inputs}
                drawn = Drawn(inputs, execute(program, inputs))
            if _finite(program, drawn.values):
                built = _built(program, name, seed, drawn, recipe.summary + words)
                if _bounded(built):
                    return built
        return None

    return make


def _finite(program: Program, values: Values) -> bool:
    return all(np.isfinite(values[name]).all() for name in program.outputs)


def _bounded(built: BuiltFixture) -> bool:
    """Whether no legal execution overflows."""
    ends = [*(built.low or {}).values(), *(built.high or {}).values(), *built.reference.values()]
    return all(np.isfinite(end).all() for end in ends)


def _exact(program: Program, name: str, recipes: list[Exact]) -> Maker:
    def make(seed: int) -> BuiltFixture | None:
        for attempt, recipe in enumerate(recipes):
            key = f"{program.workload}/{program.shape}/{name}/{seed}" + (f"/{attempt}" if attempt else "")
            try:
                drawn = draw_decided(program, recipe, key)
            except NotExact:
                return None
            built = _built(program, name, seed, drawn, recipe.summary, recipe.margin_ulp)
            if built.exact and _serves(name, built):
                return built
        return None

    return make


def _serves(name: str, built: BuiltFixture) -> bool:
    """Whether the fixture does what it is for: results that are finite, and subnormal where it says so."""
    if not _bounded(built):
        return False
    if name != "exact-subnormal":
        return True
    sizes = [np.abs(array.astype(np.float64)) for array in built.reference.values()]
    return any(np.mean((size > 0) & (size < 2.0**-14)) >= 0.1 for size in sizes)


def _built(program: Program, name: str, seed: int, drawn: Drawn, recipe: str, margin_ulp: float = 0.0) -> BuiltFixture:
    inputs, reference = drawn.inputs, outputs_of(program, drawn.values)
    enclosed = enclose(program, inputs, margin_ulp)
    proven = margin_ulp > 0 or {bound.op for bound in enclosed.bounds} >= _accumulating(program)
    exact = proven and all(_one_value(enclosed, name, reference[name]) for name in program.outputs)
    hashes = hash_arrays({**inputs, **reference})
    return BuiltFixture(
        name=name,
        exact=exact,
        seed=seed,
        inputs=inputs,
        reference=reference,
        low=None if exact else _ends(program, enclosed, 0),
        high=None if exact else _ends(program, enclosed, 1),
        bounds=enclosed.bounds if exact else (),
        coverage=_coverage(program, inputs) if exact else {},
        recipe=recipe,
        hashes=hashes,
    )


def _accumulating(program: Program) -> set[str]:
    return {op.name for op in program.ops if op.op in ("matmul", "sum", "mean")}


def _one_value(enclosed: Enclosed, name: str, reference: Array) -> bool:
    low, high = enclosed.values[name]
    return bool(np.array_equal(low, high) and np.array_equal(low, reference.astype(np.float64)))


def _ends(program: Program, enclosed: Enclosed, end: int) -> dict[str, Array]:
    return {name: stored(enclosed.values[name][end], program.value(name).dtype) for name in program.outputs}


def _coverage(program: Program, inputs: Mapping[str, Array]) -> dict[str, float]:
    """Share of elements that each violation changes, of the output it changes most, on the first rows and columns."""
    cut, some = program, dict(inputs)
    for along, count in _COVERED.items():
        if along == ROWS and cut is program:
            count = _COVERED_WHOLE_ROWS
        with suppress(Entangled):
            cut, some = take_first(cut, some, count, along)
    values = execute(cut, some)
    right = outputs_of(cut, values)
    alone = [violation for violation in violations(cut) if not violation.combined]
    return {violation.title: _changed(violation.outputs_from(cut, values), right) for violation in alone}


def _changed(outputs: Mapping[str, Array], right: Mapping[str, Array]) -> float:
    return max(_share(outputs[name], right[name]) for name in right)


def _share(output: Array, right: Array) -> float:
    different: Any = output != right
    return float(np.mean(different))
