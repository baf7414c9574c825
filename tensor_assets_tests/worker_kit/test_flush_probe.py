"""The pointer chase that verifies an L2 flush, against a driver whose memory has known latencies."""

import itertools

import pytest
from tensor_worker import flush, flush_probe
from tensor_worker.adapter import Unavailable


class SimulatedDriver:
    """Answers the calls of a chase; a launch takes ``warm`` or, after ``flush``, ``cold`` nanoseconds."""

    def __init__(self, warm, cold, refuses=""):
        self.warm, self.cold, self.refuses = warm, cold, refuses
        self.flushed, self.clock, self.freed = False, 0, []

    def __getattr__(self, name):
        def call(*arguments):
            if name == self.refuses:
                return 218
            if name == "cuLaunchKernel":
                self.clock += self.cold if self.flushed else self.warm
                self.flushed = False
            if name in ("cuMemFree_v2", "cuModuleUnload"):
                self.freed.append(name)
            return 0

        return call

    def flush(self):
        self.flushed = True


@pytest.fixture
def driver_with(monkeypatch):
    def driver(*arguments, **options):
        simulated = SimulatedDriver(*arguments, **options)
        monkeypatch.setattr(flush_probe, "perf_counter_ns", lambda: simulated.clock)
        return simulated

    return driver


def test_the_ratio_is_cold_over_warm(driver_with):
    driver = driver_with(500_000, 1_250_000)
    assert flush_probe.cold_over_warm(driver, driver.flush) == 2.5
    assert driver.freed == ["cuMemFree_v2", "cuMemFree_v2", "cuModuleUnload"]


def test_a_driver_that_cannot_compile_the_probe_leaves_the_flush_unverified(driver_with):
    driver = driver_with(1, 1, refuses="cuModuleLoadData")
    with pytest.raises(Unavailable, match="cannot be verified: cuModuleLoadData returned CUDA error 218"):
        flush_probe.cold_over_warm(driver, driver.flush)


def test_a_flush_without_effect_refuses_cold_times_and_one_with_effect_is_verified_once(driver_with, monkeypatch):
    monkeypatch.setattr(flush, "_verified", False)
    useless = flush.Flusher.__new__(flush.Flusher)
    useless._driver = driver_with(500_000, 510_000)
    useless.flush = useless._driver.flush
    with pytest.raises(Unavailable, match=r"no effect here: reads after it take 1\.02 times as long"):
        useless.verify()
    useless._driver = driver_with(500_000, 1_000_000)
    useless.flush = useless._driver.flush
    useless.verify()
    useless._driver = driver_with(1, 1, refuses="cuModuleLoadData")
    useless.verify()


def test_the_chase_visits_every_line_once_and_returns():
    targets = flush_probe.cycle(64, 1 << 20)
    seen, at = [], 1 << 20
    for _ in range(64):
        seen.append(at)
        at = targets[(at - (1 << 20)) // 128]
    assert at == 1 << 20
    assert sorted(seen) == [(1 << 20) + line * 128 for line in range(64)]
    strides = {abs(there - here) for here, there in itertools.pairwise(seen)}
    assert len(strides) > 16  # no order that a prefetcher could follow


def test_the_probe_reads_past_the_first_level():
    assert b"ld.global.cg" in flush_probe._PTX
    assert flush_probe._PTX.endswith(b"\0")
