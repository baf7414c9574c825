"""The view of a configuration that claims are asked of: one plain, documented, stable JSON document.

Names here are a contract with authors: a field may be added, never renamed or given another meaning. What a record does
not say is null; a list that is empty says there is none.
"""

from __future__ import annotations

import msgspec

Extent = tuple[int, int, int]
Parameters = dict[str, str | int | float | bool]


class View(msgspec.Struct, frozen=True):
    pass


class NodeView(View, frozen=True, kw_only=True):
    """A node of the semantic graph, as the compiler names it."""

    op: str
    role: str  # input, contraction, reduction, view, cast, epilogue, constant, output, other
    shape: tuple[int, ...]
    dtype: str
    computes: tuple[str, ...]  # ops of the workload that it stands for
    inputs: tuple[str, ...]  # ops of the nodes it reads


class GraphView(View, frozen=True, kw_only=True):
    """The program as the compiler first holds it."""

    stage: str
    nodes: tuple[NodeView, ...]
    ops: tuple[str, ...]  # of the nodes that compute something, in order
    incomplete: str


class StageView(View, frozen=True, kw_only=True):
    """One native representation. ``text`` is null where it is not at hand."""

    level: str  # semantic, scheduled, code, machine
    language: str
    produced_by: str
    text: str | None = None


class KernelView(View, frozen=True, kw_only=True):
    """One planned kernel or library call; on a CPU, one call of generated code."""

    position: int  # among the activities of an invocation, from 0
    kind: str  # kernel, library
    name: str
    grid: Extent | None  # blocks
    block: Extent | None  # threads
    threads: int | None  # of one block
    registers: int | None  # per thread, as assembled with the capture; ``timeline`` has what the driver loaded
    shared_bytes: int | None
    parameters: Parameters  # by the compiler's own names
    computes: tuple[str, ...]  # ops of the workload
    rounds: tuple[str, ...]  # boundaries rounded in it
    instruction: str  # matrix instruction, as the adapter found it in the code
    family: str | None  # HGMMA, HMMA, FFMA, … from its machine code; empty where nothing in it multiplies
    matrix_opcodes: dict[str, int] | None  # matrix instruction of the machine code → how often it stands there
    opcodes: dict[str, int] | None = None  # every instruction → how often it stands there; not how often it runs
    sass: str | None = None
    ptx: str | None = None


class ActivityView(View, frozen=True, kw_only=True):
    """One thing that the device does in an invocation, planned or seen."""

    kind: str  # kernel, library, memset, memcpy
    name: str
    bytes: int | None = None  # of a memset or copy
    grid: Extent | None = None
    block: Extent | None = None
    threads: int | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    duration_us: float | None = None
    family: str | None = None  # as a kernel's, of what was traced
    opcodes: dict[str, int] | None = None


class BufferView(View, frozen=True, kw_only=True):
    """Memory of one invocation."""

    name: str
    role: str  # input, intermediate, output, workspace
    bytes: int


class RoundingView(View, frozen=True, kw_only=True):
    """Where one boundary of the program is rounded."""

    boundary: str  # the op of the workload
    kernel: int  # position of the activity
    evidence: str  # the words of the code that show it
    certain: bool


class DecisionView(View, frozen=True, kw_only=True):
    """One consequential transformation, as the adapter drafted it."""

    subject: str  # e.g. transpose w
    result: str  # e.g. a view, no copy
    before: str  # stage, and lines where they are known
    after: str
    mechanism: str  # rule, pass or matcher
    preconditions: tuple[str, ...]
    fixes: str  # what it settles
    leaves_open: str
    confirmed_by: str  # how the run showed it


class CandidateView(View, frozen=True, kw_only=True):
    """One implementation that was considered. Times are the compiler's own, never compared across compilers."""

    name: str
    chosen: bool
    parameters: Parameters
    predicted_us: float | None
    measured_us: float | None
    refused: str  # compile error, resource limit, slower


class SearchView(View, frozen=True, kw_only=True):
    """Search effort of one compilation."""

    scope: str  # what the numbers count
    tried: int  # timed or refused, in that scope
    untimed: int | None  # generated, and neither timed nor refused when it stopped; null where it did not tell
    seconds: float
    censored: str  # why it stopped early
    candidates: tuple[CandidateView, ...]


class JudgedView(View, frozen=True, kw_only=True):
    """All verdicts of one kind: bit for bit, by interval, or by the fixed tolerance."""

    passed: bool  # every one of them
    mismatches: dict[str, int]  # fixture → elements that differ, of the worst output
    differences: dict[str, float]  # fixture → largest difference from the reference
    worst: float  # the largest of these


class AdmissionView(View, frozen=True, kw_only=True):
    """Whether the numbers are right."""

    admitted: bool | None  # null where it did not run
    boundary: str  # that broke, where one was recognized
    reason: str
    exact: JudgedView | None
    interval: JudgedView | None
    tolerance: JudgedView | None


class TimingView(View, frozen=True, kw_only=True):
    """Warm, on random data. Medians are of one process each; low and high are the least and greatest of them."""

    medians_us: tuple[float, ...]
    median_us: float
    low_us: float
    high_us: float
    noise: float | None  # A/A: standard deviation of the logarithm of process medians
    verdict: str  # against the session's baseline


class AlternativeView(View, frozen=True, kw_only=True):
    """A candidate that a search did not choose, built again and judged on the exact fixtures."""

    candidate: str  # its name in the search
    outcome: str  # ok, rejected, …
    distinct: bool  # code or geometry of its own
    fixtures: tuple[str, ...]  # it was judged on


class TrialView(View, frozen=True, kw_only=True):
    """One cold search of a search-effort comparison."""

    block: int
    outcome: str
    reason: str
    tried: int | None  # timed or refused; null where its search was not told of
    untimed: int | None  # generated, and neither timed nor refused when it stopped; null where it did not tell
    compile_seconds: float | None
    median_us: float | None
    of_default: float | None  # its median over that of the default in the same block


class Document(View, frozen=True, kw_only=True):
    """One configuration on one target: everything its records say."""

    workload: str  # the program
    shape: str  # by name
    compiler: str
    variant: str  # default, tuned, expanded, …
    device: str  # the target: cpu, sm_90 or a device by name
    version: str  # of the compiler
    packages: dict[str, str]  # of its environment, with versions
    outcome: str  # ok, rejected, unsupported, unavailable, censored, crashed, blocked
    reason: str  # of an outcome that is not ok
    graph: GraphView | None  # the program as the compiler first holds it
    stages: dict[str, StageView]  # by name
    activities: tuple[ActivityView, ...] | None  # planned, in launch order
    kernels: tuple[KernelView, ...] | None  # of the activities, the kernels and library calls
    buffers: tuple[BufferView, ...] | None  # memory of one invocation
    intermediates: tuple[BufferView, ...] | None  # of the buffers, those that one launch writes and another reads
    storage_bytes: int | None  # one write and one read of every intermediate
    roundings: tuple[RoundingView, ...] | None  # where the boundaries are rounded
    decisions: tuple[DecisionView, ...]  # the ledger of transformations
    notes: tuple[str, ...]  # of the plan
    search: SearchView | None  # what was tried before it was chosen
    alternatives: tuple[AlternativeView, ...]  # retained ones, judged too
    admission: AdmissionView | None  # verdicts of the outputs
    compile_seconds: float | None  # in the compiler's own scope
    timings: dict[str, TimingView]  # by clock: host, graph, device
    timeline: tuple[ActivityView, ...] | None  # what a device trace saw of one invocation
    effort: tuple[TrialView, ...] | None  # cold searches of this variant, in blocks on one allocation
    levels: dict[str, tuple[TrialView, ...]] | None  # by variant: every search level that was compared for this cell
