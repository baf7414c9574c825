"""Writes a kernel of the family as Triton source, one line per op, and remembers which line is whose."""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field

from tensor_worker.program import Op, Program

from .family import KernelSpec, View, look_through, operand_names
from .tiles import Tile

# The name the source is compiled under: no path, so that it is the same in every process.
SOURCE_NAME = "kernels.py"

_BINARY = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "tl.div_rn({}, {})"}
_UNARY = {
    "relu": "tl.maximum({}, 0.0, propagate_nan=tl.PropagateNan.ALL)",
    "exp": "tl.exp({})",
    "square": "{0} * {0}",
    "rsqrt": "tl.rsqrt({})",
}


@dataclass(frozen=True)
class Grid:
    """The index space of a tile. ``inner`` names the axis that runs over K, empty for the output's tile."""

    name: str
    rows: str
    columns: str
    inner: str


_LEFT = Grid("left", "m", "k", "columns")
_RIGHT = Grid("right", "k", "n", "rows")
_OUT = Grid("out", "m", "n", "")


@dataclass
class Authored:
    """``text`` of all kernels; ``lines`` (1-based) of each op, by kernel and op."""

    lines: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    results: dict[tuple[str, str], int] = field(default_factory=dict)  # the line that gives an op its final value
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    _rows: list[str] = field(default_factory=lambda: ["import triton", "import triton.language as tl"])

    @property
    def text(self) -> str:
        return "\n".join([*self._rows, ""])

    def ops_at(self, line: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(op for (_, op), numbers in self.lines.items() if line in numbers))

    def write(self, row: str, *ops: tuple[str, str]) -> None:
        self._rows.append(row)
        for op in ops:
            self.lines.setdefault(op, []).append(len(self._rows))

    def settle(self, kernel: str, op: str) -> None:
        """The line just written gives ``op`` its value."""
        self.results[kernel, op] = len(self._rows)

    def begin(self, kernel: str) -> None:
        self.write("")
        self.write("")
        self.spans[kernel] = (len(self._rows) + 1, len(self._rows) + 1)

    def end(self, kernel: str) -> None:
        self.spans[kernel] = (self.spans[kernel][0], len(self._rows))


def author(program: Program, kernels: tuple[KernelSpec, ...], tiles: tuple[Tile, ...]) -> Authored:
    """Source of every kernel for its tile: where the tile divides the matrices, nothing is wrapped or masked."""
    source = Authored()
    for kernel, tile in zip(kernels, tiles, strict=True):
        source.begin(kernel.name)
        _Writer(program, kernel, tile, source).write()
        source.end(kernel.name)
    return source


def pointers(kernel: KernelSpec) -> tuple[str, ...]:
    """Values behind the kernel's pointer parameters, in order: what it loads, then what it stores."""
    return (*kernel.loads, *kernel.stores)


def variable(name: str) -> str:
    """A value's name in the source; the family's own names are taken."""
    return f"{name}_value" if name in _TAKEN or keyword.iskeyword(name) else name


class _Writer:
    def __init__(self, program: Program, kernel: KernelSpec, tile: Tile, source: Authored) -> None:
        self._program, self._kernel, self._source = program, kernel, source
        self._have: set[str] = set()  # variables already written at the current place
        self._cut_m, self._cut_n = kernel.m % tile.m != 0, kernel.n % tile.n != 0  # the last tile hangs over
        self._cut_k = kernel.k % tile.k != 0

    def write(self) -> None:
        self._head()
        for op in self._kernel.contractions:
            self._line(f"    {op.name}_sum = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)", op)
        self._line(f"    for start in range(0, {self._kernel.k}, BLOCK_K):")
        self._line("        k = start + tl.arange(0, BLOCK_K)")
        for op in self._kernel.contractions:
            left, right = (self._tile(name, grid, 8) for name, grid in zip(op.of, (_LEFT, _RIGHT), strict=True))
            self._line(f"        {op.name}_sum = tl.dot({left}, {right}, {op.name}_sum)", op)
        self._epilogue()

    def _head(self) -> None:
        kernel = self._kernel
        parameters = ", ".join([*(f"{name}_ptr" for name in pointers(kernel)), *_CONSTANTS])
        self._line("@triton.jit")
        self._line(f"def {kernel.name}({parameters}):")
        for row in _SWIZZLE:
            self._line(row.format(m=kernel.m, n=kernel.n))
        # Loads of a tile that hangs over wrap around instead of being masked.
        self._line(f"    m = rows{f' % {kernel.m}' if self._cut_m else ''}")
        self._line(f"    n = columns{f' % {kernel.n}' if self._cut_n else ''}")

    def _epilogue(self) -> None:
        self._have.clear()
        if self._cut_m or self._cut_n:
            self._line("    m, n = rows, columns")
            self._line(f"    inside = (m[:, None] < {self._kernel.m}) & (n[None, :] < {self._kernel.n})")
        for op in self._kernel.contractions:
            self._line(f"    {variable(op.name)} = {op.name}_sum{_cast(op.dtype)}", op)
            self._source.settle(self._kernel.name, op.name)
            self._have.add(variable(op.name))
            self._store(op)
        for op in self._kernel.epilogue:
            self._compute(op, _OUT, 4, variable(op.name))
            self._store(op)

    def _store(self, op: Op) -> None:
        if op.name in self._kernel.stores:
            address = f"{op.name}_ptr + {_offset(op.shape, False, _OUT)}"
            mask = ", mask=inside" if self._cut_m or self._cut_n else ""
            self._line(f"    tl.store({address}, {variable(op.name)}{mask})", op)

    def _tile(self, value: str | float, grid: Grid, indent: int) -> str:
        """The variable that holds a value on a grid; loads or computes it first if it is not there yet."""
        if not isinstance(value, str):
            return repr(float(value))
        view = look_through(self._program, value)
        name = variable(view.base) if grid is _OUT else f"{view.base}_{grid.name}"
        if name in self._have and not view.transposed:
            return name
        computed = next((op for op in self._kernel.operands if op.name == view.base), None)
        if computed is not None and view.transposed:
            return self._transposed(computed, value, grid, indent)
        name = f"{name}_t" if view.transposed else name
        if name not in self._have:
            if computed is not None:
                self._compute(computed, grid, indent, name)
            else:
                self._load(view, grid, indent, name, value)
        return name

    def _transposed(self, op: Op, value: str, grid: Grid, indent: int) -> str:
        """A computed operand is computed as it lies and its tile transposed."""
        flat, name = self._tile(op.name, _flipped(grid), indent), f"{op.name}_{grid.name}_t"
        if name not in self._have:
            self._line(f"{' ' * indent}{name} = tl.trans({flat})", *self._transposes(value))
            self._have.add(name)
        return name

    def _load(self, view: View, grid: Grid, indent: int, name: str, value: str) -> None:
        shape = self._program.value(view.base).shape
        address = f"{view.base}_ptr + {_offset(shape, view.transposed, grid)}"
        row = f"{' ' * indent}{name} = tl.load({address}{self._mask(grid, shape)})"
        self._line(row, *self._transposes(value))
        self._have.add(name)

    def _compute(self, op: Op, grid: Grid, indent: int, name: str) -> None:
        """Operands widened to FP32, the result narrowed to the op's dtype."""
        operands = [self._widened(value, self._tile(value, grid, indent)) for value in op.of]
        form = _BINARY.get(op.op) or _UNARY[op.op]
        narrow = _cast("f16") if op.dtype == "f16" else ""
        text = form.format(*operands)
        self._line(f"{' ' * indent}{name} = {f'({text}){narrow}' if narrow else text}", op)
        self._source.settle(self._kernel.name, op.name)
        self._have.add(name)

    def _widened(self, value: str | float, name: str) -> str:
        half = isinstance(value, str) and self._program.value(value).dtype == "f16"
        return f"{name}.to(tl.float32)" if half else name

    def _mask(self, grid: Grid, shape: tuple[int, ...]) -> str:
        if grid is not _OUT:
            inner = "[None, :]" if grid.inner == "columns" else "[:, None]"
            return f", mask=k{inner} < {self._kernel.k}, other=0.0" if self._cut_k else ""
        rows = f"m[:, None] < {self._kernel.m}" if self._cut_m and len(shape) == 2 and shape[0] != 1 else ""
        columns = f"n[None, :] < {self._kernel.n}" if self._cut_n and shape[-1] != 1 else ""
        both = f"({rows}) & ({columns})" if rows and columns else rows or columns
        return f", mask={both}" if both else ""

    def _transposes(self, name: str) -> tuple[Op, ...]:
        passed = []
        value = self._program.value(name)
        while isinstance(value, Op) and value.op == "transpose":
            passed.append(value)
            value = self._program.value(operand_names(value)[0])
        return tuple(passed)

    def _line(self, row: str, *ops: Op) -> None:
        self._source.write(row, *((self._kernel.name, op.name) for op in ops))


_TAKEN = (
    "m",
    "n",
    "k",
    "rows",
    "columns",
    "start",
    "inside",
    "tile",
    "tall",
    "wide",
    "group",
    "within",
    "height",
    "tl",
)
_CONSTANTS = (
    "BLOCK_M: tl.constexpr",
    "BLOCK_N: tl.constexpr",
    "BLOCK_K: tl.constexpr",
    "GROUP_M: tl.constexpr",
)
# Program instances walk GROUP_M rows of tiles before the next column, so that neighbours share operands in L2.
_SWIZZLE = (
    "    tile, tall, wide = tl.program_id(0), tl.cdiv({m}, BLOCK_M), tl.cdiv({n}, BLOCK_N)",
    "    group, within = tile // (GROUP_M * wide), tile % (GROUP_M * wide)",
    "    height = min(tall - group * GROUP_M, GROUP_M)",
    "    rows = (group * GROUP_M + within % height) * BLOCK_M + tl.arange(0, BLOCK_M)",
    "    columns = (within // height) * BLOCK_N + tl.arange(0, BLOCK_N)",
)


def _cast(dtype: str) -> str:
    return ".to(tl.float16)" if dtype == "f16" else ""


def _flipped(grid: Grid) -> Grid:
    inner = {"rows": "columns", "columns": "rows", "": ""}[grid.inner]
    return Grid(f"{grid.name}_flat", grid.columns, grid.rows, inner)


def _offset(shape: tuple[int, ...], transposed: bool, grid: Grid) -> str:
    """Elements from the base to the value at the grid's rows and columns; axes of length one do not move."""
    strides = [0, 1] if len(shape) == 1 else [shape[1], 1]
    sizes = [1, shape[0]] if len(shape) == 1 else list(shape)
    if transposed:
        strides, sizes = strides[::-1], sizes[::-1]
    parts = [(f"{grid.rows}[:, None]", strides[0], sizes[0]), (f"{grid.columns}[None, :]", strides[1], sizes[1])]
    moving = [index if stride == 1 else f"{index} * {stride}" for index, stride, size in parts if size != 1]
    return " + ".join(moving) or "0"
