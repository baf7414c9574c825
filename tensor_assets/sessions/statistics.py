"""Between processes: the process is the unit of inference, its log median the datum, A/A pairs the yardstick.

Two processes of the same program differ by more than their own blocks say, so blocks are never the unit here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import msgspec
from scipy import special

from tensor_assets.records import Comparison

Verdict = Literal["faster", "slower", "same", "uncertain", "insufficient"]

ALPHA = 0.05  # false positives over all comparisons of a session (false-discovery rate), and 1 - coverage of intervals
FEWEST_DEGREES = 6  # under this the t quantile is so wide, and the variance so badly known, that nothing is claimed
# Two identical programs differed by up to 1.7 % under the best host setting measured (one core for every timing
# thread, H200 host); a difference inside three percent is not worth telling a reader to act on.
EQUIVALENCE_MARGIN = 0.03
# Compilers differ in how much their processes differ (0.3 to 1.7 % on that host). Pooling alone then calls a noisy
# configuration different from an equal one in 17 % of sessions; judging one that is louder than all others together
# (F test at this level) by its own spread brings that to 8 %, at a fifth more of the smallest difference found.
LOUD = 0.10


class Group(NamedTuple):
    """Processes of one configuration that ran the same implementation (one fingerprint)."""

    configuration: str
    medians_ns: tuple[float, ...]  # one a process

    @property
    def logs(self) -> tuple[float, ...]:
        return tuple(math.log(median) for median in self.medians_ns)

    @property
    def mean(self) -> float:
        """Of the logs: the log of the geometric mean."""
        return math.fsum(self.logs) / len(self.medians_ns)

    @property
    def squares(self) -> float:
        """Sum of squared deviations of the logs from their mean; 0 where nothing was measured."""
        if not self.medians_ns:
            return 0.0
        mean = self.mean
        return math.fsum((log - mean) ** 2 for log in self.logs)


class Noise(NamedTuple):
    """Spread between processes that ran the same implementation, of log medians: about a relative difference."""

    deviation: float
    degrees: int


class FalseAlarms(NamedTuple):
    """Pairs of identical processes that a test at ``ALPHA`` would call different."""

    alarms: int
    pairs: int


def pool(groups: Sequence[Group]) -> Noise | None:
    """Standard deviation within groups, pooled over all of them; None if no group has two processes."""
    degrees = sum(len(group.medians_ns) - 1 for group in groups if group.medians_ns)
    if degrees == 0:
        return None
    return Noise(math.sqrt(math.fsum(group.squares for group in groups) / degrees), degrees)


def compare_all(groups: Sequence[Group], baseline: str, apart: Sequence[Group] = ()) -> dict[str, Comparison]:
    """Every configuration but ``baseline`` against it, with false-discovery control over all of them.

    ``apart`` are processes that tell about noise without being compared. Without a baseline, or with nothing measured,
    verdicts are ``insufficient`` and carry no numbers.
    """
    everyone = [*groups, *apart]
    noise = pool(everyone)
    base = next((group for group in groups if group.configuration == baseline), Group(baseline, ()))
    return control({g.configuration: _compare(g, base, noise, everyone) for g in groups if g is not base})


def control(comparisons: dict[str, Comparison]) -> dict[str, Comparison]:
    """The comparisons with Benjamini–Hochberg q values over those that were tested, and the verdicts that follow."""
    tested = [name for name, comparison in comparisons.items() if comparison.p is not None]
    if not tested:
        return comparisons
    ps = [comparisons[name].p for name in tested]
    from scipy import stats  # seconds to import, which a process that compares nothing need not spend

    qs = {name: float(q) for name, q in zip(tested, stats.false_discovery_control(ps), strict=True)}
    return {name: _judged(comparison, qs.get(name)) for name, comparison in comparisons.items()}


def false_alarms(groups: Sequence[Group]) -> FalseAlarms:
    """The A/A control: every same-implementation pair tested against the noise of all *other* groups.

    Groups for which the others pool to fewer than ``FEWEST_DEGREES`` are left out; no test would be made there.
    """
    alarms = pairs = 0
    for index, group in enumerate(groups):
        noise = pool([other for place, other in enumerate(groups) if place != index])
        if noise is None or noise.degrees < FEWEST_DEGREES:
            continue
        for one, other in combinations(group.logs, 2):
            pairs += 1
            alarms += _p_value(one - other, noise.deviation * math.sqrt(2.0), noise.degrees) <= ALPHA
    return FalseAlarms(alarms, pairs)


def _compare(group: Group, base: Group, noise: Noise | None, everyone: Sequence[Group]) -> Comparison:
    if not group.medians_ns or not base.medians_ns:
        return Comparison(baseline=base.configuration, verdict="insufficient")
    difference = group.mean - base.mean
    if noise is None:
        return Comparison(baseline=base.configuration, ratio=math.exp(difference), verdict="uncertain")
    tests = [_Test(noise.deviation * math.sqrt(1 / len(group.medians_ns) + 1 / len(base.medians_ns)), noise.degrees)]
    if loud := _is_loud(group, everyone) or _is_loud(base, everyone):
        tests.append(_unequal(group, base, noise, everyone))
    reach = max(test.reach for test in tests)
    return Comparison(
        baseline=base.configuration,
        ratio=math.exp(difference),
        interval=(math.exp(difference - reach), math.exp(difference + reach)),
        p=max(test.p(difference) for test in tests),
        degrees=noise.degrees,
        own_noise=loud,
        verdict="uncertain",
    )


class _Test(NamedTuple):
    """A t test of a difference of log means."""

    error: float
    degrees: float

    @property
    def reach(self) -> float:
        return float(special.stdtrit(self.degrees, 1 - ALPHA / 2)) * self.error

    def p(self, difference: float) -> float:
        return _p_value(difference, self.error, self.degrees)


def _is_loud(group: Group, everyone: Sequence[Group]) -> bool:
    """Do its processes differ more than those of all other groups, beyond chance?"""
    own, others = pool([group]), pool([other for other in everyone if other is not group])
    if own is None or others is None or own.deviation == 0.0:
        return False
    if others.deviation == 0.0:
        return True
    return float(special.fdtrc(own.degrees, others.degrees, (own.deviation / others.deviation) ** 2)) < LOUD


def _unequal(group: Group, base: Group, noise: Noise, everyone: Sequence[Group]) -> _Test:
    """Welch's test, with the pooled noise for a side that is not loud."""
    parts = []
    for side in (group, base):
        spread = (_is_loud(side, everyone) and pool([side])) or noise
        parts.append((spread.deviation**2 / len(side.medians_ns), spread.degrees))
    squared = sum(part for part, _ in parts)
    return _Test(math.sqrt(squared), squared**2 / sum(part**2 / degrees for part, degrees in parts))


def _p_value(difference: float, error: float, degrees: float) -> float:
    if error == 0.0:
        return 1.0 if difference == 0.0 else 0.0
    return float(2 * special.stdtr(degrees, -abs(difference) / error))


def _judged(comparison: Comparison, q: float | None) -> Comparison:
    if q is None or comparison.ratio is None or comparison.interval is None:
        return comparison
    return msgspec.structs.replace(
        comparison, q=q, verdict=_verdict(comparison.ratio, comparison.interval, q, comparison.degrees)
    )


def _verdict(ratio: float, interval: tuple[float, float], q: float, degrees: int) -> Verdict:
    if degrees < FEWEST_DEGREES:
        return "uncertain"
    margin = 1 + EQUIVALENCE_MARGIN
    if interval[0] >= 1 / margin and interval[1] <= margin:
        return "same"
    if q <= ALPHA:
        return "faster" if ratio < 1.0 else "slower"
    return "uncertain"
