from __future__ import annotations

import hashlib
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensor_assets.errors import EvidenceDamaged, EvidenceMissing, RecordRefused, SettingsError
from tensor_assets.evidence.key import canonical, digest
from tensor_assets.evidence.order import MAX_SEQUENCE, minute_of
from tensor_assets.evidence.selection import Filters
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle, import_bundle
from tensor_assets.evidence.verification import verify_store
from tensor_assets.records import CaptureRecord, EnvironmentRecord, Evidence, Key, Outcome, Verdict
from tensor_assets_tests.evidence.samples import (
    NOBODY,
    campaign,
    capture_record,
    environment_record,
    provenance,
    tree,
)


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "store", identity=NOBODY)


def crashed(reason: str, *parents: str, key: Key | None = None, created: str = "2026-01-01") -> CaptureRecord:
    return CaptureRecord(
        key=key or Key(workload="gemm", compiler="tvm"),
        outcome=Outcome(status="crashed", reason=reason),
        provenance=provenance(*parents, created=created),
    )


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 3_000_000])
@pytest.mark.parametrize("media_type", ["text/x-mlir", "application/octet-stream"])
def test_bytes_come_back_as_they_were_under_their_own_hash(store: EvidenceStore, size: int, media_type: str) -> None:
    data = bytes(b"%0 = add\n"[n % 9] for n in range(size))
    evidence = store.put_bytes(data, media_type, "some.mlir")
    assert evidence.sha256 == hashlib.sha256(data).hexdigest()
    assert evidence.bytes == size
    assert store.read(evidence) == data
    assert store.has(evidence.sha256)


def test_a_file_is_kept_like_its_bytes(store: EvidenceStore, tmp_path: Path) -> None:
    (tmp_path / "x.ptx").write_bytes(b"// ptx\n" * 2000)
    from_file = store.put_file(tmp_path / "x.ptx", "text/x-ptx")
    assert from_file == store.put_bytes(b"// ptx\n" * 2000, "text/x-ptx", "x.ptx")


def test_the_same_bytes_are_kept_once(store: EvidenceStore, tmp_path: Path) -> None:
    store.put_bytes(b"same" * 5000, "text/plain", "a")
    before = tree(tmp_path / "store")
    store.put_bytes(b"same" * 5000, "text/plain", "b")
    assert tree(tmp_path / "store") == before


def test_reading_writes_nothing(store: EvidenceStore, tmp_path: Path) -> None:
    assert list(store.records()) == []
    assert store.latest(CaptureRecord, Key()) is None
    assert not store.has("0" * 64)
    assert not (tmp_path / "store").exists()


def test_a_record_id_is_the_hash_of_its_file(store: EvidenceStore, tmp_path: Path) -> None:
    record = crashed("segmentation fault")
    record_id = store.put(record)
    (file,) = (tmp_path / "store" / "records").rglob("*.json")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == record_id
    assert store.get(record_id) == record
    assert store.put(record) == record_id
    assert len(list((tmp_path / "store" / "records").rglob("*.json"))) == 1


def test_latest_follows_the_order_of_writing_not_the_clock(store: EvidenceStore, tally) -> None:
    first = store.put(crashed("first", created="2026-06-01"))
    second = store.put(crashed("second", created="2020-01-01"))  # the clock was set back six years
    assert [id for id, _ in store.records(history=True)] == [first, second]
    found = store.latest(CaptureRecord, Key(workload="gemm", compiler="tvm"))
    assert found is not None
    tally("clock set back: latest record, collection", 1, int(found[0] == second))
    assert store.put(crashed("first", created="2026-06-01")) == first
    assert [id for id, _ in store.records("capture")] == [second]


def test_records_written_without_sight_of_each_other_have_one_order_everywhere(tmp_path: Path) -> None:
    """Two stores that exchange their records agree on the latest, whoever began."""
    older, newer = crashed("older", created="2026-01-01"), crashed("newer", created="2026-01-02")
    found = []
    for name, order in (("a", (older, newer)), ("b", (newer, older))):
        store = EvidenceStore(tmp_path / name, identity=NOBODY)
        for record in order:
            store.file(canonical(record), record, sequence=1)
        latest = store.latest(CaptureRecord, older.key)
        assert latest is not None
        found.append(latest[1].outcome.reason)
    assert found == ["newer", "newer"]


def test_of_two_hosts_the_one_that_wrote_later_wins_however_often_the_other_wrote(tmp_path: Path) -> None:
    often, once = (EvidenceStore(tmp_path / name, identity=NOBODY) for name in ("often", "once"))
    for day in ("01", "02", "03"):
        often.put(crashed(day, created=f"2026-06-{day}"))
    newest = once.put(crashed("04", created="2026-06-04"))
    for number, (there, here) in enumerate(((often, once), (once, often))):
        bundle = tmp_path / f"{number}.bundle"
        export_bundle(there, bundle, Filters(history=True))
        import_bundle(here, bundle)
        assert [id for id, _ in here.records()] == [newest]
        assert [record.outcome.reason for _, record in here.records(history=True)] == ["01", "02", "03", "04"]


def test_a_record_that_was_counted_without_a_clock_has_its_place_in_time(store: EvidenceStore) -> None:
    """Bundles that were made before a place held the minute say 0, 1, 2."""
    for place, created in ((2, "2026-06-01"), (0, "2026-06-02")):
        record = crashed(created, created=created)
        store.file(canonical(record), record, place)
    assert [record.outcome.reason for _, record in store.records()] == ["2026-06-02"]


def test_a_record_that_claims_to_be_of_a_far_future_leaves_a_place_after_it(store: EvidenceStore) -> None:
    store.put(crashed("then", created="2999-01-01T00:00:00+00:00"))
    second = store.put(crashed("now"))
    assert [id for id, _ in store.records()] == [second]


@pytest.mark.parametrize(
    ("created", "minute"),
    [
        ("1970-01-01T00:01:59.999+00:00", 1),
        ("1970-01-01T01:01:00+01:00", 1),
        ("1970-01-01T00:02:00Z", 2),
        ("1970-01-02", 24 * 60),
        ("1969-01-01", 0),
        ("yesterday", 0),
        ("", 0),
        ("9999-12-31T23:59:59+00:00", MAX_SEQUENCE),
        ("0001-01-01T00:00:00+14:00", 0),
    ],
)
def test_a_time_is_placed_by_its_minute(created: str, minute: int) -> None:
    assert minute_of(created) == minute


def test_keys_differ_in_every_part(store: EvidenceStore) -> None:
    parts = [msgspec.structs.replace(Key(), **{field: "x"}) for field in Key.__struct_fields__]
    assert len({digest(key) for key in [*parts, Key()]}) == len(parts) + 1


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_a_key_of_any_characters_is_filed_in_the_store(tmp_path_factory, workload: str, compiler: str) -> None:
    folder = tmp_path_factory.mktemp("store")
    store = EvidenceStore(folder / "inner", identity=NOBODY)
    key = Key(workload=workload, compiler=compiler)
    record_id = store.put(crashed("x", key=key))
    assert store.latest(CaptureRecord, key) == (record_id, store.get(record_id))
    assert [path.name for path in folder.iterdir()] == ["inner"]
    assert all(name.isascii() and ".." not in name for name in tree(folder))


HOSTILE_NAMES = ("<img src=x onerror=alert(1)>", "../../etc/passwd", "a\nb", "\u202egnp.exe", "a\0b", "x" * 5000)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_kept_and_every_message_stays_one_plain_line(store: EvidenceStore, name: str) -> None:
    key = Key(workload=name, compiler=name)
    record_id = store.put(crashed("x", key=key))
    assert store.get(record_id).key == key
    assert verify_store(store).sound
    missing = Evidence(sha256="0" * 64, bytes=1, media_type="text/plain", name=name)
    with pytest.raises(EvidenceMissing) as refusal:
        store.put(msgspec.structs.replace(crashed("x", key=key), outcome=Outcome(status="crashed", log=missing)))
    assert str(refusal.value).isprintable()


def test_a_record_may_not_name_what_is_not_there(store: EvidenceStore) -> None:
    missing = Evidence(sha256="0" * 64, bytes=1, media_type="text/plain", name="kernel.ptx")
    with pytest.raises(EvidenceMissing, match=r"capture of gemm\|tvm names evidence.*kernel.ptx.* is not in"):
        store.put(msgspec.structs.replace(crashed("x"), cache=missing))
    with pytest.raises(EvidenceMissing, match="parent record ffff"):
        store.put(crashed("x", "f" * 64))
    assert list(store.records()) == []


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_hold_is_refused_by_name(store: EvidenceStore, value: float) -> None:
    record = capture_record(store, "tvm")
    assert record.admission is not None
    verdict = Verdict(fixture="f", output="y", kind="exact", passed=False, elements=1, worst=value)
    record = msgspec.structs.replace(record, admission=msgspec.structs.replace(record.admission, verdicts=(verdict,)))
    with pytest.raises(RecordRefused, match=r"admission\.verdicts\[0\]\.worst"):
        store.put(record)


def test_a_damaged_latest_record_raises_and_no_older_one_stands_in(store: EvidenceStore, tmp_path: Path) -> None:
    store.put(crashed("first"))
    record_id = store.put(crashed("second"))
    (file,) = (tmp_path / "store" / "records").rglob(f"*{record_id}.json")
    file.write_bytes(file.read_bytes().replace(b"second", b"sacond"))
    with pytest.raises(EvidenceDamaged, match="do not hash to its name"):
        store.latest(CaptureRecord, Key(workload="gemm", compiler="tvm"))


@pytest.mark.parametrize("media_type", ["text/plain", "application/octet-stream"])
def test_a_damaged_file_is_refused_and_mended_by_putting_it_again(store, tmp_path: Path, media_type: str) -> None:
    data = b"native text\n" * 1000
    evidence = store.put_bytes(data, media_type, "stage.txt")
    (file,) = (path for path in (tmp_path / "store" / "objects").rglob("*") if path.is_file())
    damaged = bytearray(file.read_bytes())
    damaged[-1] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(EvidenceDamaged, match=r"sha256:.*\(stage.txt\).*restore .* or rerun the cell"):
        store.read(evidence)
    assert store.put_bytes(data, media_type, "stage.txt") == evidence
    assert store.read(evidence) == data
    assert verify_store(store).sound


def test_a_damaged_file_is_mended_by_the_same_bytes_of_another_type(store: EvidenceStore) -> None:
    """Text is kept compressed, other bytes as they are; the damaged form must not be found before the whole one."""
    data = b"native text\n" * 1000
    plain = store.put_bytes(data, "application/octet-stream", "stage")
    path = store.locate(plain.sha256)
    assert path is not None
    store.files.remove(path)
    staged = store.files.stage()
    staged.file.write(b"damaged")
    store.files.commit(staged, path)
    assert store.read(store.put_bytes(data, "text/plain", "stage.txt")) == data
    assert store.read(plain) == data
    assert verify_store(store).sound


@pytest.mark.parametrize("url", ["nosuch://bucket/x", __file__])
def test_a_store_that_cannot_be_one_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^store [^\n]+; name a folder or [^\n]+$"):
        EvidenceStore(url)


def test_a_record_that_nobody_would_find_again_is_not_written(store: EvidenceStore) -> None:
    record = crashed("once")
    store.file(canonical(record), record, 99_999_999)
    with pytest.raises(RecordRefused, match="has no place 100,000,000"):
        store.put(crashed("again"))


def test_a_record_under_a_name_that_is_too_small_is_not_read_whole(store: EvidenceStore) -> None:
    evidence = store.put_bytes(bytes(1_000_000), "application/octet-stream", "zeros")
    with pytest.raises(EvidenceDamaged, match="more than the 10 bytes"):
        store.read(msgspec.structs.replace(evidence, bytes=10))


def test_what_a_store_on_disk_and_one_in_memory_hold_is_the_same(tmp_path: Path) -> None:
    on_disk, in_memory = campaign(tmp_path / "s"), campaign(f"memory://{tmp_path.name}")
    assert on_disk.ids == in_memory.ids
    assert {entry.path for entry in on_disk.store.entries()} == {entry.path for entry in in_memory.store.entries()}
    assert verify_store(on_disk.store).root == verify_store(in_memory.store).root
    assert verify_store(in_memory.store).sound


def test_records_are_of_the_type_asked_for(tmp_path: Path) -> None:
    store = campaign(tmp_path / "s").store
    assert {record.key.compiler for _, record in store.records(EnvironmentRecord)} == {"tvm", "eager"}
    assert len(list(store.records("benchmark"))) == 2
    assert len(list(store.records())) == 8
    assert environment_record("tvm") in [record for _, record in store.records()]
