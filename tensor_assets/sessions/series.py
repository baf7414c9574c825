"""Within one process: the documents' own summary of its blocks. It says nothing about the next process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tensor_assets.records import Series

DRIFT_LIMIT = 0.15  # first to last block, the documents' predeclared threshold
RESAMPLES = 2000  # moves an end of the interval by under a tenth of its width against 20,000
BOOTSTRAP_SEED = 20261018  # any fixed number: the same samples give the same interval
INTERVAL = (2.5, 97.5)  # percentiles


def summarize_samples(process: int, replicate: int, samples_ns: Sequence[float]) -> Series:
    """Median, p10, p90, bootstrap interval of the median and drift of one process's block samples, in time order.

    Raises ValueError on no samples: that is ``insufficient``, which the caller says.
    """
    if not samples_ns:
        raise ValueError("no samples to summarize")
    samples = np.asarray(samples_ns, dtype=np.float64)
    drift = float(samples[-1] / samples[0] - 1.0)
    p10, median, p90 = (float(value) for value in np.percentile(samples, (10, 50, 90)))
    return Series(
        process=process,
        replicate=replicate,
        samples=len(samples),
        median_ns=median,
        p10_ns=p10,
        p90_ns=p90,
        interval_ns=median_interval(samples),
        drift=drift,
        drifted=abs(drift) > DRIFT_LIMIT,
    )


def median_interval(samples: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Percentile bootstrap interval (95 %) of the median, the same for the same samples."""
    medians = np.median(samples[_resamples(len(samples))], axis=1)
    low, high = np.percentile(medians, INTERVAL)
    return float(low), float(high)


@lru_cache(maxsize=32)
def _resamples(count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(BOOTSTRAP_SEED).integers(0, count, size=(RESAMPLES, count))
