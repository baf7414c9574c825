"""Bundles written by every schema version there has been, kept as they were, are still read."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tensor_assets.errors import RecordRefused
from tensor_assets.evidence import schema
from tensor_assets.evidence.key import canonical
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import import_bundle
from tensor_assets.evidence.verification import verify, verify_store
from tensor_assets.records import SCHEMA, BenchmarkRecord, CaptureRecord, SessionRecord
from tensor_assets_tests.evidence.samples import environment_record

KEPT = sorted((Path(__file__).parent / "bundles").glob("schema-*.tar"))


def test_there_is_a_kept_bundle_of_every_version() -> None:
    assert [path.name for path in KEPT] == [f"schema-{version}.tar" for version in range(1, SCHEMA + 1)]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_bundle_is_read(path: Path, tmp_path: Path) -> None:
    assert verify(path).sound
    store = EvidenceStore(tmp_path / "store")
    assert import_bundle(store, path).records == 8
    assert verify_store(store).sound
    ((_, session),) = store.records(SessionRecord)
    assert len(session.blocks) == 30
    medians = {record.key.compiler: record.timings[0].median_ns for _, record in store.records(BenchmarkRecord)}
    assert medians == {"eager": 6000.0, "tvm": 5000.0 + 37 * 14}  # the eighth of the fifteen samples of each
    captures = [record for _, record in store.records(CaptureRecord)]
    assert all(b"arith.addf" in PublicView(store).read(capture.stages[0].text) for capture in captures)


def test_an_older_record_is_brought_up_to_the_present_schema(monkeypatch) -> None:
    """As the next change of schema will do it: one function for each version left behind."""
    old = msgspec.json.decode(canonical(environment_record("tvm")))
    old["schema"] = SCHEMA
    old["interpreter"] = old.pop("python")
    monkeypatch.setattr(schema, "SCHEMA", SCHEMA + 1)
    monkeypatch.setitem(schema.UPGRADES, SCHEMA, lambda raw: {**raw, "python": raw["interpreter"]})
    record = schema.decode(msgspec.json.encode(old))
    assert record.python == "3.11.7"  # type: ignore[union-attr]
    assert record.schema == SCHEMA + 1


@pytest.mark.parametrize("version", [0, -1, SCHEMA + 1])
def test_a_version_that_never_was_or_is_to_come_is_refused(version: int) -> None:
    record = msgspec.json.decode(canonical(environment_record("tvm"))) | {"schema": version}
    with pytest.raises(RecordRefused, match=rf"record of schema {version}"):
        schema.decode(msgspec.json.encode(record))
