"""Releases as Dagster metadata."""

from collections.abc import Mapping

import dagster as dg

from tensor_assets.campaign.stored import Stored
from tensor_assets.defs.metadata import Metadata, framed, table
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import ChangesRecord, DecisionRecord, ReleaseRecord
from tensor_assets.releases.accepted import decision_on, release_title
from tensor_assets.releases.running import Proposal, Tried


def news_metadata(stored: Stored[ReleaseRecord], store: EvidenceStore) -> Metadata:
    """``store`` says what was decided of the candidate, where it was."""
    record = stored.record
    decided = decision_on(store, record.key.compiler, record.candidate) if record.candidate else None
    rows = [
        dg.TableRecord({"package": package, "accepted": version, "newest": record.newest.get(package, "–")})
        for package, version in record.accepted.items()
    ]
    told = {
        "candidate": dg.MetadataValue.text(release_title(record.candidate) if record.candidate else "none"),
        **({"decided": dg.MetadataValue.text(_decision(decided[1]))} if decided else {}),
        **({"packages": table(rows)} if rows else {}),
        **({"remark": dg.MetadataValue.text(record.remark)} if record.remark else {}),
    }
    return framed(stored.id, record.key, record.outcome, stored.reused, told)


def trial_metadata(done: Tried) -> Metadata:
    record = done.trial.record
    rows = [
        dg.TableRecord(
            {
                "workload": cell.workload,
                "variant": cell.variant,
                "outcome": f"{cell.old_status} → {cell.new_status}",
                "code": cell.code,
                "numbers": cell.numbers,
                "speed": cell.speed,
                "stages that differ": ", ".join(s.stage for s in cell.stages if s.change != "same"),
            }
        )
        for cell in record.cells
    ]
    told = {
        "release": dg.MetadataValue.text(release_title(record.candidate)),
        "after": dg.MetadataValue.text(release_title(record.previous)),
        "decision": dg.MetadataValue.text(done.decision.record.decision if done.decision else "not decided"),
        **({"joint verdicts": table(rows)} if rows else {}),
    }
    return framed(done.trial.id, record.key, record.outcome, done.trial.reused, told)


def proposal_metadata(proposal: Proposal, accepted: Mapping[str, str]) -> Metadata:
    """Of a trial that did not run."""
    return {
        "nothing to try": dg.MetadataValue.text(proposal.why),
        "accepted": dg.MetadataValue.text(release_title(accepted)),
    }


def changes_metadata(store: EvidenceStore) -> Metadata:
    told = sorted(store.records(ChangesRecord), key=lambda pair: pair[1].provenance.created, reverse=True)
    rows = [
        dg.TableRecord(
            {
                "release": f"{record.key.compiler} {release_title(record.release)} on {record.key.target}",
                "decision": f"{record.decision} {record.provenance.created[:10]}",
                "what changed": record.reason,
                "record": record_id[:12],
            }
        )
        for record_id, record in told
    ]
    return {"releases": dg.MetadataValue.int(len(rows)), **({"changes": table(rows)} if rows else {})}


def _decision(decision: DecisionRecord) -> str:
    return f"{decision.decision}: {decision.reason}" if decision.reason else decision.decision
