"""The records: what the store keeps and everything downstream reads. One schema, versioned.

A record is immutable. It is filed under its key; large things (native text, arrays, samples) are evidence that it
names by SHA-256.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from tensor_worker.artifacts import Capture, Plan, Search
from tensor_worker.messages import Activity, Cache, Clock, Variant
from tensor_worker.program import Program

SCHEMA = 1

Status = Literal["ok", "rejected", "unsupported", "unavailable", "censored", "crashed", "blocked"]
STATUSES: tuple[Status, ...] = ("ok", "rejected", "unsupported", "unavailable", "censored", "crashed", "blocked")


class _Struct(msgspec.Struct, frozen=True):
    pass


class Evidence(_Struct, frozen=True, kw_only=True):
    """A file in the content-addressed store. ``name`` is for people; the hash is the identity."""

    sha256: str
    bytes: int
    media_type: str
    name: str
    private: bool = False  # never leaves the store: logs, raw profiler captures, full environments, host identity
    redacted: dict[str, int] = {}  # rule → how often: paths, names and secrets that were replaced before it was kept


class Outcome(_Struct, frozen=True, kw_only=True):
    """How a cell, or one part of it, ended. ``reason`` is one sentence; empty only for ``ok``."""

    status: Status
    reason: str = ""
    remedy: str = ""  # the command that mends it, where there is one
    log: Evidence | None = None


class Key(_Struct, frozen=True, kw_only=True):
    """What a record is filed under. Empty where a part does not apply (a fixture has no compiler)."""

    workload: str = ""
    shape: str = ""
    compiler: str = ""
    variant: str = ""
    target: str = ""
    environment: str = ""  # hash of the lock, the interpreter and the toolchain
    patch: str = ""  # hash of a source patch, where a compiler was patched
    method: str = ""  # hash of how it was measured or judged


class Provenance(_Struct, frozen=True, kw_only=True):
    """Where a record comes from. ``created`` is UTC, ISO 8601; ``environment`` holds allow-listed variables only."""

    created: str
    command: tuple[str, ...] = ()
    project: str = ""  # version of tensor_assets
    packages: dict[str, str] = {}
    environment: dict[str, str] = {}
    parents: tuple[str, ...] = ()  # record ids
    seconds: dict[str, float] = {}  # cost by phase


class _Record(_Struct, frozen=True, kw_only=True, tag_field="record"):
    key: Key
    outcome: Outcome
    provenance: Provenance
    schema: int = SCHEMA


class Bound(_Struct, frozen=True, kw_only=True):
    """Proof that one contraction of an exact fixture has one answer in any order: max Σ|a·b| in grid steps < 2**24."""

    op: str
    steps: float


class Fixture(_Struct, frozen=True, kw_only=True):
    """One set of inputs with its reference outputs. ``arrays`` and ``reference`` are .npz; hashes are per array."""

    name: str  # search, exact-0, exact-1, random, …
    exact: bool
    seed: int
    arrays: Evidence
    reference: Evidence  # outputs after rounding at every boundary
    low: Evidence | None = None  # least legal outputs, where the fixture is not exact
    high: Evidence | None = None  # greatest legal outputs
    hashes: dict[str, str]  # SHA-256 over dtype, shape and bytes of every input and reference output
    bounds: tuple[Bound, ...] = ()
    coverage: dict[str, float] = {}  # violation → share of output elements it changes
    recipe: str = ""


class FixtureRecord(_Record, frozen=True, kw_only=True, tag="fixtures"):
    program: Program
    question: str
    fixtures: tuple[Fixture, ...]


class EnvironmentRecord(_Record, frozen=True, kw_only=True, tag="environment"):
    """One compiler's isolated environment. ``freeze`` is name → version, all of it."""

    python: str
    lock_sha256: str
    freeze: dict[str, str]
    version: str = ""  # of the compiler itself
    toolchain: dict[str, str] = {}
    variants: tuple[Variant, ...] = ()  # what the compiler's worker offers, from its greeting


class Verdict(_Struct, frozen=True, kw_only=True):
    """One judgement of one output on one fixture."""

    fixture: str
    output: str
    kind: Literal["exact", "interval", "tolerance", "form"]
    passed: bool
    elements: int
    mismatches: int = 0
    worst: float = 0.0  # largest |a - reference|
    reason: str = ""  # for "form": wrong dtype, wrong shape, unwritten output, mutated input, …
    decided_share: float | None = None  # interval: share of elements with one legal value
    median_width_ulp: float | None = None  # interval: in FP16 ulps


class Admission(_Struct, frozen=True, kw_only=True):
    """``admitted`` follows the exact and form verdicts, and the interval where a fixture is not exact."""

    admitted: bool | None  # None: not run on this target
    verdicts: tuple[Verdict, ...] = ()
    boundary: str = ""  # "projection not rounded", "product rounded", … when rejected and recognized
    boundary_share: float | None = None  # share of the mismatching tile that this violation's reference explains
    reason: str = ""


class StageFile(_Struct, frozen=True, kw_only=True):
    """A captured stage with its native text in the store; ``stage`` matches the capture's stage of that name."""

    stage: str
    text: Evidence
    fingerprint: str = ""  # of the normalized text


class CaptureRecord(_Record, frozen=True, kw_only=True, tag="capture"):
    """One variant of one cell: what the compiler made of the program, and whether it is right."""

    capture: Capture | None = None
    stages: tuple[StageFile, ...] = ()
    plan: Plan | None = None
    fingerprint: str = ""
    admission: Admission | None = None
    phases: dict[str, float] = {}  # compile seconds by phase
    first_execution_seconds: float | None = None
    device: str = ""
    version: str = ""  # of the compiler
    cache: Evidence | None = None  # snapshot of the compiler's caches after capture (private)


class Allocation(_Struct, frozen=True, kw_only=True):
    """The physical device a session ran under. Records of different allocations are never pooled."""

    id: str  # hash of the rest
    device: str  # "cpu" target: processor model
    device_uuid: str = ""
    boot_id: str = ""
    driver: str = ""
    lease: str = ""
    simulated: bool = False


class Process(_Struct, frozen=True, kw_only=True):
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


class DeviceState(_Struct, frozen=True, kw_only=True):
    """Clocks and throttling around a block, where NVML answers."""

    sm_mhz: int = 0
    memory_mhz: int = 0
    watts: float = 0.0
    celsius: int = 0
    throttle: tuple[str, ...] = ()


class Block(_Struct, frozen=True, kw_only=True):
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


class SessionRecord(_Record, frozen=True, kw_only=True, tag="session"):
    """All admitted configurations of one workload, timed in interleaved blocks on one allocation."""

    allocation: Allocation
    seed: int
    processes: tuple[Process, ...]
    blocks: tuple[Block, ...]
    load: tuple[float, float] = (0.0, 0.0)  # 1-minute load average before and after
    method: dict[str, float | int | str] = {}


class Series(_Struct, frozen=True, kw_only=True):
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


class Comparison(_Struct, frozen=True, kw_only=True):
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


class Timing(_Struct, frozen=True, kw_only=True):
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


class BenchmarkRecord(_Record, frozen=True, kw_only=True, tag="benchmark"):
    """The cell's view of its session."""

    session: str  # record id
    allocation: Allocation | None = None
    fingerprint: str = ""
    timings: tuple[Timing, ...] = ()


class Roof(_Struct, frozen=True, kw_only=True):
    """Where a kernel stands under the roofline of one memory level. Operations count multiply and add apart."""

    level: str
    bytes: float  # moved at this level by one launch, as counted
    intensity: float  # operations a byte
    attainable: float  # operations a second at this intensity, under the device's declared ceilings
    share: float  # of it, achieved in the uninstrumented time


class KernelProfile(_Struct, frozen=True, kw_only=True):
    """One activity of an invocation, over all traced invocations that did the same activities in the same order."""

    position: int  # in launch order, from 0
    kind: Literal["kernel", "memset", "memcpy"]
    name: str
    grid: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    registers: int = 0
    shared_bytes: int = 0
    bytes: int = 0  # of a memset or copy
    duration_ns: float  # median
    gap_ns: float = 0.0  # median of the device's idle time before it, within the invocation
    occupancy: float | None = None  # resident warps over the most a multiprocessor holds, as launched
    occupancy_limit: str = ""  # what bounds it: registers, shared memory, threads, blocks
    waves: float | None = None  # grid over what all multiprocessors hold at once
    operations: float | None = None  # of one launch, as counted
    roofs: tuple[Roof, ...] = ()


class ProfileRecord(_Record, frozen=True, kw_only=True, tag="profile"):
    """Device timeline, counters and roofline position of one configuration."""

    session: str = ""
    allocation: Allocation | None = None
    fingerprint: str = ""
    timeline: tuple[tuple[Activity, ...], ...] = ()
    kernels: tuple[KernelProfile, ...] = ()
    busy_ns: float | None = None  # median over invocations: the device worked
    span_ns: float | None = None  # median over invocations: from the first activity's start to the last one's end
    counters: dict[str, dict[str, float]] = {}  # kernel → metric → value
    opcodes: dict[str, dict[str, int]] = {}  # kernel → opcode → static count
    ceilings: dict[str, str] = {}  # limit → where its number comes from
    files: tuple[Evidence, ...] = ()  # raw profiler captures
    missing: dict[str, str] = {}  # part → why it is not there


class Phase(_Struct, frozen=True, kw_only=True):
    """One phase of a campaign. ``idle_seconds`` counts while the device was held and only processors worked."""

    name: str
    seconds: float
    idle_seconds: float = 0.0


class CampaignRecord(_Record, frozen=True, kw_only=True, tag="campaign"):
    """Many cells on one allocation, in one go: what was there, what each phase cost, what was left running."""

    allocation: Allocation
    preflight: dict[str, str]  # what was looked for → what was found
    phases: tuple[Phase, ...]
    teardown: dict[str, str]
    outcomes: dict[str, str]  # "workload | compiler variant" → outcome


class Trial(_Struct, frozen=True, kw_only=True):
    """One fresh, cold process of a search-effort comparison: what its search cost, and how fast what it chose is."""

    block: int
    position: int  # within its block, of the compilations
    variant: str
    outcome: Outcome  # "censored" where the search did not end in time
    fingerprint: str = ""
    compile_seconds: float | None = None  # of the whole request, search included
    phases: dict[str, float] = {}  # by the compiler's own names; scopes differ between compilers
    first_execution_seconds: float | None = None
    search: Search | None = None  # of a censored one: what it had tried by then
    recheck: bool | None = None
    series: Series | None = None  # host clock, interleaved with the other trials of its block


class EffortRecord(_Record, frozen=True, kw_only=True, tag="effort"):
    """Default, original and expanded search of one compiler, in paired blocks on one allocation."""

    allocation: Allocation
    seed: int
    trials: tuple[Trial, ...]
    blocks: tuple[Block, ...] = ()  # ``process`` is the trial's place in ``trials``
    method: dict[str, float | int | str] = {}


Record = (
    FixtureRecord
    | EnvironmentRecord
    | CaptureRecord
    | SessionRecord
    | BenchmarkRecord
    | ProfileRecord
    | EffortRecord
    | CampaignRecord
)
