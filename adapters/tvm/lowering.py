"""Turns a Program into a Relax module whose variables carry the program's names."""

from __future__ import annotations

from collections.abc import Callable

from tensor_worker.adapter import Unsupported
from tensor_worker.program import Op, Program
from tvm import IRModule, relax

DTYPES = {"f16": "float16", "f32": "float32"}

# On FP16 operands these give the same bits in FP16 as in FP32 rounded to FP16.
_SAME_IN_HALF = ("add", "sub", "mul", "relu")
_REDUCTIONS: dict[str, Callable[..., relax.Expr]] = {
    "max": relax.op.max,
    "sum": relax.op.sum,
    "mean": relax.op.mean,
}
_ELEMENTWISE: dict[str, Callable[..., relax.Expr]] = {
    "add": relax.op.add,
    "sub": relax.op.subtract,
    "mul": relax.op.multiply,
    "div": relax.op.divide,
    "relu": relax.op.nn.relu,
    "exp": relax.op.exp,
    "square": lambda value: relax.op.multiply(value, value),
    "rsqrt": relax.op.rsqrt,
}


def op_of(variable: str) -> str:
    """The program op that a Relax variable belongs to: its own name, without the number of the step."""
    return variable.partition("__")[0]


def lower(program: Program) -> IRModule:
    """A function ``main`` of the inputs in order, returning the outputs in order.

    The last step of an op is called like the op, those before it ``NAME__0``, ``NAME__1``. Raises Unsupported for an
    op with no counterpart.
    """
    return _Lowering(program).module()


class _Lowering:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._builder = relax.BlockBuilder()
        self._values: dict[str, relax.Var] = {
            value.name: relax.Var(value.name, relax.TensorType(value.shape, DTYPES[value.dtype]))
            for value in program.inputs
        }

    def module(self) -> IRModule:
        inputs = [self._values[value.name] for value in self._program.inputs]
        with self._builder.function("main", inputs):
            with self._builder.dataflow():
                for op in self._program.ops:
                    self._values[op.name] = self._last(op, self._value(op))
            outputs = [self._values[name] for name in self._program.outputs]
            self._builder.emit_func_output(outputs[0] if len(outputs) == 1 else relax.Tuple(outputs))
        return self._builder.get()

    def _last(self, op: Op, value: relax.Expr) -> relax.Var:
        """Bind the op's value under its name, visibly outside the dataflow block where it is an output."""
        emit = self._builder.emit_output if op.name in self._program.outputs else self._builder.emit
        return emit(value, name_hint=op.name)

    def _value(self, op: Op) -> relax.Expr:
        """The expression of the op's last step; the steps before it are bound."""
        if op.op == "transpose":
            return relax.op.permute_dims(self._variable(op, op.of[0]), _swapped(len(op.shape)))
        steps = _Steps(self._builder, op.name)
        if op.op == "matmul":
            left, right = (self._variable(op, name) for name in op.of)
            return steps.rounded(relax.op.matmul(left, right, out_dtype="float32"), op.dtype)
        if op.op in _REDUCTIONS:
            wide = steps.widened(self._variable(op, op.of[0]))
            return steps.rounded(_REDUCTIONS[op.op](wide, axis=[-1], keepdims=True), op.dtype)
        return self._elementwise(op, steps)

    def _elementwise(self, op: Op, steps: _Steps) -> relax.Expr:
        if op.op not in _ELEMENTWISE:
            raise Unsupported(f"{op.name}: no Relax form is written for {op.op!r}")
        compute = _ELEMENTWISE[op.op]
        operands = [self._values[name] if isinstance(name, str) else float(name) for name in op.of]
        halves = all(isinstance(operand, relax.Var) and operand.ty.dtype == "float16" for operand in operands)
        if halves and op.dtype == "f16" and op.op in _SAME_IN_HALF:
            return compute(*operands)
        return steps.rounded(compute(*(steps.widened(operand) for operand in operands)), op.dtype)

    def _variable(self, op: Op, name: str | float) -> relax.Var:
        if isinstance(name, str):
            return self._values[name]
        raise Unsupported(f"{op.name}: {op.op} of a number ({name}) is not written for TVM")


class _Steps:
    """Binds the steps of one op under numbered names."""

    def __init__(self, builder: relax.BlockBuilder, name: str) -> None:
        self._builder, self._name, self._count = builder, name, 0

    def bind(self, value: relax.Expr) -> relax.Var:
        variable = self._builder.emit(value, name_hint=f"{self._name}__{self._count}")
        self._count += 1
        return variable

    def widened(self, operand: relax.Var | float) -> relax.Expr:
        if isinstance(operand, float):
            return relax.const(operand, "float32")
        return operand if operand.ty.dtype == "float32" else self.bind(relax.op.astype(operand, "float32"))

    def rounded(self, value: relax.Expr, dtype: str) -> relax.Expr:
        """``value``, which is FP32, as the op's last step: cast where the op is a boundary."""
        return value if dtype == "f32" else relax.op.astype(self.bind(value), DTYPES[dtype])


def _swapped(rank: int) -> list[int]:
    axes = list(range(rank))
    axes[-2:] = [rank - 1, rank - 2]
    return axes
