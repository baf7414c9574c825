import math

import numpy as np
import pytest
from scipy import stats

from tensor_assets.sessions.statistics import Group, compare_all, control, false_alarms, pool


def around(configuration, median_ns, *factors):
    return Group(configuration, tuple(median_ns * factor for factor in factors))


def quiet(configuration, median_ns):
    return around(configuration, median_ns, 0.999, 1.0, 1.001)


def test_pool_is_the_within_group_variance_of_logs():
    groups = [Group("a", (100.0, 110.0, 105.0)), Group("b", (7.0, 7.2)), Group("c", (3.0,))]
    logs = [np.log(group.medians_ns) for group in groups]
    expected = math.sqrt(sum(float(((x - x.mean()) ** 2).sum()) for x in logs) / 3)
    noise = pool(groups)
    assert noise.degrees == 3
    assert noise.deviation == pytest.approx(expected)


def test_single_processes_pool_to_nothing():
    assert pool([Group("a", (1.0,)), Group("b", (2.0,)), Group("c", ())]) is None


def test_two_configurations_alone_are_the_textbook_t_test():
    a, b = Group("a", (100.0, 101.0, 103.0, 99.0, 100.5)), Group("b", (96.0, 97.5, 98.0, 95.0, 96.5))
    comparison = compare_all([a, b], "a")["b"]
    textbook = stats.ttest_ind(b.logs, a.logs)
    low, high = textbook.confidence_interval()
    assert comparison.p == pytest.approx(textbook.pvalue)
    assert comparison.interval == pytest.approx((math.exp(low), math.exp(high)))
    assert comparison.degrees == 8


def test_verdicts():
    groups = [quiet("base", 100.0), quiet("fast", 80.0), quiet("slow", 130.0), quiet("alike", 100.2)]
    found = {name: comparison.verdict for name, comparison in compare_all(groups, "base").items()}
    assert found == {"fast": "faster", "slow": "slower", "alike": "same"}


def test_a_significant_difference_inside_the_margin_is_same():
    groups = [quiet("base", 100.0), quiet("near", 101.0), quiet("other", 50.0)]
    comparison = compare_all(groups, "base")["near"]
    assert comparison.q < 0.05
    assert comparison.verdict == "same"


def test_noise_wider_than_the_margin_is_uncertain_not_same():
    groups = [around(name, 100.0, 0.9, 1.0, 1.1) for name in ("base", "b", "c", "d")]
    assert {comparison.verdict for comparison in compare_all(groups, "base").values()} == {"uncertain"}


def test_too_few_degrees_are_uncertain_however_large_the_difference():
    groups = [around("base", 100.0, 0.999, 1.0), around("b", 10.0, 0.999, 1.001)]
    comparison = compare_all(groups, "base")["b"]
    assert comparison.degrees == 2
    assert comparison.verdict == "uncertain"
    assert comparison.ratio == pytest.approx(0.1, rel=0.01)


def test_one_process_each_gives_a_ratio_and_no_claim():
    comparison = compare_all([Group("base", (100.0,)), Group("b", (50.0,))], "base")["b"]
    assert comparison.ratio == pytest.approx(0.5)
    assert (comparison.p, comparison.interval, comparison.verdict) == (None, None, "uncertain")


@pytest.mark.parametrize("empty", ["base", "b"])
def test_nothing_measured_is_insufficient_and_carries_no_number(empty):
    groups = [quiet("base", 100.0), quiet("b", 100.0), quiet("c", 100.0), quiet("d", 90.0)]
    groups = [Group(empty, ()) if group.configuration == empty else group for group in groups]
    comparison = compare_all(groups, "base")["b"]
    assert comparison.verdict == "insufficient"
    assert (comparison.ratio, comparison.interval, comparison.p, comparison.q) == (None, None, None, None)


def test_a_missing_baseline_is_insufficient():
    assert compare_all([quiet("b", 100.0)], "base")["b"].verdict == "insufficient"


def test_false_discovery_control_follows_benjamini_and_hochberg():
    spread = (0.99, 1.0, 1.01)
    groups = [around("base", 100.0, *spread)] + [
        around(str(r), 100.0 * r, *spread) for r in (1.0, 1.02, 1.03, 1.05, 1.2)
    ]
    found = compare_all(groups, "base")
    ps = sorted(comparison.p for comparison in found.values())
    by_hand = [min(p * len(ps) / rank for rank, p in enumerate(ps, 1) if rank >= place) for place in range(1, 6)]
    assert sorted(comparison.q for comparison in found.values()) == pytest.approx([min(q, 1.0) for q in by_hand])
    assert control({}) == {}


def test_identical_medians_have_p_one():
    groups = [Group(name, (100.0, 100.0, 100.0, 100.0)) for name in ("base", "b", "c")]
    assert compare_all(groups, "base")["b"].p == 1.0


def test_a_loud_configuration_is_judged_by_its_own_noise():
    calm = [around(name, 100.0, 0.998, 1.0, 1.002) for name in ("base", "b", "c", "d", "e")]
    loud = around("loud", 108.0, 0.95, 1.0, 1.05)
    found = compare_all([*calm, loud], "base")
    assert found["loud"].own_noise
    assert found["loud"].verdict == "uncertain"
    welch = stats.ttest_ind(loud.logs, calm[0].logs, equal_var=False)
    assert found["loud"].p == pytest.approx(welch.pvalue, rel=0.25)  # the calm side's noise is pooled, not its own
    assert not found["b"].own_noise


def test_a_loud_baseline_makes_nothing_else_certain():
    calm = [around(name, 102.0, 0.998, 1.0, 1.002) for name in ("a", "b", "c", "d", "e")]
    found = compare_all([around("base", 100.0, 0.97, 1.0, 1.03), *calm], "base")
    assert {comparison.verdict for comparison in found.values()} == {"uncertain"}


def test_processes_apart_add_to_the_noise_and_are_not_compared():
    groups = [around("base", 100.0, 0.999, 1.0, 1.001), around("b", 50.0, 0.999, 1.0, 1.001)]
    assert compare_all(groups, "base")["b"].verdict == "uncertain"
    found = compare_all(groups, "base", apart=[around("b", 70.0, 0.999, 1.0, 1.001)])
    assert list(found) == ["b"]
    assert found["b"].verdict == "faster"


def test_false_alarms_test_each_pair_against_the_other_groups():
    calm = [quiet(str(index), 100.0) for index in range(4)]
    assert false_alarms(calm) == (0, 12)
    loud = around("loud", 100.0, 0.9, 1.0, 1.1)
    assert false_alarms([*calm, loud]).alarms == 3
    assert false_alarms(calm[:2]) == (0, 0)
