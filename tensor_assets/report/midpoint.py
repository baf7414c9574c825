"""The join's midpoint: a legal FP32 sum that a fixed tolerance calls wrong. Computed by the contract's own oracle."""

from __future__ import annotations

import msgspec
import numpy as np
from tensor_worker.program import Op, Program, Value

from tensor_assets.contract.oracle import evaluate


class Midpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One output of ``projection_join``: exactly summed, summed in FP32, and what the tolerance allows between them."""

    exact: float
    computed: float
    difference: float
    allowed: float
    below: float  # the middle of two FP16 values, less the exact projection


def midpoint() -> Midpoint:
    """p is 1967.5·2⁻¹² less 2⁻³⁰. Exactly, it rounds to 1967·2⁻¹²; the nearest FP32 sum is a tie and goes to 1968."""
    x = np.array([[1.0, 2.0**-13, 2.0**-15]], np.float16)
    w = np.array([[1967 * 2.0**-12], [1.0], [-(2.0**-15)]], np.float16)
    v = np.array([[-2047 * 2.0**-12], [0.0], [0.0]], np.float16)
    exact = float(evaluate(_join(), {"x": x, "w": w, "v": v})["y"][0, 0])
    absolute, relative = _join().tolerance
    computed = float(np.float16(np.float16(_summed(x, w)) + np.float16(_summed(x, v))))
    whole = float((x.astype(np.float64) @ w.astype(np.float64))[0, 0])
    return Midpoint(
        exact=exact,
        computed=computed,
        difference=abs(computed - exact),
        allowed=absolute + relative * abs(exact),
        below=1967.5 * 2.0**-12 - whole,
    )


def _summed(a: np.ndarray, b: np.ndarray) -> np.float32:
    """A row times a column: exact products, added one after another in FP32."""
    total = np.float32(0)
    for one, other in zip(a[0].astype(np.float32), b[:, 0].astype(np.float32), strict=True):
        total = np.float32(total + one * other)
    return total


def _join() -> Program:
    return Program(
        workload="projection_join",
        shape="midpoint",
        inputs=(
            Value(name="x", shape=(1, 3), dtype="f16"),
            Value(name="w", shape=(3, 1), dtype="f16"),
            Value(name="v", shape=(3, 1), dtype="f16"),
        ),
        ops=(
            Op(name="p", op="matmul", of=("x", "w"), shape=(1, 1), dtype="f16"),
            Op(name="q", op="matmul", of=("x", "v"), shape=(1, 1), dtype="f16"),
            Op(name="y", op="add", of=("p", "q"), shape=(1, 1), dtype="f16"),
        ),
        outputs=("y",),
    )
