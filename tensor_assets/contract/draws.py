"""Random integers that are the same on every platform: raw output of the Philox generator, scaled by integers."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from tensor_assets.contract.floats import Float64

# Standard deviation of a sum of eight uniform 16-bit integers.
_NORMAL_SPREAD = math.sqrt(8 * (65536**2 - 1) / 12)


class Draws:
    """A stream named by its key: the same key gives the same numbers, whatever else was drawn."""

    def __init__(self, *key: str | int) -> None:
        digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
        self._generator = np.random.Philox(key=int.from_bytes(digest[:16], "little"))

    def integers(self, shape: tuple[int, ...], low: int, high: int) -> Float64:
        """Uniform integers from ``low`` to ``high`` inclusive (a range below 2**31), in FP64."""
        span = np.uint64(high - low + 1)
        scaled = ((self._raw(math.prod(shape)) >> np.uint64(32)) * span) >> np.uint64(32)
        return scaled.astype(np.float64).reshape(shape) + low

    def signs(self, shape: tuple[int, ...]) -> Float64:
        return 2.0 * self.integers(shape, 0, 1) - 1.0

    def normal(self, shape: tuple[int, ...]) -> Float64:
        """About standard normal (a sum of eight uniform integers), in steps of 2**-10, within ±4.9."""
        count = math.prod(shape)
        total = np.zeros(count, np.int64)
        for word in (self._raw(count), self._raw(count)):
            for shift in (0, 16, 32, 48):
                total += ((word >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.int64)
        centred = (2 * total - 8 * 65535).astype(np.float64) / 2
        return (np.rint(centred * (1024 / _NORMAL_SPREAD)) / 1024).reshape(shape)

    def _raw(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        return self._generator.random_raw(count)
