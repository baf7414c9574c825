from __future__ import annotations

import os
import signal
import tarfile
from pathlib import Path

import msgspec
import pytest

from tensor_assets.errors import BundleRefused, EvidenceDamaged, EvidenceMissing
from tensor_assets.evidence import transfer
from tensor_assets.evidence.selection import Filters
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle, import_bundle
from tensor_assets.evidence.verification import verify, verify_store
from tensor_assets.records import CaptureRecord
from tensor_assets_tests.evidence import hostile, hostile_records
from tensor_assets_tests.evidence.hostile import Parts
from tensor_assets_tests.evidence.samples import H200, NOBODY, campaign, tree


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("honest")
    export_bundle(campaign(folder / "store").store, folder / "b.tar")
    return (folder / "b.tar").read_bytes()


@pytest.fixture(scope="module")
def used(tmp_path_factory) -> Path:
    """A store that has records of its own."""
    folder = tmp_path_factory.mktemp("used") / "store"
    campaign(folder, workload="softmax")
    return folder


def test_a_store_comes_back_from_its_bundle_file_by_file(tmp_path: Path) -> None:
    sample = campaign(tmp_path / "a")
    exported = export_bundle(sample.store, tmp_path / "b.tar")
    assert (exported.records, exported.omitted) == (8, {})
    target = EvidenceStore(tmp_path / "c", identity=NOBODY)
    imported = import_bundle(target, tmp_path / "b.tar")
    assert (imported.records, imported.evidence, imported.known) == (8, exported.evidence, 0)
    brought = {path: data for path, data in tree(tmp_path / "c").items() if not path.startswith("imported/")}
    assert brought == tree(tmp_path / "a")
    assert target.imported() == {entry.id for entry in sample.store.entries()}
    assert verify_store(target).root == verify_store(sample.store).root
    assert verify(tmp_path / "b.tar").sound


def test_importing_twice_changes_nothing(tmp_path: Path, honest: bytes) -> None:
    (tmp_path / "b.tar").write_bytes(honest)
    store = EvidenceStore(tmp_path / "c", identity=NOBODY)
    import_bundle(store, tmp_path / "b.tar")
    before = tree(tmp_path / "c")
    again = import_bundle(store, tmp_path / "b.tar")
    assert (again.records, again.evidence) == (0, 0)
    assert tree(tmp_path / "c") == before


def test_a_bundle_is_the_same_bytes_each_time_and_an_ordinary_tar_file(tmp_path: Path, honest: bytes) -> None:
    export_bundle(campaign(tmp_path / "other place").store, tmp_path / "b.tar")
    assert (tmp_path / "b.tar").read_bytes() == honest
    with tarfile.open(tmp_path / "b.tar") as archive:
        assert archive.getnames()[0] == "bundle.json"
        assert len(archive.getnames()) == 17
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_public_bundle_leaves_out_what_is_private_and_lists_it(tmp_path: Path) -> None:
    sample = campaign(tmp_path / "a")
    exported = export_bundle(sample.store, tmp_path / "b.tar", Filters(public_only=True))
    assert len(exported.omitted) == 4  # a log and a cache for each compiler
    assert all("private" in reason for reason in exported.omitted.values())
    assert sample.store.read(sample.log) not in (tmp_path / "b.tar").read_bytes()
    target = EvidenceStore(tmp_path / "c", identity=NOBODY)
    assert import_bundle(target, tmp_path / "b.tar").omitted == exported.omitted
    report = verify_store(target)
    assert report.sound
    assert len([finding for finding in report.findings if finding.kind == "omitted"]) == 4
    with pytest.raises(EvidenceMissing, match=r"its bundle came without it, worker\.log is private"):
        target.read(sample.log)
    assert export_bundle(target, tmp_path / "again.tar").omitted == exported.omitted


def test_filters_take_what_was_asked_for_and_what_it_was_made_from(tmp_path: Path) -> None:
    sample = campaign(tmp_path / "a")
    other = campaign(tmp_path / "a", workload="gemm")
    exported = export_bundle(sample.store, tmp_path / "w.tar", Filters(workloads=("gemm",)))
    assert exported.records == 8
    assert exported.omitted == {}
    export_bundle(sample.store, tmp_path / "c.tar", Filters(workloads=("gemm",), compilers=("tvm",)))
    store = EvidenceStore(tmp_path / "c", identity=NOBODY)
    omitted = import_bundle(store, tmp_path / "c.tar").omitted
    assert {record.key.compiler for _, record in store.records()} == {"", "tvm"}
    assert omitted == {other.ids["capture eager"]: "outside the filters"}
    assert verify_store(store).sound


def test_a_media_type_can_be_left_out_and_is_listed(tmp_path: Path) -> None:
    """Arrays of fixtures are made again from their seeds; their hashes stay in the record."""
    sample = campaign(tmp_path / "a")
    exported = export_bundle(sample.store, tmp_path / "b.tar", Filters(without=("application/x-npz",)))
    assert len(exported.omitted) == 2
    store = EvidenceStore(tmp_path / "c", identity=NOBODY)
    import_bundle(store, tmp_path / "b.tar")
    assert verify_store(store).sound
    export_bundle(sample.store, tmp_path / "whole.tar")
    assert import_bundle(store, tmp_path / "whole.tar").evidence == 2
    assert verify_store(store).findings == ()


def test_an_allocation_can_be_asked_for_by_id_uuid_or_device(tmp_path: Path) -> None:
    store = campaign(tmp_path / "a").store
    counts = {
        name: export_bundle(store, tmp_path / "b.tar", Filters(allocations=(name,))).records
        for name in ("a1", H200, "GPU-11111111-2222-3333-4444-555555555555", "NVIDIA H100 80GB HBM3")
    }
    assert list(counts.values()) == [8, 8, 8, 0]


def test_a_bundle_from_an_unexpected_device_is_refused(tmp_path: Path, honest: bytes) -> None:
    (tmp_path / "b.tar").write_bytes(honest)
    store = EvidenceStore(tmp_path / "c")
    with pytest.raises(BundleRefused, match=r"ran on NVIDIA H200 GPU-1111.*; expected GPU-2222"):
        import_bundle(store, tmp_path / "b.tar", devices=("GPU-2222",))
    for part in ("NVIDIA", "H200", "GPU-1", ""):
        with pytest.raises(BundleRefused, match="its records ran on"):
            import_bundle(store, tmp_path / "b.tar", devices=(part,))
    assert import_bundle(store, tmp_path / "b.tar", devices=(H200,)).records == 8


def test_damage_is_never_exported(tmp_path: Path) -> None:
    sample = campaign(tmp_path / "a")
    path = tmp_path / "a" / str(sample.store.locate(sample.stage.sha256))
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(EvidenceDamaged, match=r"legalized\.mlir"):
        export_bundle(sample.store, tmp_path / "b.tar")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("form", hostile.FORMS)
def test_a_hostile_form_is_refused_and_nothing_is_kept(tmp_path: Path, honest: bytes, used, form: str, tally) -> None:
    attack = hostile.FORMS[form](Parts(honest))
    assert attack != honest
    tally("hostile bundles: form", 1, int(_refused(tmp_path, used, attack)))


@pytest.mark.parametrize("forgery", hostile_records.FORGERIES)
def test_a_hostile_record_is_refused_and_nothing_is_kept(tmp_path: Path, used, forgery: str, tally) -> None:
    attack = hostile_records.forged(tmp_path, hostile_records.FORGERIES[forgery])
    tally("hostile bundles: records", 1, int(_refused(tmp_path, used, attack)))


@pytest.mark.parametrize("attack", [hostile_records.without_omissions, hostile_records.with_a_stowaway])
def test_what_is_missing_or_hidden_is_refused(tmp_path: Path, used, attack, tally) -> None:
    tally("hostile bundles: records", 1, int(_refused(tmp_path, used, attack(tmp_path))))


def _refused(folder: Path, used: Path, attack: bytes) -> bool:
    """By a store that has records, by one that does not exist yet, and by verify; each says so in one line."""
    (folder / "attack.tar").write_bytes(attack)
    before = tree(used)
    for store in (used, folder / "fresh"):
        with pytest.raises(BundleRefused, match=r"^bundle .*attack\.tar: .*; nothing was imported$") as refusal:
            import_bundle(EvidenceStore(store), folder / "attack.tar")
        assert str(refusal.value).isprintable()
    report = verify(folder / "attack.tar")
    return tree(used) == before and not (folder / "fresh").exists() and report.exit_code == 1


def test_an_honest_bundle_put_together_again_is_taken(tmp_path: Path, honest: bytes) -> None:
    """Else the attacks above would be refused for how they were built."""
    assert Parts(honest).build() == honest


@pytest.mark.parametrize("path", ["missing.tar", "."])
def test_a_path_that_is_no_file_is_refused_by_name(tmp_path: Path, path: str) -> None:
    with pytest.raises(BundleRefused, match="there is no such file; nothing was imported"):
        import_bundle(EvidenceStore(tmp_path / "c"), tmp_path / path)


def test_a_bundle_that_changes_while_it_is_read_leaves_nothing(tmp_path: Path, honest: bytes, monkeypatch) -> None:
    (tmp_path / "b.tar").write_bytes(honest)
    admit = transfer.admit

    def admit_then_change(*arguments):
        admitted = admit(*arguments)
        place = max(admitted.evidence, key=lambda place: place.member.stored)
        with (tmp_path / "b.tar").open("r+b") as file:
            file.seek(place.offset + place.member.stored // 2)
            file.write(b"changed")
        return admitted

    monkeypatch.setattr(transfer, "admit", admit_then_change)
    with pytest.raises(BundleRefused):
        import_bundle(EvidenceStore(tmp_path / "c"), tmp_path / "b.tar")
    assert set(tree(tmp_path / "c")) <= {"store.json"}


def test_an_import_killed_at_any_moment_shows_all_of_its_records_or_none(tmp_path: Path, tally) -> None:
    """Killed after every possible number of files it has written, by tracing its own file operations."""
    sample = campaign(tmp_path / "a")
    export_bundle(sample.store, tmp_path / "b.tar")
    tried = caught = 0
    for stop in range(1, 200):
        folder = tmp_path / f"c{stop}"
        ended = _import_until(folder, tmp_path / "b.tar", stop)
        store = EvidenceStore(folder, identity=NOBODY)
        report = verify_store(store)
        tried, caught = tried + 1, caught + (_shown(store) in (0, 8) and report.sound)
        pending = (folder / "importing").is_dir() and any((folder / "importing").iterdir())
        assert pending == any(f.kind == "leftover" and f.path.startswith("importing/") for f in report.findings)
        import_bundle(store, tmp_path / "b.tar")
        assert _shown(store) == 8
        assert tree(folder) | tree(tmp_path / "a") == tree(folder)
        if ended:
            break
    assert tried >= 15
    tally("import killed after its n-th file", tried, caught)


def _shown(store: EvidenceStore) -> int:
    return len(list(store.records(history=True)))


def _import_until(folder: Path, bundle: Path, stop: int) -> bool:
    """Import in a child that kills itself at its ``stop``-th commit or removal; whether it came to its end."""
    child = os.fork()
    if child == 0:
        store, count = EvidenceStore(folder, identity=NOBODY), 0
        for name in ("commit", "remove"):
            operation = getattr(store.files, name)

            def counted(*arguments, operation=operation):
                nonlocal count
                operation(*arguments)
                count += 1
                if count == stop:
                    os.kill(os.getpid(), signal.SIGKILL)

            setattr(store.files, name, counted)
        try:
            import_bundle(store, bundle)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_import_of_a_newer_capture_makes_it_the_latest(tmp_path: Path) -> None:
    """The order of records travels with them, so that it does not matter which store takes what first."""
    first, second = campaign(tmp_path / "a"), campaign(tmp_path / "b")
    old = first.store.get(first.ids["capture tvm"])
    new = msgspec.structs.replace(old, fingerprint="newer")
    newer = second.store.put(new)
    export_bundle(second.store, tmp_path / "b.tar", Filters(history=True))
    import_bundle(first.store, tmp_path / "b.tar")
    latest = first.store.latest(CaptureRecord, old.key)
    assert latest is not None
    assert latest[0] == newer
