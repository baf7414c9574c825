"""The records: what the store keeps and everything downstream reads. One schema, versioned.

A record is immutable. It is filed under its key; large things (native text, arrays, samples) are evidence that it
names by SHA-256.
"""

from tensor_assets.records.base import SCHEMA, STATUSES, Evidence, Key, Outcome, Provenance, Status
from tensor_assets.records.claims import ClaimRecord, Observed
from tensor_assets.records.egraph import EGraphRecord
from tensor_assets.records.history import AlertRecord, Beside, NoticeRecord
from tensor_assets.records.measure import (
    Allocation,
    BenchmarkRecord,
    Block,
    Comparison,
    DeviceState,
    Process,
    Series,
    SessionRecord,
    Timing,
)
from tensor_assets.records.prepare import Bound, EnvironmentRecord, Fixture, FixtureRecord
from tensor_assets.records.profile import CampaignRecord, EffortRecord, KernelProfile, Phase, ProfileRecord, Roof, Trial
from tensor_assets.records.releases import (
    CellChange,
    ChangesRecord,
    DecisionRecord,
    LaunchChange,
    ReleaseRecord,
    SpeedChange,
    StageChange,
    TrialRecord,
)
from tensor_assets.records.repro import BisectRecord, Probe, ReproRecord
from tensor_assets.records.understand import Admission, Alternative, CaptureRecord, StageFile, Verdict

Record = (
    FixtureRecord
    | EnvironmentRecord
    | CaptureRecord
    | SessionRecord
    | BenchmarkRecord
    | ProfileRecord
    | EffortRecord
    | CampaignRecord
    | ReleaseRecord
    | TrialRecord
    | DecisionRecord
    | ChangesRecord
    | AlertRecord
    | NoticeRecord
    | ClaimRecord
    | ReproRecord
    | BisectRecord
    | EGraphRecord
)

__all__ = [
    "SCHEMA",
    "STATUSES",
    "Admission",
    "AlertRecord",
    "Allocation",
    "Alternative",
    "BenchmarkRecord",
    "Beside",
    "BisectRecord",
    "Block",
    "Bound",
    "CampaignRecord",
    "CaptureRecord",
    "CellChange",
    "ChangesRecord",
    "ClaimRecord",
    "Comparison",
    "DecisionRecord",
    "DeviceState",
    "EGraphRecord",
    "EffortRecord",
    "EnvironmentRecord",
    "Evidence",
    "Fixture",
    "FixtureRecord",
    "KernelProfile",
    "Key",
    "LaunchChange",
    "NoticeRecord",
    "Observed",
    "Outcome",
    "Phase",
    "Probe",
    "Process",
    "ProfileRecord",
    "Provenance",
    "Record",
    "ReleaseRecord",
    "ReproRecord",
    "Roof",
    "Series",
    "SessionRecord",
    "SpeedChange",
    "StageChange",
    "StageFile",
    "Status",
    "Timing",
    "Trial",
    "TrialRecord",
    "Verdict",
]
