"""Records of how fast it is: allocations, sessions, statistics."""

from __future__ import annotations

from typing import Literal

from tensor_worker.messages import Cache, Clock

from tensor_assets.records.base import Outcome, RecordBase, Struct


class Allocation(Struct, frozen=True, kw_only=True):
    """The physical device a session ran under. Records of different allocations are never pooled."""

    id: str  # hash of the rest
    device: str  # "cpu" target: processor model
    device_uuid: str = ""
    boot_id: str = ""
    driver: str = ""
    lease: str = ""
    simulated: bool = False


class Process(Struct, frozen=True, kw_only=True):
    """One timing worker of a session."""

    index: int
    compiler: str
    variant: str
    replicate: int
    fingerprint: str
    arm: str = ""  # "" or "old" / "new" where two environments of one compiler are compared
    outcome: Outcome
    core: int | None = None
    threads: int | None = None  # of the whole process when timing began; only the main one is pinned
    recheck: bool | None = None  # outputs right again after timing, on fresh values and poisoned buffers
    captured: str = ""  # fingerprint of its configuration's capture; a process with another one stays apart
    cache: str = ""  # SHA-256 of the cache snapshot it started from, empty where it started cold
    refused: dict[str, str] = {}  # "clock/cache/data" → why that could not be timed (no graph capture, no trace, …)


class DeviceState(Struct, frozen=True, kw_only=True):
    """Clocks and throttling around a block, where NVML answers."""

    sm_mhz: int = 0
    memory_mhz: int = 0
    watts: float = 0.0
    celsius: int = 0
    throttle: tuple[str, ...] = ()


class Block(Struct, frozen=True, kw_only=True):
    """``invocations`` of one process, timed together. The sample is ``elapsed_ns / invocations``."""

    process: int
    round: int
    position: int  # within its round
    clock: Clock
    cache: Cache
    data: str  # "random", "zeros"
    invocations: int
    elapsed_ns: int
    device: DeviceState | None = None
    invalid: str = ""  # beyond a ceiling, throttled, compiled meanwhile


class SessionRecord(RecordBase, frozen=True, kw_only=True, tag="session"):
    """All admitted configurations of one workload, timed in interleaved blocks on one allocation."""

    allocation: Allocation
    seed: int
    processes: tuple[Process, ...]
    blocks: tuple[Block, ...]
    load: tuple[float, float] = (0.0, 0.0)  # 1-minute load average before and after
    method: dict[str, float | int | str] = {}


class Series(Struct, frozen=True, kw_only=True):
    """One process of one configuration under one clock: the documents' within-process summary. Nanoseconds."""

    process: int
    replicate: int
    samples: int
    median_ns: float
    p10_ns: float
    p90_ns: float
    interval_ns: tuple[float, float]  # deterministic bootstrap of the block median; this process only
    drift: float  # (last - first) / first block
    drifted: bool  # beyond 15 %


class Comparison(Struct, frozen=True, kw_only=True):
    """One configuration against the baseline of its session, processes as the unit.

    What could not be computed is None: nothing at all where the verdict is ``insufficient``, never NaN or 0.
    """

    baseline: str
    verdict: Literal["faster", "slower", "same", "uncertain", "insufficient"]
    ratio: float | None = None  # of geometric means of process medians
    interval: tuple[float, float] | None = None  # 95 % of the ratio
    p: float | None = None
    q: float | None = None  # after false-discovery control over the session
    degrees: int = 0  # of the session's pooled noise
    own_noise: bool = False  # a side spread more than the others' noise explains, so its own was used


class Timing(Struct, frozen=True, kw_only=True):
    """One configuration under one clock, cache state and data axis."""

    clock: Clock
    cache: Cache
    data: str
    series: tuple[Series, ...]  # of processes that ran the captured implementation
    median_ns: float | None  # median of process medians; None when nothing usable was measured
    noise: float | None  # pooled A/A: standard deviation of log process medians, same-fingerprint pairs
    noise_degrees: int = 0  # degrees of freedom of ``noise``
    aa_pairs: int = 0  # same-fingerprint pairs of the session that were tested against each other
    aa_alarms: int = 0  # of those, called different at 5 %
    apart: tuple[Series, ...] = ()  # processes whose fingerprint is another: searched afresh, or chosen differently
    refused: str = ""  # why there are no samples, where that is known
    floor_ns: float | None = None  # time below which a sample is impossible
    comparison: Comparison | None = None


class BenchmarkRecord(RecordBase, frozen=True, kw_only=True, tag="benchmark"):
    """The cell's view of its session."""

    session: str  # record id
    allocation: Allocation | None = None
    fingerprint: str = ""
    timings: tuple[Timing, ...] = ()
