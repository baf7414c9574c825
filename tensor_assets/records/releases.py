"""Records of releases: what the index offers, what a new version changed, and which version is the accepted one."""

from __future__ import annotations

from typing import Literal

from tensor_worker.messages import Cache, Clock

from tensor_assets.records.base import Evidence, RecordBase, Status, Struct
from tensor_assets.records.measure import Comparison


class ReleaseRecord(RecordBase, frozen=True, kw_only=True, tag="release"):
    """The newest of a compiler and its companions on the package index, when it was last asked.

    The outcome is ``ok`` where the index answered, else ``unavailable`` with the reason: a skip.
    """

    accepted: dict[str, str]  # package → version: the accepted release
    newest: dict[str, str] = {}  # package → newest version on the index
    candidate: dict[str, str] = {}  # the release that can be had and is not the accepted one; empty: nothing to try
    lock: Evidence | None = None  # of the candidate
    difference: Evidence | None = None  # between its pins and the accepted ones
    remark: str = ""  # why something newer makes no candidate


class StageChange(Struct, frozen=True, kw_only=True):
    """One stage of the old and the new compiler, compared by its normalized text."""

    stage: str
    level: str
    change: Literal["same", "changed", "added", "removed"]
    old: str = ""  # SHA-256 of the native text
    new: str = ""
    difference: Evidence | None = None  # unified diff of the normalized texts
    removed: int = 0  # lines
    added: int = 0
    remark: str = ""  # why there is no difference to read


class LaunchChange(Struct, frozen=True, kw_only=True):
    """One place of the plan where the old and the new one differ; empty text where one of them ends before."""

    position: int  # in launch order, from 0
    old: str
    new: str


class SpeedChange(Struct, frozen=True, kw_only=True):
    """New against old on one axis of their session. The ratio and its interval are new over old."""

    clock: Clock
    cache: Cache
    data: str
    # Where the code is the same: "noise"; by the host's clock "runtime", since it reads what is around the code too.
    verdict: Literal["faster", "slower", "same", "uncertain", "insufficient", "noise", "runtime"]
    comparison: Comparison | None = None
    noise: float | None = None  # A/A: standard deviation of log process medians in this session
    old_ns: float | None = None
    new_ns: float | None = None


class CellChange(Struct, frozen=True, kw_only=True):
    """The joint verdict on one configuration: did its code change, did its numbers, did its speed."""

    workload: str
    shape: str
    variant: str
    target: str
    old: str  # record id of its capture
    new: str
    old_status: Status
    new_status: Status
    code: Literal["same", "text", "changed", "unknown"]  # text: stages read differently, the selected code is the same
    numbers: Literal["same", "broken", "mended", "changed", "not judged"]
    speed: Literal["faster", "slower", "same", "uncertain", "noise", "runtime", "not timed"]
    stages: tuple[StageChange, ...] = ()
    launches: tuple[LaunchChange, ...] = ()
    speeds: tuple[SpeedChange, ...] = ()
    session: str = ""  # record id
    reason: str = ""  # what broke, where the new one ended otherwise than the old
    old_reason: str = ""  # what ails the old one, where it has nothing to compare with

    @property
    def broken(self) -> bool:
        """Whether the new one fails where the old one did not."""
        return self.numbers == "broken" or (self.old_status == "ok" and self.new_status != "ok")


class TrialRecord(RecordBase, frozen=True, kw_only=True, tag="trial"):
    """A candidate beside the accepted release: captured, judged, and timed in the same sessions.

    The outcome is that of the candidate: ``ok``, or what befell it.
    """

    previous: dict[str, str]  # package → version: the accepted release it was tried against
    candidate: dict[str, str]
    accepted_lock: Evidence
    lock: Evidence | None = None  # of the candidate; None where it could not be resolved or is a file of somebody's
    difference: Evidence | None = None
    environments: tuple[str, str] = ("", "")  # hashes: accepted, candidate
    cells: tuple[CellChange, ...] = ()
    purpose: Literal["release", "compare"] = "release"


class DecisionRecord(RecordBase, frozen=True, kw_only=True, tag="decision"):
    """Accepted or held: what was decided of one lock of a compiler, by the rule or by a person."""

    decision: Literal["accepted", "held"]
    release: dict[str, str]  # package → version
    lock: Evidence
    base: str  # SHA-256 of the repository's own lock then: a newer one of its authors sets the decision aside
    reason: str = ""
    by: Literal["rule", "person"] = "rule"
    trial: str = ""  # record id


class ChangesRecord(RecordBase, frozen=True, kw_only=True, tag="changes"):
    """What one release changed, as it is told: from the previous accepted one to a newly accepted or a held one."""

    previous: dict[str, str]
    release: dict[str, str]
    decision: Literal["accepted", "held"]
    headline: str  # one sentence
    reason: str = ""  # the part of it that says what changed, or why it is held
    counts: dict[str, int]  # "code changed", "numbers broken", "slower", … → configurations
    alert: bool  # whether somebody should look: something broke, or became slower with other code
    trial: str  # record ids
    decided: str
