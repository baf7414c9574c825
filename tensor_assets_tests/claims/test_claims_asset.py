"""The asset ``claims`` in a real Dagster instance: each claim a check of its own, verdicts in the store."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import msgspec
import pytest

from tensor_assets.campaign.claims import judge_claims
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.claims.claim import Claim, check_name
from tensor_assets.claims.reading import load_claims
from tensor_assets.defs.claims import ASSETS, claims_asset
from tensor_assets.defs.resources import WorkspaceResource
from tensor_assets.records import ClaimRecord
from tensor_assets.settings import ROOT, load_settings
from tensor_assets_tests.claims.recorded import claim, put


def planted() -> list[Claim]:
    """One that is right, one that is wrong, one about a device that is not there."""
    return [
        claim(),
        msgspec.structs.replace(claim(expected=[[16, 8, 1]]), id="planted-wrong"),
        msgspec.structs.replace(claim(device="NVIDIA H100*"), id="planted-elsewhere"),
    ]


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(msgspec.structs.replace(load_settings(), store=str(tmp_path / "store")))


@pytest.mark.instance
def test_each_claim_is_a_check_and_a_wrong_one_warns(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSOR_ASSETS_STORE", space.settings.store)
    put(space.store)
    with dg.instance_for_test() as instance:
        resources = {"workspace": WorkspaceResource()}
        result = dg.materialize([claims_asset(planted())], instance=instance, resources=resources)
        checks = {check.check_name: check for check in result.get_asset_check_evaluations()}
        (made,) = result.asset_materializations_for_node("claims")
    assert result.success
    assert {name: check.passed for name, check in checks.items()} == {
        "plan_toy": True,
        "planted_wrong": False,
        "planted_elsewhere": True,
    }
    wrong = checks["planted_wrong"]
    assert wrong.severity is dg.AssetCheckSeverity.WARN
    assert wrong.description == (
        "differs: bias × tinygrad at matrix: expected [[16, 8, 1]], seen [[8, 16, 1]] on NVIDIA H200"
    )
    assert wrong.metadata["since"].value == "in every version seen, the first 0.14.0"
    seen = checks["planted_elsewhere"].metadata["seen"].value
    assert seen == "nearest: [[8, 16, 1]] (tinygrad 0.14.0, NVIDIA H200)"
    assert {name: made.metadata[name].value for name in ("holds", "differs", "not measured")} == {
        "holds": 1,
        "differs": 1,
        "not measured": 1,
    }
    assert {r.claim: r.verdict for _, r in space.store.records(ClaimRecord)}["planted-wrong"] == "differs"


def test_judged_again_nothing_new_is_filed_until_something_changed(space: Workspace) -> None:
    put(space.store)
    assert [stored.reused for stored in judge_claims(space, planted())] == [False] * 3
    assert [stored.reused for stored in judge_claims(space, planted())] == [True] * 3
    put(space.store, version="0.15.0", grid=(1, 1, 1))
    again = judge_claims(space, planted())
    assert not any(stored.reused for stored in again)
    assert (again[0].record.since, again[0].record.held) == ("0.15.0", "0.14.0")


def test_every_claim_that_ships_is_a_check_of_the_asset() -> None:
    shipped = {check_name(name) for name in load_claims([ROOT / "fixtures" / "claims"])}
    (asset,) = ASSETS
    assert {spec.name for spec in asset.check_specs} >= shipped
