"""Records of where time and search go: device timelines, campaigns, search effort."""

from __future__ import annotations

from typing import Literal

from tensor_worker.artifacts import Search
from tensor_worker.messages import Activity

from tensor_assets.records.base import Evidence, Outcome, RecordBase, Struct
from tensor_assets.records.measure import Allocation, Block, Series


class Roof(Struct, frozen=True, kw_only=True):
    """Where a kernel stands under the roofline of one memory level. Operations count multiply and add apart."""

    level: str
    bytes: float  # moved at this level by one launch, as counted
    intensity: float  # operations a byte
    attainable: float  # operations a second at this intensity, under the device's declared ceilings
    share: float  # of it, achieved in the traced time


class KernelProfile(Struct, frozen=True, kw_only=True):
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


class ProfileRecord(RecordBase, frozen=True, kw_only=True, tag="profile"):
    """Device timeline, counters and roofline position of one configuration."""

    session: str = ""
    allocation: Allocation | None = None
    fingerprint: str = ""
    timeline: tuple[tuple[Activity, ...], ...] = ()
    kernels: tuple[KernelProfile, ...] = ()
    busy_ns: float | None = None  # median over invocations: the device worked
    span_ns: float | None = None  # median over invocations: from the first activity's start to the last one's end
    counters: dict[str, dict[str, float]] = {}  # kernel → metric → value
    counted: str = "with caches flushed before each pass"  # how; what Nsight Compute does unless it is told otherwise
    opcodes: dict[str, dict[str, int]] = {}  # kernel → opcode → static count
    loaded: tuple[str, ...] = ()  # kernels counted in what the driver loaded; the others in the captured listing
    ceilings: dict[str, str] = {}  # limit → where its number comes from
    files: tuple[Evidence, ...] = ()  # raw profiler captures
    missing: dict[str, str] = {}  # part → why it is not there


class Phase(Struct, frozen=True, kw_only=True):
    """One phase of a campaign. ``idle_seconds`` counts while the device was held and only processors worked."""

    name: str
    seconds: float
    idle_seconds: float = 0.0


class CampaignRecord(RecordBase, frozen=True, kw_only=True, tag="campaign"):
    """Many cells on one allocation, in one go: what was there, what each phase cost, what was left running."""

    allocation: Allocation
    preflight: dict[str, str]  # what was looked for → what was found
    phases: tuple[Phase, ...]
    teardown: dict[str, str]
    outcomes: dict[str, str]  # "workload | compiler variant" → outcome


class Trial(Struct, frozen=True, kw_only=True):
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


class EffortRecord(RecordBase, frozen=True, kw_only=True, tag="effort"):
    """Default, original and expanded search of one compiler, in paired blocks on one allocation."""

    allocation: Allocation
    seed: int
    trials: tuple[Trial, ...]
    blocks: tuple[Block, ...] = ()  # ``process`` is the trial's place in ``trials``
    method: dict[str, float | int | str] = {}
