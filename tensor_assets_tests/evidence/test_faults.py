"""Interruptions, crowding, and places that cannot be written."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from tensor_assets.errors import StoreUnwritable
from tensor_assets.evidence.retention import LEAST_GRACE_SECONDS, collect_garbage
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle, import_bundle
from tensor_assets.evidence.verification import verify, verify_store
from tensor_assets.records import CaptureRecord, Key
from tensor_assets_tests.evidence import writing
from tensor_assets_tests.evidence.samples import NOBODY, campaign, capture_record, tree

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def writer(store: Path, seed: int) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, writing.__file__, str(store), str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/adapters/worker"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def filed_by(process: subprocess.Popen[str], at_least: int) -> list[str]:
    """Ids that a writer reported until it was killed, which is once it has reported so many."""
    assert process.stdout is not None
    reported = [process.stdout.readline() for _ in range(at_least)]
    process.kill()
    return [line.strip() for line in [*reported, *process.stdout] if len(line) == 65]


def test_a_store_verifies_clean_after_kill_9_at_100_random_moments(tmp_path: Path, tally) -> None:
    """The children are forked, with everything imported, so that a hundred of them fit in a test."""
    store, chance = tmp_path / "store", random.Random(9)
    caught = 0
    for seed in range(100):
        _killed_writer(store, seed, chance.randrange(4), chance.uniform(0, 0.02))
        caught += not store.exists() or verify(store).sound
    assert verify(store).records > 100, "the writers were killed before they wrote anything"
    tally("kill -9 at a random moment of a write loop", 100, caught)


def _killed_writer(store: Path, seed: int, records: int, after: float) -> None:
    """Killed ``after`` seconds from its start, or from the moment it has reported so many records."""
    reading, reports = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(reports, 1)
            sys.stdout = os.fdopen(1, "w")
            writing.write_forever(str(store), seed)
        finally:
            os._exit(1)
    os.close(reports)
    with os.fdopen(reading) as reported:
        for _ in range(records):
            reported.readline()
        time.sleep(after)
        os.kill(child, 9)
    os.waitpid(child, 0)


def test_what_a_writer_reported_is_there_after_kill_9(tmp_path: Path) -> None:
    with writer(tmp_path / "store", 1) as process:
        reported = filed_by(process, at_least=25)
    store = EvidenceStore(tmp_path / "store", identity=NOBODY)
    assert len(reported) >= 25
    assert all(store.get(record_id) for record_id in reported)


def test_two_writers_and_a_collection_at_once(tmp_path: Path, tally) -> None:
    """Every file is made old again and again, so that only the protocol protects it, not its age."""
    folder = tmp_path / "store"
    rounds = removed = records = 0
    with writer(folder, 1) as first, writer(folder, 2) as second:
        deadline = time.monotonic() + 120  # a slow disk needs longer for as many records; it may not need fewer
        while (rounds < 20 or removed == 0 or records <= 20) and time.monotonic() < deadline:
            _age(folder)
            removed += len(collect_garbage(EvidenceStore(folder), dry_run=False, grace_seconds=60).removed)
            records = sum(1 for _ in EvidenceStore(folder).records(history=True))
            rounds += 1
        assert first.poll() is None, "a writer failed"
        assert second.poll() is None, "a writer failed"
    report = verify(folder)
    assert removed > 0, "there was never anything to collect"
    assert report.records > 20
    assert [finding for finding in report.findings if finding.failed] == []
    tally("collections beside two writers", rounds, rounds if report.sound else 0)


def _age(folder: Path) -> None:
    old = time.time() - 3600
    for path in [*folder.rglob("*")]:
        with suppress(FileNotFoundError):  # a staged file is named by its writer, or collected, between two looks
            if path.is_file() and time.time() - path.stat().st_mtime > 3:  # not what a writer is just about to name
                os.utime(path, (old, old))


def test_writers_of_one_key_lose_nothing(tmp_path: Path) -> None:
    with writer(tmp_path / "store", 7) as first, writer(tmp_path / "store", 7) as second:
        reported = {*filed_by(first, at_least=25), *filed_by(second, at_least=25)}
    store = EvidenceStore(tmp_path / "store", identity=NOBODY)
    assert reported <= {id for id, _ in store.records(history=True)}
    latest = {record.key.workload: id for id, record in store.records()}
    for workload, id in latest.items():
        assert store.latest(CaptureRecord, Key(workload=workload, compiler="c7")) == (id, store.get(id))


# Places that cannot be written. Mounts need root, which CI has.


@contextmanager
def mounted(place: Path, options: str) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.fail("this test mounts a small file system: run it as root")
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def refused(attempt: object, *arguments: object) -> str:
    with pytest.raises(StoreUnwritable) as refusal:
        attempt(*arguments)  # type: ignore[operator]
    assert str(refusal.value).isprintable()
    return str(refusal.value)


def test_a_full_disk_is_one_line_and_leaves_a_sound_store(tmp_path: Path, tally) -> None:
    place = tmp_path / "small"
    with mounted(place, "size=2m"):
        store = campaign(place / "store").store
        message = refused(store.put_bytes, os.urandom(4 << 20), "application/octet-stream", "big")
        caught = "no space left" in message and verify_store(store).sound
        (place / "filler").write_bytes(b"x" * (_free(place) - 4096))
        message = refused(store.put_bytes, os.urandom(200_000).hex().encode(), "text/x-mlir", "stage.mlir")
        caught += "no space left" in message
        message = refused(_put_many, store)
        caught += "no space left" in message and verify_store(store).sound
        assert not list((place / "store" / "staging").iterdir())
    tally("full disk: evidence, text, record", 3, caught)


def _free(place: Path) -> int:
    stat = os.statvfs(place)
    return stat.f_bavail * stat.f_frsize


def _put_many(store: EvidenceStore) -> None:
    record = next(record for _, record in store.records("environment"))
    for number in range(1000):
        store.put(msgspec.structs.replace(record, key=Key(compiler=f"c{number}")))


def test_an_import_onto_a_full_disk_takes_everything_back(tmp_path: Path, tally) -> None:
    sample = campaign(tmp_path / "store")
    big = sample.store.put_bytes(os.urandom(3 << 20), "application/zstd", "cache.zst")
    sample.store.put(msgspec.structs.replace(capture_record(sample.store, "tvm"), cache=big))
    export_bundle(sample.store, tmp_path / "b.tar")
    with mounted(tmp_path / "small", "size=2m"):
        target = EvidenceStore(tmp_path / "small" / "store")
        message = refused(import_bundle, target, tmp_path / "b.tar")
        left = [name for name in tree(tmp_path / "small") if name != "store/store.json"]
        tally("import onto a full disk", 1, int("no space left" in message and not left))


@pytest.mark.parametrize("place", ["read-only mount", "mount that turned read-only"])
def test_a_read_only_store_reads_and_says_it_cannot_be_written(tmp_path: Path, place: str, tally) -> None:
    mount = tmp_path / "mount"
    with mounted(mount, "size=4m"):
        sample = campaign(mount / "store")
        if place == "read-only mount":
            subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
            store = EvidenceStore(mount / "store")
        else:
            store = sample.store
            store.put_bytes(b"once", "text/plain", "x")
            subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        messages = [
            refused(store.put_bytes, b"new", "text/plain", "x"),
            refused(store.put, capture_record(campaign(tmp_path / "other").store, "tvm", created="2027")),
            refused(collect_garbage, store, False, LEAST_GRACE_SECONDS),
        ]
        caught = sum("read-only file system" in message for message in messages)
        assert store.read(sample.stage)
        assert store.get(sample.ids["session"])
        assert verify(mount / "store").sound
        assert "would remove" in collect_garbage(store).summary()
        export_bundle(store, tmp_path / "b.tar")
    tally(f"{place}: evidence, record, collection", 3, caught)


def test_a_store_below_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    store = EvidenceStore(tmp_path / "file" / "store")
    assert "not a directory" in refused(store.put_bytes, b"x", "text/plain", "x")


def test_a_folder_that_another_writer_makes_meanwhile_is_no_fault(tmp_path: Path, monkeypatch) -> None:
    looked, before = set(), Path.is_dir

    def made_after_a_look(path: Path) -> bool:
        found = before(path)
        if path.is_relative_to(tmp_path) and path not in looked:
            looked.add(path)
            path.mkdir(parents=True, exist_ok=True)
        return found

    monkeypatch.setattr(Path, "is_dir", made_after_a_look)
    EvidenceStore(str(tmp_path / "store")).put_bytes(b"x", media_type="text/plain", name="x")
    assert tmp_path / "store" in looked
