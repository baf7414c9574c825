"""Damage of every kind to every kind of file: each is found, and named."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import msgspec
import pytest

from tensor_assets.errors import EvidenceDamaged
from tensor_assets.evidence import notes
from tensor_assets.evidence.facts import broken_facts
from tensor_assets.evidence.key import canonical, record_id
from tensor_assets.evidence.notes import Note
from tensor_assets.evidence.retention import pin
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.verification import Report, verify, verify_store
from tensor_assets.records import BenchmarkRecord, CaptureRecord, FixtureRecord, SessionRecord
from tensor_assets_tests.evidence.samples import ALLOCATION, NOBODY, Sample, campaign


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A campaign with one file of every kind that a store has."""
    sample = campaign(tmp_path / "store")
    pin(sample.store, "site-1", tuple(sample.ids.values()))
    notes.write(sample.store.files, "omitted", Note(name="b", omitted={"0" * 64: "private"}))
    return sample


def kinds_of_file(folder: Path) -> dict[str, Path]:
    """One file of each kind: plain and compressed object, record, both notes, marker."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        "plain evidence": next(p for p in files if "objects" in p.parts and not p.suffix and p.stat().st_size < 2000),
        "compressed evidence": next(p for p in files if p.suffix == ".zst"),
        "record": next(p for p in files if "environment" in p.parts),
        "pin": next(p for p in files if "pins" in p.parts),
        "omission": next(p for p in files if "omitted" in p.parts),
        "store marker": folder / "store.json",
    }


def named(report: Report, folder: Path, path: Path) -> bool:
    return any(f.failed and f.path == str(path.relative_to(folder)) for f in report.findings)


@pytest.mark.parametrize("kind", ["plain evidence", "compressed evidence", "record", "pin", "omission", "store marker"])
def test_one_flipped_bit_anywhere_is_found_and_named(sample: Sample, tmp_path: Path, kind: str, tally) -> None:
    folder = tmp_path / "store"
    path = kinds_of_file(folder)[kind]
    whole, chance = path.read_bytes(), random.Random(kind)
    positions = (
        range(len(whole)) if len(whole) <= 64 else sorted(chance.sample(range(len(whole)), 48) + list(range(16)))
    )
    caught = 0
    for position in positions:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        report = verify_store(sample.store)
        caught += named(report, folder, path) and report.exit_code == 1
    path.write_bytes(whole)
    assert verify_store(sample.store).sound
    tally(f"one flipped bit: {kind}", len(positions), caught)


@pytest.mark.parametrize("kind", ["plain evidence", "compressed evidence", "record", "pin", "omission", "store marker"])
def test_a_file_cut_short_or_grown_is_found_and_named(sample: Sample, tmp_path: Path, kind: str, tally) -> None:
    folder = tmp_path / "store"
    path = kinds_of_file(folder)[kind]
    whole = path.read_bytes()
    forms = [b"", whole[:1], whole[: len(whole) // 2], whole[:-1], whole + b"\0", whole + whole]
    caught = 0
    for form in forms:
        path.write_bytes(form)
        caught += named(verify_store(sample.store), folder, path)
    tally(f"truncated or grown: {kind}", len(forms), caught)


def test_swapped_files_are_both_found(sample: Sample, tmp_path: Path, tally) -> None:
    folder = tmp_path / "store"
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    groups = [
        [p for p in files if p.suffix == ".zst"],
        [p for p in files if "objects" in p.parts and not p.suffix],
        [p for p in files if "records" in p.parts],
    ]
    caught = tried = 0
    for first, second, *_ in groups:
        content = first.read_bytes(), second.read_bytes()
        first.write_bytes(content[1])
        second.write_bytes(content[0])
        report = verify_store(sample.store)
        tried, caught = tried + 2, caught + named(report, folder, first) + named(report, folder, second)
        first.write_bytes(content[0])
        second.write_bytes(content[1])
    tally("swapped files", tried, caught)


def test_a_file_that_is_gone_is_found_and_named_by_who_needs_it(sample: Sample, tmp_path: Path, tally) -> None:
    folder = tmp_path / "store"
    objects = [path for path in sorted((folder / "objects").rglob("*")) if path.is_file()]
    parents = [p for p in sorted((folder / "records").rglob("*.json")) if "benchmark" not in p.parts]
    caught = 0
    for path in [*objects, *parents]:
        path.rename(tmp_path / "away")
        found = verify_store(EvidenceStore(folder, identity=NOBODY)).findings
        caught += any(finding.kind == "missing" and "names" in finding.message for finding in found)
        (tmp_path / "away").rename(path)
    tally("removed files", len(objects) + len(parents), caught)


def test_files_of_no_kind_and_leftovers_are_told_apart(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    (folder / "records" / "notes.txt").write_text("hello")
    assert [f.kind for f in verify_store(sample.store).findings] == ["foreign"]
    (folder / "records" / "notes.txt").unlink()
    (folder / "staging" / "1-abc").write_text("half a fi")
    sample.store.put_bytes(b"nobody names this", "text/plain", "x")
    report = verify_store(sample.store)
    assert report.sound
    assert [f.kind for f in report.findings] == ["leftover", "orphaned"]


# Forgeries: the forger hashes what he wrote, so names fit; what it says must still agree with everything else.


def forge(sample: Sample, name: str, **changes: object) -> str:
    """Replace a record in place by a changed one under its own, right hash; returns the new id."""
    store = sample.store
    entry = next(entry for entry in store.entries() if entry.id == sample.ids[name])
    record = msgspec.structs.replace(store.load(entry), **changes)
    store.files.remove(entry.path)
    data = canonical(record)
    store.file(data, record, entry.sequence)
    return record_id(record)


def forged_fixture(sample: Sample) -> dict[str, object]:
    record = sample.store.get(sample.ids["fixtures"])
    assert isinstance(record, FixtureRecord)
    fixture = record.fixtures[0]
    return {"fixtures": (msgspec.structs.replace(fixture, hashes={**fixture.hashes, "a": "0" * 64}),)}


def forged_admission(sample: Sample) -> dict[str, object]:
    record = sample.store.get(sample.ids["capture tvm"])
    assert isinstance(record, CaptureRecord)
    assert record.admission is not None
    verdict = msgspec.structs.replace(record.admission.verdicts[0], mismatches=77)
    return {"admission": msgspec.structs.replace(record.admission, verdicts=(verdict,))}


def faster(sample: Sample) -> dict[str, object]:
    record = sample.store.get(sample.ids["benchmark tvm"])
    assert isinstance(record, BenchmarkRecord)
    (timing,) = record.timings
    series = msgspec.structs.replace(timing.series[0], median_ns=1.0)
    return {"timings": (msgspec.structs.replace(timing, series=(series,), median_ns=1.0),)}


def more_samples(sample: Sample) -> dict[str, object]:
    record = sample.store.get(sample.ids["benchmark tvm"])
    assert isinstance(record, BenchmarkRecord)
    (timing,) = record.timings
    series = msgspec.structs.replace(timing.series[0], samples=16)
    return {"timings": (msgspec.structs.replace(timing, series=(series,)),)}


def other_device(sample: Sample) -> dict[str, object]:
    return {"allocation": msgspec.structs.replace(ALLOCATION, device_uuid="GPU-99999999-2222-3333-4444-555555555555")}


def renamed_device(sample: Sample) -> dict[str, object]:
    return {"allocation": msgspec.structs.replace(ALLOCATION, device="NVIDIA H100 80GB HBM3")}


def missing_block_owner(sample: Sample) -> dict[str, object]:
    session = sample.store.get(sample.ids["session"])
    assert isinstance(session, SessionRecord)
    return {"processes": session.processes[:1]}


FORGERIES = {
    "a fixture's hash": ("fixtures", forged_fixture),
    "an admission": ("capture tvm", forged_admission),
    "a median": ("benchmark tvm", faster),
    "a number of samples": ("benchmark tvm", more_samples),
    "a benchmark's device": ("benchmark tvm", other_device),
    "a session's device": ("session", renamed_device),
    "a session's processes": ("session", missing_block_owner),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_record_is_found_though_its_hash_fits(sample: Sample, what: str, tally) -> None:
    name, change = FORGERIES[what]
    before = verify_store(sample.store).root
    forge(sample, name, **change(sample))
    report = verify_store(EvidenceStore(sample.store.url, identity=NOBODY))
    found = {finding.kind for finding in report.findings if finding.failed}
    tally(f"forged manifest: {what}", 1, int(bool(found & {"inconsistent", "missing"}) and report.root != before))


def test_blocks_without_an_invocation_are_told_of_and_no_summary_divides_by_them(sample: Sample) -> None:
    session, benchmark = (sample.store.get(sample.ids[name]) for name in ("session", "benchmark tvm"))
    assert isinstance(session, SessionRecord)
    empty = tuple(msgspec.structs.replace(block, invocations=0) for block in session.blocks)
    forged = msgspec.structs.replace(session, blocks=empty)
    assert any("have no invocation" in said for said in broken_facts(forged, sample.store.read, lambda _: None))
    assert any("the session has 0" in said for said in broken_facts(benchmark, sample.store.read, lambda _: forged))


def test_a_record_filed_under_another_key_is_found(sample: Sample, tmp_path: Path, tally) -> None:
    entry = next(entry for entry in sample.store.entries("capture"))
    other = entry._replace(key_digest="ab" * 32)
    target = tmp_path / "store" / other.path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(tmp_path / "store" / entry.path, target)
    kinds = {finding.kind for finding in verify_store(sample.store).findings}
    tally("forged manifest: filed under another key", 1, int("misfiled" in kinds))


def test_a_renumbered_or_removed_record_shows_in_the_root(sample: Sample, tmp_path: Path) -> None:
    """What nothing refers to can be taken away without a trace inside the store; a root kept elsewhere shows it."""
    before = verify_store(sample.store).root
    entry = next(entry for entry in sample.store.entries("benchmark"))
    path = tmp_path / "store" / entry.path
    path.rename(tmp_path / "store" / entry._replace(sequence=9).path)
    renumbered = verify_store(sample.store)
    assert renumbered.sound
    (tmp_path / "store" / entry._replace(sequence=9).path).unlink()
    removed = verify_store(sample.store)
    assert len({before, renumbered.root, removed.root}) == 3


def test_a_newer_schema_is_refused_with_what_to_do(sample: Sample) -> None:
    record = sample.store.get(sample.ids["environment tvm"])
    data = canonical(record).replace(b'"schema":1', b'"schema":99')
    entry = sample.store.file(data, record)
    with pytest.raises(Exception, match="schema 99; this version reads up to 1: update tensor_assets"):
        sample.store.get(entry.id)
    assert {f.kind for f in verify_store(sample.store).findings} == {"refused"}


def test_a_damaged_pin_stops_a_collection(sample: Sample, tmp_path: Path) -> None:
    from tensor_assets.evidence.retention import collect_garbage

    path = kinds_of_file(tmp_path / "store")["pin"]
    path.write_bytes(path.read_bytes().replace(b"site-1", b"site-2"))
    with pytest.raises(EvidenceDamaged):
        collect_garbage(sample.store, dry_run=False)


def test_the_summary_is_one_line_with_the_verdict(sample: Sample, tmp_path: Path) -> None:
    assert verify(tmp_path / "store").summary().endswith("8 records: sound")
    kinds_of_file(tmp_path / "store")["record"].write_bytes(b"{}")
    report = verify(tmp_path / "store")
    assert "DAMAGED; " in report.summary()
    assert report.exit_code == 1
