"""The oracle: what a program must return, independent of every compiler.

Each op is evaluated exactly (FP64; integers of a grid wherever the data allows) on values that are already rounded to
their declared dtypes, and its result is rounded once, to nearest even, to its own. That is one legal execution of the
contract, the most precise one.

Where FP16 operands give an FP16 result, the FP32 rounding in between that a real machine does cannot show: FP32's 24
bits are at least 2·11 + 2, so rounding twice is rounding once (Figueroa, "When is double rounding innocuous?", 1995).
An FP32 op is an interior value: it is rounded to FP32 here, while a compiler may keep more or, for division,
exponential and reciprocal root, be some units off; ``enclosure`` bounds what that can change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from tensor_worker.program import Op, Program

from tensor_assets.contract.exact import contract, exponential, total
from tensor_assets.contract.floats import Array, Float64, rounded, storage, stored, widened

Values = dict[str, Float64]
Rule = Callable[[Op, Sequence[Float64]], Float64]


def evaluate(program: Program, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs, in order and in their declared dtypes.

    Raises ValueError if an input is missing or has another dtype or shape than the program says.
    """
    return outputs_of(program, execute(program, inputs))


def execute(program: Program, inputs: Mapping[str, Array]) -> Values:
    """Every value of the program in FP64. Raises ValueError as ``evaluate`` does."""
    return complete(program, require_inputs(program, inputs), by_contract)


def complete(program: Program, known: Values, rule: Rule) -> Values:
    """``known`` and every value it lacks, each computed and rounded by ``rule``."""
    values = dict(known)
    for op in program.ops:
        if op.name not in values:
            values[op.name] = rule(op, operands(op, values))
    return values


def outputs_of(program: Program, values: Mapping[str, Float64]) -> dict[str, Array]:
    return {name: stored(values[name], program.value(name).dtype) for name in program.outputs}


def operands(op: Op, values: Mapping[str, Float64]) -> list[Float64]:
    return [values[part] if isinstance(part, str) else np.array(part, np.float64) for part in op.of]


def by_contract(op: Op, parts: Sequence[Float64]) -> Float64:
    """The op's exact result, rounded to its dtype."""
    return rounded(exact_result(op, parts), op.dtype)


def exact_result(op: Op, parts: Sequence[Float64]) -> Float64:
    """The op's result before rounding. Zeros of contractions, reductions and relu are +0."""
    with np.errstate(all="ignore"):
        return _RESULTS[op.op](*parts)


def require_inputs(program: Program, inputs: Mapping[str, Array]) -> Values:
    found: Values = {}
    for value in program.inputs:
        if value.name not in inputs:
            raise ValueError(f"{program.workload}: input {value.name} is missing")
        array = inputs[value.name]
        if array.shape != value.shape or array.dtype != storage(value.dtype):
            want, have = f"{value.dtype}{list(value.shape)}", f"{array.dtype}{list(array.shape)}"
            raise ValueError(f"{program.workload}: input {value.name} is {have}, must be {want}")
        found[value.name] = widened(array)
    return found


_RESULTS: dict[str, Callable[..., Float64]] = {
    "transpose": lambda a: np.swapaxes(a, -1, -2),
    "matmul": contract,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "relu": lambda a: np.maximum(a, 0.0) + 0.0,
    "exp": exponential,
    "square": lambda a: a * a,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
    "max": lambda a: a.max(axis=-1, keepdims=True),
    "sum": lambda a: total(a) + 0.0,
    "mean": lambda a: total(a) / a.shape[-1] + 0.0,
}
