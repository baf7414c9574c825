"""Records of what a compiler made of a program, and whether it is right."""

from __future__ import annotations

from typing import Literal

from tensor_worker.artifacts import Capture, Plan

from tensor_assets.records.base import Evidence, Outcome, RecordBase, Struct
from tensor_assets.records.measure import Allocation


class Verdict(Struct, frozen=True, kw_only=True):
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


class Admission(Struct, frozen=True, kw_only=True):
    """``admitted`` follows the exact and form verdicts, and the interval where a fixture is not exact."""

    admitted: bool | None  # None: not run on this target
    verdicts: tuple[Verdict, ...] = ()
    boundary: str = ""  # "projection not rounded", "product rounded", … when rejected and recognized
    boundary_share: float | None = None  # share of the mismatching tile that this violation's reference explains
    reason: str = ""


class StageFile(Struct, frozen=True, kw_only=True):
    """A captured stage with its native text in the store; ``stage`` matches the capture's stage of that name."""

    stage: str
    text: Evidence
    fingerprint: str = ""  # of the normalized text, or of what is compared in its place
    compared: Evidence | None = None  # in its place beside another capture's, as the capture's stage says


class Alternative(Struct, frozen=True, kw_only=True):
    """A candidate that a search measured and did not choose, built again and judged on the exact fixtures."""

    candidate: str  # its name in the capture's search
    outcome: Outcome
    fingerprint: str = ""
    distinct: bool = False  # code or geometry of its own, beside the chosen one and the alternatives before it
    fixtures: tuple[str, ...] = ()  # it was judged on


class CaptureRecord(RecordBase, frozen=True, kw_only=True, tag="capture"):
    """One variant of one cell: what the compiler made of the program, and whether it is right."""

    capture: Capture | None = None
    stages: tuple[StageFile, ...] = ()
    plan: Plan | None = None
    fingerprint: str = ""
    admission: Admission | None = None
    alternatives: tuple[Alternative, ...] = ()  # of a search whose compiler can build them again
    phases: dict[str, float] = {}  # compile seconds by phase
    first_execution_seconds: float | None = None
    device: str = ""
    allocation: Allocation | None = None  # on a real or simulated device: which one, and under whose lease
    version: str = ""  # of the compiler
    cache: Evidence | None = None  # snapshot of the compiler's caches after capture (private)
