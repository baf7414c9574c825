"""What the Dagster UI shows of a record names nobody and no place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensor_assets.campaign.stored import file
from tensor_assets.defs.checks import admission_check, outcome_check
from tensor_assets.defs.metadata import plan_metadata, semantic_metadata
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets_tests.evidence.planted import HOST, PLANTED, planted_record


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_secret_does_not_reach_dagster(tmp_path: Path, kind: str, tally) -> None:
    text, secret = PLANTED[kind]
    store = EvidenceStore(tmp_path / "store", identity=HOST)
    stored = [file(store, planted_record(store, text))]
    shown = [
        semantic_metadata(stored),
        plan_metadata(stored),
        outcome_check("outcome", stored),
        admission_check("admission", stored),
    ]
    assert "kernel " in str(shown[1]), "the plan must be shown, without the secret"
    tally("planted secrets: metadata and checks", len(shown), sum(secret not in str(each) for each in shown))
