"""Verdicts are filed where they change, name what they rest on, and remember versions whose captures are gone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tensor_assets.claims.history import claim_record, since, sources
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.verification import verify
from tensor_assets.records import ClaimRecord, Observed, Provenance
from tensor_assets_tests.claims.recorded import claim, empty, judged, put


def filed(store: EvidenceStore, before: ClaimRecord | None = None, **changes: object) -> ClaimRecord:
    judgement = judged(store, claim(**changes))
    record = claim_record(judgement, Provenance(created="2026-11-29", parents=sources(judgement)), before)
    store.put(record)
    return record


def test_a_verdict_record_verifies_with_the_store(tmp_path: Path) -> None:
    store = empty(tmp_path)
    capture = put(store)
    record = filed(store)
    assert record.provenance.parents == (capture,)
    assert [observed.record for observed in record.seen] == [capture]
    assert verify(store.url).sound


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        ({"verdict": "differs"}, "plan-toy differs, but everything seen is as expected"),
        ({"seen": ()}, "plan-toy holds, but nothing was seen"),
        ({"provenance": Provenance(created="2026-11-29")}, "which is not among its parents"),
    ],
)
def test_a_forged_verdict_does_not_add_up(tmp_path: Path, forged: dict[str, object], said: str) -> None:
    store = empty(tmp_path)
    put(store)
    store.put(msgspec.structs.replace(filed(store), **forged))
    assert any(said in finding.message for finding in verify(store.url).findings)


def test_since_reaches_back_to_versions_whose_captures_are_gone(tmp_path: Path) -> None:
    old = empty(tmp_path / "old")
    put(old, version="0.14.0")
    put(old, version="0.15.0", grid=(1, 1, 1))
    before = filed(old)
    new = empty(tmp_path / "new")
    put(new, version="0.16.0", grid=(2, 2, 2))
    record = filed(new, before)
    assert (record.verdict, record.since, record.held) == ("differs", "0.15.0", "0.14.0")
    assert [(o.version, o.passed) for o in record.earlier] == [("0.15.0", False), ("0.14.0", True)]


def test_a_newer_version_that_was_withdrawn_did_not_hold_before(tmp_path: Path) -> None:
    old = empty(tmp_path / "old")
    put(old, version="0.13.0")
    put(old, version="0.15.0")
    before = filed(old)
    new = empty(tmp_path / "new")
    put(new, version="0.14.0", grid=(1, 1, 1))
    record = filed(new, before)
    assert (record.verdict, record.since, record.held) == ("differs", "0.14.0", "0.13.0")
    assert [o.version for o in record.earlier] == ["0.13.0"]


def test_since_is_of_the_device_that_differs(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, version="0.13.0")
    put(store, version="0.14.0", grid=(1, 1, 1))
    put(store, target="sm_90", version="0.14.0")
    put(store, target="sm_90", version="0.15.0")
    record = filed(store)
    assert (record.verdict, record.since, record.held) == ("differs", "0.14.0", "0.13.0")
    assert [(o.device, o.version, o.passed) for o in record.seen] == [
        ("NVIDIA H200", "0.14.0", False),
        ("sm_90", "0.15.0", True),
    ]
    assert verify(store.url).sound


def test_what_another_question_saw_is_not_carried_over(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store)
    before = filed(store)
    other = empty(tmp_path / "other")
    put(other, version="0.15.0", grid=(1, 1, 1))
    assert filed(other, before, query="kernels[].grid | [0]", expected=[8, 16, 1]).earlier == ()


def observed(version: str, passed: bool, query: str = "q") -> Observed:
    return Observed(
        record="", workload="bias", shape="matrix", compiler="tinygrad", variant="default", device="cpu",
        version=version, query=query, value="", passed=passed,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "first"),
    [
        ({"1.0": False}, ("1.0", "")),
        ({"1.0": True, "1.1": False}, ("1.1", "1.0")),
        ({"1.0": False, "1.1": True, "1.2": False, "1.10": False}, ("1.2", "1.1")),
        ({"1.0": False, "1.9": False, "1.10": False}, ("1.0", "")),
    ],
)
def test_since_is_the_first_of_the_newest_in_a_row(outcomes: dict[str, bool], first: tuple[str, str]) -> None:
    newest = max(outcomes, key=lambda version: [int(part) for part in version.split(".")])
    rest = [observed(version, passed) for version, passed in outcomes.items() if version != newest]
    assert since([observed(newest, outcomes[newest])], [*rest, observed("0.1", True, "another question")]) == first
