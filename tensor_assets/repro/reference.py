"""A program as lines of NumPy: every op in FP64 on rounded values, its result rounded once to its declared dtype."""

from __future__ import annotations

import keyword
from collections.abc import Mapping

from tensor_worker.program import Op, Program

from tensor_assets.contract.arrays import Array
from tensor_assets.contract.floats import Float64, rounded
from tensor_assets.contract.oracle import by_contract, operands
from tensor_assets.repro.inputs import Packing, input_line

_TAKEN = {
    "np",
    "f16",
    "f32",
    "integers",
    "unpacked",
    "run",
    "known",
    "main",
    "torch",
    "tvm",
    "relax",
    "Tensor",
    "dtypes",
}
_FORMS = {
    "transpose": "np.swapaxes({0}, -1, -2)",
    "matmul": "{0} @ {1} + 0.0",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "relu": "np.maximum({0}, 0.0) + 0.0",
    "exp": "np.exp({0})",
    "square": "{0} * {0}",
    "rsqrt": "1.0 / np.sqrt({0})",
    "max": "{0}.max(axis=-1, keepdims=True)",
    "sum": "{0}.sum(axis=-1, keepdims=True) + 0.0",
    "mean": "{0}.mean(axis=-1, keepdims=True) + 0.0",
}


def known_lines(program: Program, inputs: Mapping[str, Array], key: str, packing: Packing) -> list[str]:
    """Lines that make every input and every value, each where the first op that needs it comes.

    Raises ReproRefused if an input can neither be drawn again nor carried.
    """
    values: dict[str, Float64] = {}
    lines: list[str] = []
    dtypes = {value.name: value.dtype for value in program.inputs}
    for op in program.ops:
        for part in op.of:
            if isinstance(part, str) and part not in values:
                spelled = {variable(name): value for name, value in values.items()}
                code = input_line(program, part, inputs[part], key, spelled, packing)
                lines.append(f"{variable(part)} = {dtypes[part]}({code})")
                values[part] = rounded(inputs[part].astype("float64"), dtypes[part])
        values[op.name] = by_contract(op, operands(op, values))
        lines.append(f"{variable(op.name)} = {expression(op)}")
    return lines


def expression(op: Op) -> str:
    parts = [variable(part) if isinstance(part, str) else repr(float(part)) for part in op.of]
    form = _FORMS[op.op].format(*parts)
    return form if op.op == "transpose" else f"{op.dtype}({form})"


def variable(name: str) -> str:
    """A value's name in a script; the script's own names are taken."""
    return f"{name}_" if name in _TAKEN or keyword.iskeyword(name) else name
