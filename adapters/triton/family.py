"""The kernel family: how a program of contractions and elementwise ops is cut into kernels.

Each kernel multiplies matrices of one shape and computes, on the finished tile, every elementwise op that depends on
them. An elementwise op of inputs alone that feeds a contraction is computed on the operand's tile as it is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from tensor_worker.adapter import Unsupported
from tensor_worker.program import Op, Program

ELEMENTWISE = ("add", "sub", "mul", "div", "relu", "exp", "square", "rsqrt")


@dataclass(frozen=True)
class KernelSpec:
    """``ops`` are computed in this order; ``loads`` and ``stores`` name the values that go through memory."""

    name: str
    m: int
    n: int
    k: int
    contractions: tuple[Op, ...]
    operands: tuple[Op, ...]  # elementwise ops on an operand's tile
    epilogue: tuple[Op, ...]
    loads: tuple[str, ...]
    stores: tuple[str, ...]

    @property
    def ops(self) -> tuple[Op, ...]:
        return (*self.operands, *self.contractions, *self.epilogue)


@dataclass(frozen=True)
class View:
    """A value as a contraction or an epilogue reads it: ``base`` in memory (or computed), transposed or not."""

    base: str
    transposed: bool


def cut(program: Program) -> tuple[KernelSpec, ...]:
    """Kernels in launch order. Raises Unsupported for what the family has no kernel for."""
    _require_family(program)
    home = _homes(program)
    groups = sorted(set(home.values()))
    return tuple(_kernel(program, index, group, home) for index, group in enumerate(groups))


def look_through(program: Program, name: str) -> View:
    """``name`` without the transposes on top of it."""
    transposed = False
    value = program.value(name)
    while isinstance(value, Op) and value.op == "transpose":
        transposed = not transposed
        value = program.value(_only_name(value))
    return View(value.name, transposed)


def operand_names(op: Op) -> tuple[str, ...]:
    return tuple(value for value in op.of if isinstance(value, str))


def shape_of(program: Program, name: str) -> tuple[int, ...]:
    return program.value(name).shape


Group = tuple[int, tuple[int, int, int]]  # level, (m, n, k)


def _homes(program: Program) -> dict[str, Group]:
    """The kernel of every contraction and of every elementwise op that depends on one."""
    home: dict[str, Group] = {}
    for op in program.ops:
        behind = [home[base] for name in operand_names(op) if (base := look_through(program, name).base) in home]
        if op.op == "matmul":
            left, right = (shape_of(program, name) for name in operand_names(op))
            level = 1 + max((level for level, _ in behind), default=0)
            home[op.name] = (level, (left[0], right[1], left[1]))
        elif op.op in ELEMENTWISE and behind:
            home[op.name] = max(behind)
    return home


def _kernel(program: Program, index: int, group: Group, home: dict[str, Group]) -> KernelSpec:
    m, n, k = group[1]
    mine = [op for op in program.ops if home.get(op.name) == group]
    contractions = tuple(op for op in mine if op.op == "matmul")
    operands = _operand_ops(program, contractions, home)
    inside = {op.name for op in (*mine, *operands)}
    read = [look_through(program, name).base for op in (*operands, *mine) for name in operand_names(op)]
    for op in mine:
        _require_tile(op, (m, n))
        _require_same_tile(program, op, inside)
    return KernelSpec(
        name=f"matrix_kernel_{index}",  # the same for every program: equal code has equal names
        m=m,
        n=n,
        k=k,
        contractions=contractions,
        operands=operands,
        epilogue=tuple(op for op in mine if op.op != "matmul"),
        loads=tuple(dict.fromkeys(name for name in read if name not in inside)),
        stores=tuple(op.name for op in mine if _leaves(program, op.name, group, home)),
    )


def _operand_ops(program: Program, contractions: tuple[Op, ...], home: dict[str, Group]) -> tuple[Op, ...]:
    """Elementwise ops without a home of their own that the contractions read, in program order."""
    pending = [name for op in contractions for name in operand_names(op)]
    found: set[str] = set()
    while pending:
        value = program.value(look_through(program, pending.pop()).base)
        if isinstance(value, Op) and value.name not in home and value.name not in found:
            found.add(value.name)
            pending.extend(operand_names(value))
    return tuple(op for op in program.ops if op.name in found)


def _leaves(program: Program, name: str, group: Group, home: dict[str, Group]) -> bool:
    """An output, or read by another kernel, or by a contraction (which reads its operands from memory)."""
    if name in program.outputs:
        return True
    readers = [op for op in program.ops if name in {look_through(program, other).base for other in operand_names(op)}]
    return any(op.op == "matmul" or home.get(op.name, group) != group for op in readers if op.op != "transpose")


def _require_family(program: Program) -> None:
    for op in program.ops:
        if op.op not in (*ELEMENTWISE, "matmul", "transpose"):
            raise Unsupported(f"{op.name}: the authored family multiplies matrices and has no {op.op} over rows")
        if op.op == "matmul" and any(program.value(name).dtype != "f16" for name in operand_names(op)):
            raise Unsupported(f"{op.name}: the authored family multiplies half operands only")
    if not any(op.op == "matmul" for op in program.ops):
        raise Unsupported("the authored family multiplies matrices: this program has no contraction")
    home = _homes(program)
    for name in program.outputs:
        if name not in home:
            raise Unsupported(f"{name}: the authored family returns values of its matrix kernels only")


def _require_tile(op: Op, shape: tuple[int, int]) -> None:
    if op.shape != shape:
        raise Unsupported(f"{op.name}: an epilogue of shape {op.shape} on a tile of {shape}")


def _require_same_tile(program: Program, op: Op, inside: set[str]) -> None:
    """A transposed result of the same kernel lies in another program instance's tile."""
    for name in operand_names(op):
        view = look_through(program, name)
        if view.transposed and op.op != "matmul" and view.base in inside:
            raise Unsupported(f"{op.name}: reads {view.base} transposed while it is still in registers")


def _only_name(op: Op) -> str:
    (name,) = operand_names(op)
    return name
