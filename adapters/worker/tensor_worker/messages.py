"""The worker protocol: one JSON object a line. Requests on the worker's stdin, replies on its stdout, logs on stderr.

The orchestrator imports these types, so there is one definition. A worker may send any number of ``progress`` lines
before the reply to a request. Every path is absolute on the wire and below a directory that the orchestrator made.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tensor_worker.artifacts import Candidate, Capture, Plan
from tensor_worker.program import Program

PROTOCOL = 1
Clock = Literal["host", "graph", "device"]
Cache = Literal["warm", "cold"]


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    pass


class Hello(_Message, frozen=True, kw_only=True, tag="hello"):
    protocol: int = PROTOCOL


class Compile(_Message, frozen=True, kw_only=True, tag="compile"):
    """Compile ``program``; ``inputs`` is an .npz with the search fixture, the only data a search may see."""

    program: Program
    variant: str
    target: str  # "cpu", "sm_90", or "cuda" for the device this worker may see
    inputs: str
    dump_dir: str
    capture: bool = True  # False for timing workers: skip stages that cost time and are not asked for
    candidate: Candidate | None = None  # of an earlier search of this variant: build this one, search nothing


class Run(_Message, frozen=True, kw_only=True, tag="run"):
    """Upload ``inputs`` (.npz), poison the outputs, invoke, wait, write every output to ``outputs`` (.npz).

    With several ``invocations`` nothing is uploaded or poisoned between them, and the last one's outputs are written:
    they differ if an invocation spoils what the next one reads.
    """

    inputs: str
    outputs: str
    invocations: int = 1


class GetStages(_Message, frozen=True, kw_only=True, tag="stages"):
    pass


class GetPlan(_Message, frozen=True, kw_only=True, tag="plan"):
    pass


class Time(_Message, frozen=True, kw_only=True, tag="time"):
    """Time ``invocations`` after ``warmup`` untimed ones, on the inputs uploaded last."""

    invocations: int
    warmup: int = 0
    clock: Clock = "host"
    cache: Cache = "warm"


class Trace(_Message, frozen=True, kw_only=True, tag="trace"):
    """Record the device activities of ``invocations``, each waited for."""

    invocations: int = 10


class Shutdown(_Message, frozen=True, kw_only=True, tag="shutdown"):
    pass


Request = Hello | Compile | Run | GetStages | GetPlan | Time | Trace | Shutdown


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """A way to use the compiler. ``keeps_contract`` is False for variants recorded because they break it."""

    name: str
    summary: str
    targets: tuple[str, ...]  # of "cpu", "sm_90", "cuda"
    keeps_contract: bool = True
    deterministic: bool = True  # False where a search times candidates
    rebuilds: bool = False  # ``compile`` builds a candidate of an earlier search when it is given one


class Greeting(_Message, frozen=True, kw_only=True, tag="hello"):
    protocol: int
    compiler: str
    version: str
    versions: dict[str, str]  # distribution name → version, of everything that shapes the code
    toolchain: dict[str, str]  # e.g. {"clang": "Debian clang version 14.0.6"}
    variants: tuple[Variant, ...]


class Compiled(_Message, frozen=True, kw_only=True, tag="compiled"):
    """``phases`` in seconds, by name, in order; the first execution is apart from compilation."""

    phases: dict[str, float]
    device: str  # what the code is for, as its driver names it; "cpu" on the host


class Ran(_Message, frozen=True, kw_only=True, tag="ran"):
    """``seconds`` are those of the first invocation and its wait. ``changed`` names the inputs whose arrays in the
    worker's memory differ from what was uploaded."""

    outputs: str
    seconds: float
    changed: tuple[str, ...] = ()


class Stages(_Message, frozen=True, kw_only=True, tag="stages"):
    capture: Capture


class PlanReply(_Message, frozen=True, kw_only=True, tag="plan"):
    plan: Plan
    fingerprint: str


class Timed(_Message, frozen=True, kw_only=True, tag="timed"):
    """Wall time of all ``invocations`` together; ``compiled`` counts compilations seen meanwhile (must be 0)."""

    clock: Clock
    cache: Cache
    invocations: int
    elapsed_ns: int
    compiled: int = 0


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the device did during an invocation, in launch order."""

    kind: Literal["kernel", "memset", "memcpy"]
    name: str  # as the driver reports it, never parsed for meaning
    grid: tuple[int, int, int] = (0, 0, 0)  # blocks
    block: tuple[int, int, int] = (0, 0, 0)  # threads
    registers: int = 0  # per thread
    shared_bytes: int = 0  # static + dynamic, per block
    bytes: int = 0  # of a memset or copy
    start_ns: int = 0  # device clock, relative to the invocation's first activity
    duration_ns: int = 0
    graph_node: int = 0  # 0 outside a graph


class Traced(_Message, frozen=True, kw_only=True, tag="traced"):
    """``modules``: kernel → file with the machine code that the driver loaded for it, of a worker that watched them."""

    invocations: tuple[tuple[Activity, ...], ...]
    dropped: int = 0
    modules: dict[str, str] = {}


class Progress(_Message, frozen=True, kw_only=True, tag="progress"):
    step: str


class Failed(_Message, frozen=True, kw_only=True, tag="failed"):
    """``unsupported``: the adapter says its compiler cannot express or build this. ``unavailable``: something is not
    installed here, ``remedy`` mends it. ``crashed``: any other exception, with its traceback."""

    status: Literal["unsupported", "unavailable", "crashed"]
    reason: str
    remedy: str = ""
    traceback: str = ""


class Bye(_Message, frozen=True, kw_only=True, tag="bye"):
    pass


Reply = Greeting | Compiled | Ran | Stages | PlanReply | Timed | Traced | Progress | Failed | Bye
