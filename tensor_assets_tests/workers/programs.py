"""A small program and inputs whose right answer is easy to state."""

from __future__ import annotations

import numpy as np
from tensor_worker.program import Op, Program, Value

M, K, N = 8, 16, 24

VALUES = (
    Value(name="x", shape=(M, K), dtype="f16"),
    Value(name="wt", shape=(N, K), dtype="f16"),
    Value(name="b", shape=(N,), dtype="f16"),
)
WEIGHT_VIEW = Program(
    workload="weight_view",
    shape="matrix_inspect",
    inputs=VALUES,
    ops=(
        Op(name="w", op="transpose", of=("wt",), shape=(K, N), dtype="f16"),
        Op(name="p", op="matmul", of=("x", "w"), shape=(M, N), dtype="f16"),
        Op(name="y", op="add", of=("p", "b"), shape=(M, N), dtype="f16"),
    ),
    outputs=("y",),
)


def inputs(seed: int = 0) -> dict[str, np.ndarray]:
    """Integers over 128: every sum of products is exact in FP32, in any order."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return {value.name: (generator.integers(-127, 128, value.shape) / 128).astype(np.float16) for value in VALUES}


def projection(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """x @ wt.T without any rounding, in FP64."""
    return arrays["x"].astype(np.float64) @ arrays["wt"].astype(np.float64).T
