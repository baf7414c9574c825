"""FP16 and FP32 values held in FP64 arrays: rounding to nearest, directed rounding, spacing, ordinals.

Everything here is IEEE-754 arithmetic on single operations, so it gives the same bits on every platform.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tensor_worker.program import Dtype

Array = NDArray[Any]
Float64 = NDArray[np.float64]

_STORAGE: dict[str, np.dtype[Any]] = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32)}
_INTEGERS: dict[str, Any] = {"f16": np.int16, "f32": np.int32}
_MIN_NORMAL_32 = 2.0**-126


def storage(dtype: Dtype) -> np.dtype[Any]:
    """The NumPy dtype that arrays of ``dtype`` have in files."""
    return _STORAGE[dtype]


def stored(values: Float64, dtype: Dtype) -> Array:
    """``values`` rounded to nearest even, as an array of ``dtype``; beyond the largest value they are infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(_STORAGE[dtype])


def widened(array: Array) -> Float64:
    return array.astype(np.float64)


def rounded(values: Float64, dtype: Dtype) -> Float64:
    """``values`` rounded to nearest even in ``dtype``, held in FP64."""
    return widened(stored(values, dtype))


def down32(values: Float64) -> Float64:
    """The largest FP32 value that is not above; a subnormal becomes 0 if that is lower (it may be flushed)."""
    nearest = stored(values, "f32")
    lower = np.where(widened(nearest) > values, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    return _flushed(widened(lower), np.minimum)


def up32(values: Float64) -> Float64:
    """The smallest FP32 value that is not below; a subnormal becomes 0 if that is higher."""
    nearest = stored(values, "f32")
    upper = np.where(widened(nearest) < values, np.nextafter(nearest, np.float32(np.inf)), nearest)
    return _flushed(widened(upper), np.maximum)


def spacing32(values: Float64) -> Float64:
    """The unit in the last place of FP32 at each value."""
    with np.errstate(invalid="ignore"):
        return widened(np.spacing(np.abs(stored(values, "f32"))))


def bfloat16(values: Float64) -> Float64:
    """``values`` rounded to nearest even with BF16's eight significant bits (its range is not reached here)."""
    return significant(values, 8)


def significant(values: Float64, bits: int) -> Float64:
    """``values`` rounded to nearest even with ``bits`` significant bits."""
    fraction, exponent = np.frexp(values)
    scaled: Float64 = np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)
    return scaled


def truncated(values: Float64, bits: int) -> Float64:
    """``values`` with all but ``bits`` significant bits dropped."""
    fraction, exponent = np.frexp(values)
    scaled: Float64 = np.ldexp(np.trunc(np.ldexp(fraction, bits)), exponent - bits)
    return scaled


def toward_zero16(values: Float64) -> Float64:
    """``values`` rounded toward zero in FP16, held in FP64."""
    nearest = stored(values, "f16")
    beyond = np.abs(widened(nearest)) > np.abs(values)
    return widened(np.where(beyond, np.nextafter(nearest, np.float16(0)), nearest))


def ties_away16(values: Float64) -> Float64:
    """``values`` rounded to nearest in FP16, ties away from zero, held in FP64."""
    even = stored(values, "f16")
    away = np.nextafter(even, np.copysign(np.float16(np.inf), even))
    tie = np.abs(values - widened(even)) == np.abs(widened(away) - values)
    return widened(np.where(tie & (np.abs(values) > np.abs(widened(even))), away, even))


def ordinal(array: Array) -> NDArray[np.int64]:
    """The place of each value among all values of its dtype: neighbours differ by one, both zeros are 0."""
    kind = "f16" if array.dtype == np.float16 else "f32"
    bits = array.view(_INTEGERS[kind]).astype(np.int64)
    magnitude: NDArray[np.int64] = bits & (2 ** (8 * array.dtype.itemsize - 1) - 1)
    return np.where(bits < 0, -magnitude, magnitude)


def _flushed(values: Float64, outward: Any) -> Float64:
    tiny = np.abs(values) < _MIN_NORMAL_32
    return np.where(tiny, outward(values, 0.0), values) if tiny.any() else values
