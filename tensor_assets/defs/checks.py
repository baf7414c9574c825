"""Verdicts as asset checks: WARN for what is wrong, passed with the reason for what is not there."""

from collections.abc import Sequence

import dagster as dg

from tensor_assets.campaign.stored import Stored
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import BenchmarkRecord, CaptureRecord, Outcome
from tensor_assets.releases.accepted import decisions, release_title

WRONG = ("rejected", "crashed", "censored")


def outcome_check(name: str, captures: Sequence[Stored[CaptureRecord]]) -> dg.AssetCheckResult:
    """The outcome of the cell's default variant, which is the first captured."""
    return _check(name, captures[0].record.outcome, captures[0].record.key)


def admission_check(name: str, captures: Sequence[Stored[CaptureRecord]]) -> dg.AssetCheckResult:
    """Whether the default variant's numbers are right; variants recorded because they break the contract are told."""
    default = captures[0].record
    admission = default.admission
    result = _check(name, default.outcome, default.key)
    broken = {c.record.key.variant: c.record.admission for c in captures[1:] if c.record.admission is not None}
    return result._replace(
        metadata={
            **result.metadata,
            "verdicts": dg.MetadataValue.int(len(admission.verdicts) if admission else 0),
            "fixtures failed": dg.MetadataValue.text(_failed(default) or "none"),
            **{f"variant {v}": dg.MetadataValue.text(a.boundary or a.reason or "admitted") for v, a in broken.items()},
        }
    )


def benchmark_check(name: str, benchmarks: Sequence[Stored[BenchmarkRecord]]) -> dg.AssetCheckResult:
    """Whether the default variant has usable times."""
    return _check(name, benchmarks[0].record.outcome, benchmarks[0].record.key)


def held_check(space: Workspace, compiler: str) -> dg.AssetCheckResult:
    """Whether the newest release that was decided of this compiler is held."""
    decided = decisions(space.store, compiler)
    latest = decided[-1][1] if decided else None
    held = latest is not None and latest.decision == "held"
    said = f"{release_title(latest.release)} is {latest.decision}: {latest.reason}" if latest else "nothing was tried"
    return dg.AssetCheckResult(
        check_name="held", passed=not held, severity=dg.AssetCheckSeverity.WARN, description=said
    )


def _check(name: str, outcome: Outcome, key: object) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        check_name=name,
        passed=outcome.status not in WRONG,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status,
        metadata={
            "outcome": dg.MetadataValue.text(outcome.status),
            "key": dg.MetadataValue.text(_key_text(key)),
            **({"remedy": dg.MetadataValue.text(outcome.remedy)} if outcome.remedy else {}),
        },
    )


def _failed(record: CaptureRecord) -> str:
    verdicts = record.admission.verdicts if record.admission else ()
    return ", ".join(dict.fromkeys(v.fixture for v in verdicts if not v.passed and v.kind != "tolerance"))


def _key_text(key: object) -> str:
    fields = getattr(key, "__struct_fields__", ())
    return " · ".join(f"{field} {value}" for field in fields if (value := getattr(key, field)))
