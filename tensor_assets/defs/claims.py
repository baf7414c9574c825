"""Group ``report``: the article's claims, each an asset check on one asset."""

from collections.abc import Iterable

import dagster as dg

from tensor_assets.campaign.stored import Stored
from tensor_assets.claims.claim import Claim, check_name
from tensor_assets.claims.judging import State, since_in_words
from tensor_assets.claims.reading import load_claims
from tensor_assets.claims.showing import shortened
from tensor_assets.defs.report import results
from tensor_assets.defs.resources import WorkspaceResource
from tensor_assets.records import ClaimRecord
from tensor_assets.settings import load_settings

BECAUSE = 110  # characters: two lines of the table
VERDICTS: tuple[State, ...] = ("differs", "not measured", "holds")  # what somebody should look at comes first


def claims_asset(defined: Iterable[Claim]) -> dg.AssetsDefinition:
    """The asset that judges ``defined``. A claim that is added later is judged once the code location is reloaded."""
    known = tuple(defined)

    @dg.asset(
        group_name="report",
        kinds={"yaml"},
        deps=[results],
        check_specs=[
            dg.AssetCheckSpec(check_name(claim.id), asset="claims", description=" ".join(claim.statement.split()))
            for claim in known
        ],
    )
    def claims(workspace: WorkspaceResource) -> dg.MaterializeResult:
        """Every sentence of the article that states a fact: holds, differs, or not measured, with what was seen."""
        from tensor_assets.campaign.claims import judge_claims

        judged = judge_claims(workspace.open(), known)
        return dg.MaterializeResult(metadata=_metadata(judged), check_results=[_check(stored) for stored in judged])

    return claims


def _metadata(judged: list[Stored[ClaimRecord]]) -> dict[str, dg.MetadataValue]:
    verdicts = [stored.record.verdict for stored in judged]
    by_verdict = sorted((stored.record for stored in judged), key=lambda record: VERDICTS.index(record.verdict))
    rows = [
        dg.TableRecord({"verdict": record.verdict, "claim": record.claim, "because": _because(record)})
        for record in by_verdict
    ]
    return {
        **{verdict: dg.MetadataValue.int(verdicts.count(verdict)) for verdict in VERDICTS},
        **({"claims": dg.MetadataValue.table(rows)} if rows else {}),
    }


def _because(record: ClaimRecord) -> str:
    """In a few words; the claim's own check has the statement and everything that was seen."""
    parts = (record.why, _since(record)) if record.why else (_seen(record),)
    return shortened("; ".join(part for part in parts if part), BECAUSE)


def _check(stored: Stored[ClaimRecord]) -> dg.AssetCheckResult:
    record = stored.record
    return dg.AssetCheckResult(
        check_name=check_name(record.claim),
        passed=record.verdict != "differs",
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{record.verdict}: {record.why}" if record.why else record.verdict,
        metadata={
            "verdict": dg.MetadataValue.text(record.verdict),
            "statement": dg.MetadataValue.text(record.statement),
            "seen": dg.MetadataValue.text(_seen(record) or "nothing in its scope"),
            **({"since": dg.MetadataValue.text(_since(record))} if record.since else {}),
            "record": dg.MetadataValue.text(f"sha256:{stored.id}"),
        },
    )


def _since(record: ClaimRecord) -> str:
    return since_in_words(record.since, record.held) if record.since else ""


def _seen(record: ClaimRecord) -> str:
    observed = record.seen or record.nearest
    told = [f"{o.value} ({o.compiler} {o.version}, {o.device})" for o in observed[:3]]
    return ("" if record.seen or not told else "nearest: ") + "; ".join(told)


ASSETS = [claims_asset(load_claims(load_settings().claims).values())]
