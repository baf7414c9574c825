"""A program as a MAX graph, one profile scope for each of its ops.

The scope's name travels in the MLIR locations through every stage, so that fusion maps and line correspondences are
what the compiler reports, not what somebody guessed. It changes nothing but the label of a trace in the generated Mojo.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from max.dtype import DType
from max.graph import DeviceRef, Graph, TensorType, TensorValue, ops
from tensor_worker.adapter import Unsupported
from tensor_worker.program import Dtype, Op, Program

DTYPES: dict[Dtype, DType] = {"f16": DType.float16, "f32": DType.float32}

# In FP16 these round once, at the end, like the contract; the others are computed in FP32 and rounded by a cast.
NATIVE_IN_F16 = ("transpose", "matmul", "add", "sub", "mul", "relu", "max")

BINARY = {"add": ops.add, "sub": ops.sub, "mul": ops.mul, "div": ops.div, "matmul": ops.matmul}
UNARY = {"relu": ops.relu, "exp": ops.exp, "rsqrt": ops.rsqrt}
REDUCTIONS = {"max": ops.max, "sum": ops.sum, "mean": ops.mean}


def build_graph(program: Program, device: DeviceRef) -> Graph:
    """Raises Unsupported where MAX's Python API refuses the program."""
    types = [TensorType(DTYPES[value.dtype], value.shape, device) for value in program.inputs]
    with Graph(graph_name(program), input_types=types) as graph:
        values = {value.name: tensor.tensor for value, tensor in zip(program.inputs, graph.inputs, strict=True)}
        for op in program.ops:
            with graph.profile_scope(op.name):
                values[op.name] = _checked(op, _build(op, values, device))
        graph.output(*[values[name] for name in program.outputs])
    return graph


@dataclass(frozen=True)
class Built:
    """The graph's MLIR, plain and with locations, as it is before MAX adds its kernel library to the module."""

    text: str
    located: str


def print_graph(graph: Graph) -> Built:
    return Built(
        text=graph.module._to_mlir_str().rstrip("\n") + "\n",
        located=graph._mlir_op.get_asm(enable_debug_info=True),
    )


def graph_name(program: Program) -> str:
    """A name that is an MLIR symbol and a file name."""
    return re.sub(r"\W", "_", program.workload) or "program"


def _build(op: Op, values: dict[str, TensorValue], device: DeviceRef) -> TensorValue:
    operands = [_operand(operand, op, values, device) for operand in op.of]
    dtype = DTYPES[op.dtype]
    if not (op.op in NATIVE_IN_F16 and all(operand.dtype == dtype for operand in operands)):
        operands = [_cast(operand, DType.float32) for operand in operands]
    return _cast(_apply(op, operands), dtype)


def _operand(operand: str | float, op: Op, values: dict[str, TensorValue], device: DeviceRef) -> TensorValue:
    if isinstance(operand, str):
        return values[operand]
    widest = DType.float32 if op.dtype == "f32" or float_changes_in_f16(operand) else DType.float16
    return ops.constant(operand, widest, device)


def float_changes_in_f16(number: float) -> bool:
    """Whether FP16 cannot hold ``number``, so that only an FP32 constant stands for it."""
    with np.errstate(over="ignore"):
        return float(np.float16(number)) != number


def _apply(op: Op, operands: list[TensorValue]) -> TensorValue:
    try:
        if op.op in BINARY:
            return BINARY[op.op](*operands)
        if op.op in UNARY:
            return UNARY[op.op](*operands)
        if op.op in REDUCTIONS:
            return REDUCTIONS[op.op](*operands, axis=-1)
        if op.op == "square":
            return ops.mul(operands[0], operands[0])
        if op.op == "transpose":
            return ops.transpose(operands[0], -2, -1)
    except (TypeError, ValueError) as error:
        raise Unsupported(f"MAX refuses {op.op} ({op.name}): {error}") from error
    raise Unsupported(f"MAX adapter has no {op.op} ({op.name})")


def _cast(value: TensorValue, dtype: DType) -> TensorValue:
    return value if value.dtype == dtype else ops.cast(value, dtype)


def _checked(op: Op, value: TensorValue) -> TensorValue:
    """What is built must be what the program declares: a wrong shape here would be our bug, not the compiler's."""
    shape = tuple(int(extent) for extent in value.shape)
    if shape != op.shape:
        raise RuntimeError(f"{op.name} = {op.op}{op.of}: built with shape {shape}, the program says {op.shape}")
    return value
