"""The files of a Luminal capture bundle, field by field (README.md has the format in words)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from tensor_worker.artifacts import Extent, LaunchKind
from tensor_worker.program import Program

FORMAT = "luminal-capture"
VERSION = 1

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Commit = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$")]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Nanoseconds = Annotated[float, msgspec.Meta(ge=0)]
Cohort = Literal["native", "widened"]
Scalar = str | int | float | bool


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Patch(_Part, frozen=True, kw_only=True):
    """A change to Luminal's source that the capture was made with; ``patch.diff`` in the bundle, by its hash."""

    sha256: Sha256
    summary: Name


class Truncation(_Part, frozen=True, kw_only=True):
    """What the bundle leaves out. Empty strings where nothing is missing."""

    egraph: str = ""
    candidates: str = ""


class Device(_Part, frozen=True, kw_only=True):
    name: Name  # as its driver names it
    driver: str = ""


class Manifest(_Part, frozen=True, kw_only=True):
    format: Literal["luminal-capture"]
    version: Literal[1]
    luminal: Commit
    egglog: Name  # revision or release of the egglog that saturated the e-graph
    runtime: Name  # e.g. "cuda_lite"
    device: Device
    variant: Name  # "default", "tuned", "expanded"
    cohort: Cohort  # whether contractions read FP16 operands or widened copies of them
    seed: int
    program: Program
    files: dict[str, Sha256]  # every other file of the bundle
    options: dict[str, Scalar] = {}
    patch: Patch | None = None
    lets: dict[str, str] = {}  # name in logical.egg → program value
    truncation: Truncation = Truncation()
    search_seconds: Nanoseconds = 0.0
    search_scope: str = ""  # what the seconds and the candidates' times count


class PlanCandidate(_Part, frozen=True, kw_only=True):
    """One line of candidates.jsonl: an extracted plan."""

    name: Name
    chosen: bool = False
    parameters: dict[str, Scalar] = {}
    predicted_ns: Nanoseconds | None = None
    measured_ns: Nanoseconds | None = None
    refused: str = ""


class Step(_Part, frozen=True, kw_only=True):
    """One device activity of the selected plan; ``source`` is its file below ``kernels/``."""

    kind: LaunchKind
    name: Name
    source: str = ""
    computes: tuple[str, ...] = ()
    grid: Extent | None = None
    block: Extent | None = None
    registers: Count | None = None
    shared_bytes: Count | None = None
    instruction: str = ""
    parameters: dict[str, Scalar] = {}


class PlanBuffer(_Part, frozen=True, kw_only=True):
    name: Name
    role: Literal["input", "intermediate", "output", "workspace"]
    bytes: Count
    first: Count | None = None
    last: Count | None = None


class PlanRounding(_Part, frozen=True, kw_only=True):
    boundary: Name
    launch: Count
    evidence: Name


class SelectedPlan(_Part, frozen=True, kw_only=True):
    """plan.json"""

    steps: Annotated[tuple[Step, ...], msgspec.Meta(min_length=1)]
    buffers: tuple[PlanBuffer, ...] = ()
    roundings: tuple[PlanRounding, ...] = ()
    notes: tuple[str, ...] = ()
