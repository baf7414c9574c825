"""What a compiler shows of itself: stages, the semantic graph, the plan, candidates and decisions.

Every adapter returns these types, whatever its compiler calls the things; native names are kept as text beside them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Level = Literal["semantic", "scheduled", "code", "machine"]
Language = Literal[
    "python", "mlir", "tvmscript", "egglog", "json", "c", "cpp", "cuda", "llvm", "ptx", "sass", "asm", "mojo", "text",
]  # fmt: skip
Role = Literal["input", "contraction", "reduction", "view", "cast", "epilogue", "constant", "output", "other"]
LaunchKind = Literal["kernel", "library", "memset", "memcpy"]
Lines = tuple[int, int]
Extent = tuple[int, int, int]


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """Where a shortened stage was cut from: the whole file's hash and size, and why it is not kept whole."""

    sha256: str
    bytes: int
    lines: tuple[Lines, ...]  # ranges of the original that were kept, 1-based, inclusive
    reason: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What stands for a stage's text beside another capture's, where a compiler orders or numbers anew in each run."""

    path: str  # relative to the dump directory
    reason: str  # what was done to the text, and why that changes nothing it says


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One native representation, written to ``path`` under the dump directory of the compile request."""

    name: str  # stable identifier within its compiler, e.g. "legalized"
    title: str  # what a page heads it with
    level: Level
    language: Language
    path: str  # relative to the dump directory, never absolute
    produced_by: str  # the pass, API or tool that gave it, in the compiler's own words
    excerpt: Excerpt | None = None
    compared: Compared | None = None  # None: the text itself


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the semantic graph, as the compiler names it."""

    id: str
    op: str
    role: Role
    shape: tuple[int, ...] = ()
    dtype: str = ""
    lines: Lines | None = None  # range in the graph's stage text, 1-based, inclusive
    program_ops: tuple[str, ...] = ()  # the ops of the workload it stands for
    certain: bool = True  # False where the link to program_ops is inferred, not reported by the compiler


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    target: str


class SemanticGraph(msgspec.Struct, frozen=True, kw_only=True):
    """The program as the compiler first holds it; node lines point into the text of the stage called ``stage``."""

    stage: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    incomplete: str = ""  # why nodes are missing, empty when none are


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One planned device activity of an invocation, in order. On a CPU target: one call of generated code."""

    kind: LaunchKind
    name: str  # native name, never parsed for meaning
    grid: Extent | None = None  # blocks
    block: Extent | None = None  # threads
    registers: int | None = None  # per thread
    shared_bytes: int | None = None  # static + dynamic, per block
    parameters: dict[str, str | int | float | bool] = {}  # schedule parameters by their native names
    computes: tuple[str, ...] = ()  # program ops: the fusion map
    instruction: str = ""  # matrix instruction family as the machine code shows it
    code_sha256: str = ""  # normalized code, without paths, dates and addresses
    stage: str = ""  # the stage that holds its code


class Buffer(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of one invocation. ``first`` and ``last`` are the launches (0-based) that write and last read it."""

    name: str
    role: Literal["input", "intermediate", "output", "workspace"]
    bytes: int
    first: int | None = None
    last: int | None = None


class Rounding(msgspec.Struct, frozen=True, kw_only=True):
    """Where one boundary of the program is rounded, and the words of the code that show it."""

    boundary: str  # the program op
    launch: int  # index into Plan.launches
    evidence: str  # e.g. "cvt.rn.f16.f32 before add.f16"
    certain: bool = True


INFERRED = "inferred: "  # begins a plan's note on what of its launches neither a trace nor their own code shows


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What was selected: launches in order, buffers, where the boundaries are rounded."""

    launches: tuple[Launch, ...]
    buffers: tuple[Buffer, ...] = ()
    roundings: tuple[Rounding, ...] = ()
    notes: tuple[str, ...] = ()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One implementation that was considered. Times are the compiler's own, in its own scope, never compared across.

    Where the variant rebuilds candidates, ``parameters`` hold all that is needed to build this one again.
    """

    name: str
    chosen: bool
    parameters: dict[str, str | int | float | bool] = {}
    predicted_ns: float | None = None
    measured_ns: float | None = None
    # Compile error, resource limit, slower. Empty for the chosen one, and for measured ones where nothing was chosen.
    refused: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One consequential transformation, drafted by the adapter for a reviewer's ledger."""

    subject: str  # e.g. "weight transpose", "projection rounding"
    result: str  # e.g. "absorbed into the load", "stored by a kernel of its own"
    before: str  # stage name, optionally with a line range "legalized:12-20"
    after: str
    mechanism: str  # rule, pass or matcher, with its source location where the compiler gives one
    preconditions: tuple[str, ...] = ()
    fixes: str = ""  # what it settles
    leaves_open: str = ""
    confirmed_by: str = ""  # how the run showed it


class Correspondence(msgspec.Struct, frozen=True, kw_only=True):
    """A program op found again in a stage's text."""

    program_op: str
    stage: str
    lines: Lines
    certain: bool = True


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Search effort of one compile. ``scope`` says what the numbers count; scopes differ between compilers."""

    scope: str
    tried: int
    seconds: float
    candidates: tuple[Candidate, ...] = ()
    censored: str = ""  # why it stopped early, empty when it ended by itself
    # Generated, and neither timed nor refused when it stopped: among the candidates, not in ``tried``. None: not told.
    untimed: int | None = None


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one compile left to look at."""

    stages: tuple[Stage, ...]
    graph: SemanticGraph | None = None
    decisions: tuple[Decision, ...] = ()
    correspondences: tuple[Correspondence, ...] = ()
    search: Search | None = None
