from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from tensor_assets.errors import EvidenceDamaged, SettingsError
from tensor_assets.evidence import notes, retention
from tensor_assets.evidence.notes import Note
from tensor_assets.evidence.retention import collect_garbage, pin, pins, unpin
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle, import_bundle
from tensor_assets.evidence.verification import verify_store
from tensor_assets.records import CaptureRecord
from tensor_assets_tests.evidence.samples import NOBODY, Sample, campaign, capture_record, tree


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A campaign, then a second capture of tvm that supersedes the first, which its session still names."""
    return campaign(tmp_path / "store")


def supersede(sample: Sample) -> tuple[str, str]:
    """Two more captures of tvm: the first of them is superseded and nothing was made from it. Returns both ids."""
    ids = []
    for number in (1, 2):
        cache = sample.store.put_bytes(b"cache %d" % number, "application/zstd", "cache.zst")
        record = capture_record(sample.store, "tvm", sample.ids["fixtures"], created=f"2026-12-0{number}")
        ids.append(sample.store.put(msgspec.structs.replace(record, cache=cache)))
    return ids[0], ids[1]


def age(folder: Path, days: float = 7) -> None:
    old = time.time() - days * 24 * 3600
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (old, old))


def collect(sample: Sample, dry_run: bool = False):
    return collect_garbage(EvidenceStore(sample.store.url), dry_run=dry_run)


def test_accepted_records_and_all_they_were_made_from_stay(sample: Sample, tmp_path: Path) -> None:
    age(tmp_path / "store")
    before = tree(tmp_path / "store")
    assert collect(sample).removed == ()
    assert tree(tmp_path / "store") == before


def test_a_superseded_record_goes_with_the_evidence_that_only_it_names(sample: Sample, tmp_path: Path) -> None:
    superseded, latest = supersede(sample)
    age(tmp_path / "store")
    gone = collect(sample)
    assert len(gone.removed) == 2
    assert superseded in gone.removed[1]
    store = EvidenceStore(sample.store.url)
    assert not store.has_record(superseded)
    assert store.get(latest)
    assert store.get(sample.ids["capture tvm"]), "superseded too, but the session was made from it"
    assert verify_store(store).sound
    assert collect(sample).removed == ()


def test_a_dry_run_says_the_same_and_touches_nothing(sample: Sample, tmp_path: Path) -> None:
    supersede(sample)
    sample.store.put_bytes(b"nobody names this", "text/plain", "x")
    age(tmp_path / "store")
    before = tree(tmp_path / "store")
    told = collect(sample, dry_run=True)
    assert tree(tmp_path / "store") == before
    assert told.summary().startswith("would remove 3 files")
    assert collect(sample).removed == told.removed


def test_the_dry_run_is_what_happens_unless_asked(sample: Sample, tmp_path: Path) -> None:
    supersede(sample)
    age(tmp_path / "store")
    before = tree(tmp_path / "store")
    assert collect_garbage(sample.store).dry_run
    assert tree(tmp_path / "store") == before


def test_what_is_young_is_spared(sample: Sample, tmp_path: Path) -> None:
    supersede(sample)
    told = collect(sample)
    assert told.removed == ()
    assert len(told.young) == 1
    age(tmp_path / "store", days=0.9)
    assert collect(sample).removed == ()


def test_a_young_superseded_record_keeps_its_evidence(sample: Sample, tmp_path: Path) -> None:
    superseded, _ = supersede(sample)
    age(tmp_path / "store")
    entry = next(entry for entry in sample.store.entries() if entry.id == superseded)
    os.utime(tmp_path / "store" / entry.path)
    assert collect(sample).removed == ()
    assert verify_store(sample.store).sound


def test_a_pin_keeps_records_and_files_that_something_published_links_to(sample: Sample, tmp_path: Path) -> None:
    superseded, _ = supersede(sample)
    loose = sample.store.put_bytes(b"a figure's data", "text/csv", "x.csv")
    pin(sample.store, "site-2026-12", (superseded, loose.sha256))
    age(tmp_path / "store")
    assert collect(sample).removed == ()
    assert pins(sample.store) == {"site-2026-12": 2}
    unpin(sample.store, "site-2026-12")
    assert len(collect(sample).removed) == 3


def test_a_pin_that_comes_while_a_collection_looks_is_kept(sample: Sample, tmp_path: Path, monkeypatch) -> None:
    superseded, _ = supersede(sample)
    age(tmp_path / "store")
    accepted = retention._accepted

    def look_and_be_overtaken(store: EvidenceStore) -> set[str]:
        found = accepted(store)
        pin(sample.store, "late", (superseded,))
        return found

    monkeypatch.setattr(retention, "_accepted", look_and_be_overtaken)
    assert collect(sample).removed == ()
    assert verify_store(sample.store).sound


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 200, "a\n"])
def test_a_pin_has_a_plain_name(sample: Sample, name: str) -> None:
    with pytest.raises(SettingsError, match="a pin is named by"):
        pin(sample.store, name, ())


def test_leftovers_of_interrupted_writers_go_once_they_are_old(sample: Sample, tmp_path: Path) -> None:
    leftover = tmp_path / "store" / "staging" / "1-ab"
    leftover.write_bytes(b"half")
    assert collect(sample).removed == ()
    age(tmp_path / "store")
    assert collect(sample).removed == ("staging/1-ab",)


def test_files_that_no_store_makes_are_left_alone(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "store" / "README").write_text("mine")
    (tmp_path / "store" / "records" / "mine.txt").write_text("mine")
    age(tmp_path / "store")
    collect(sample)
    assert (tmp_path / "store" / "README").exists()
    assert (tmp_path / "store" / "records" / "mine.txt").exists()


def test_files_from_the_future_are_kept(sample: Sample, tmp_path: Path, tally) -> None:
    """The clock was set back: what was written before it looks as if it were yet to come."""
    supersede(sample)
    age(tmp_path / "store", days=-400)
    tally("clock set back: latest record, collection", 1, int(collect(sample).removed == ()))


def test_nothing_goes_while_a_record_cannot_be_read(sample: Sample, tmp_path: Path) -> None:
    supersede(sample)
    age(tmp_path / "store")
    entry = next(sample.store.entries("session"))
    (tmp_path / "store" / entry.path).write_bytes(b"{}")
    age(tmp_path / "store")
    before = tree(tmp_path / "store")
    with pytest.raises(EvidenceDamaged):
        collect(sample)
    assert tree(tmp_path / "store") == before


def interrupted_import(sample: Sample, tmp_path: Path) -> EvidenceStore:
    """A store in which an import was killed after its last record, before it brought them into sight."""
    export_bundle(sample.store, tmp_path / "b.bundle")
    store = EvidenceStore(tmp_path / "into", NOBODY)
    import_bundle(store, tmp_path / "b.bundle")
    hidden = tuple(sorted(entry.id for entry in store.entries()))
    notes.write(store.files, "importing", Note(name="", hide=hidden))
    return EvidenceStore(tmp_path / "into", NOBODY)


def test_an_interrupted_import_goes_as_a_whole(sample: Sample, tmp_path: Path) -> None:
    store = interrupted_import(sample, tmp_path)
    age(tmp_path / "into")
    told = collect_garbage(store, dry_run=True)
    assert collect_garbage(store, dry_run=False).removed == told.removed
    assert list(EvidenceStore(tmp_path / "into").entries()) == []
    assert [path for path in tree(tmp_path / "into") if path.startswith(("records/", "objects/", "importing/"))] == []


def test_an_interrupted_import_is_hidden_as_long_as_any_of_its_records_is_there(sample: Sample, tmp_path: Path) -> None:
    store = interrupted_import(sample, tmp_path)
    age(tmp_path / "into")
    (session,) = store.entries("session", hidden=True)
    os.utime(tmp_path / "into" / session.path)
    collect_garbage(store, dry_run=False)
    again = EvidenceStore(tmp_path / "into")
    assert list(again.entries()) == []
    assert [entry.id for entry in again.entries(hidden=True) if entry.kind == "session"] == [session.id]
    assert verify_store(again).sound
    import_bundle(again, tmp_path / "b.bundle")
    assert verify_store(again).findings == ()


def test_a_grace_that_protects_nobody_is_refused(sample: Sample) -> None:
    with pytest.raises(SettingsError, match="is no protection"):
        collect_garbage(sample.store, dry_run=False, grace_seconds=1)


def test_a_writer_who_names_old_evidence_again_keeps_it(sample: Sample, tmp_path: Path) -> None:
    """Between the collection's look and its removal."""
    loose = sample.store.put_bytes(b"found again", "text/plain", "x.log")
    age(tmp_path / "store")
    record = sample.store.get(sample.ids["capture tvm"])
    assert isinstance(record, CaptureRecord)
    sample.store.put(msgspec.structs.replace(record, cache=loose))
    assert collect(sample).removed == ()
    assert verify_store(sample.store).sound
