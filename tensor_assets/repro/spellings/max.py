"""MAX: the program as a graph, loaded into an inference session."""

from __future__ import annotations

import numpy as np
from tensor_worker.program import Op, Program

from tensor_assets.errors import ReproRefused
from tensor_assets.repro.reference import variable
from tensor_assets.repro.spellings import Spelling
from tensor_assets.workers.adapters import AdapterFolder

_DTYPES = {"f16": "DType.float16", "f32": "DType.float32"}
_NATIVE = ("transpose", "matmul", "add", "sub", "mul", "relu", "max")
_UNSPELLED = {"square": "ops.mul({0}, {0})", "transpose": "ops.transpose({0}, -2, -1)"}
_BEFORE = """\
from max import driver, engine
from max.dtype import DType
from max.graph import DeviceRef, Graph, TensorType, ops
"""
_REDUCTIONS = ("max", "sum", "mean")


def spell(adapter: AdapterFolder, program: Program, variant: str, target: str) -> Spelling:
    if variant != "default":
        raise ReproRefused(f"max has no variant {variant!r} (have: default)")
    if target == "sm_90":
        raise ReproRefused("MAX compiles for a device that is not there and returns nothing that could be compared")
    on = ("DeviceRef.CPU()", "driver.CPU()") if target == "cpu" else ("DeviceRef.GPU(0)", "driver.Accelerator(0)")
    types = ", ".join(f"TensorType({_DTYPES[v.dtype]}, {v.shape}, DEVICE)" for v in program.inputs)
    inputs = ", ".join(variable(value.name) for value in program.inputs)
    body = "\n".join(f"        {variable(op.name)} = {_value(program, op)}" for op in program.ops)
    return Spelling(
        _BEFORE,
        f"""\
DEVICE = {on[0]}


def graph():
    with Graph("{program.workload}", input_types=[{types}]) as made:
        {inputs}{"," if len(program.inputs) == 1 else ""} = (value.tensor for value in made.inputs)
{body}
        made.output({", ".join(variable(name) for name in program.outputs)})
    return made


def run(inputs):
    device = {on[1]}
    model = engine.InferenceSession(devices=[device]).load(graph())
    buffers = [driver.Buffer.from_numpy(inputs[name]).to(device) for name in INPUTS]
    returned = model.execute(*buffers)
    return {{name: np.array(buffer.to(driver.CPU()).to_numpy()) for name, buffer in zip(OUTPUTS, returned)}}
""",
    )


def _value(program: Program, op: Op) -> str:
    plain = op.op in _NATIVE and all(_dtype(program, part, op) == op.dtype for part in op.of)
    parts = [_operand(program, part, op, wide=not plain) for part in op.of]
    computed_in = op.dtype if plain else "f32"
    if op.op in _UNSPELLED:
        value = _UNSPELLED[op.op].format(*parts)
    elif op.op in _REDUCTIONS:
        value = f"ops.{op.op}({parts[0]}, axis=-1)"
    else:
        value = f"ops.{op.op}({', '.join(parts)})"
    return value if computed_in == op.dtype else f"ops.cast({value}, {_DTYPES[op.dtype]})"


def _dtype(program: Program, part: str | float, op: Op) -> str:
    if isinstance(part, str):
        return program.value(part).dtype
    with np.errstate(over="ignore"):
        return "f32" if op.dtype == "f32" or float(np.float16(part)) != part else "f16"


def _operand(program: Program, part: str | float, op: Op, *, wide: bool) -> str:
    dtype = _dtype(program, part, op)
    code = variable(part) if isinstance(part, str) else f"ops.constant({float(part)!r}, {_DTYPES[dtype]}, DEVICE)"
    return f"ops.cast({code}, DType.float32)" if wide and dtype == "f16" else code
