"""The store on a real SFTP server, which runs here: a file appears while it arrives, so it is sent aside and moved."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tensor_assets.errors import EvidenceDamaged, EvidenceMissing, StoreUnwritable
from tensor_assets.evidence.retention import collect_garbage
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle, import_bundle
from tensor_assets.evidence.verification import verify, verify_store
from tensor_assets.records import CaptureRecord, Key, Outcome
from tensor_assets_tests.evidence.samples import NOBODY, campaign, provenance, tree
from tensor_assets_tests.evidence.sftp import Server, sftp_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with sftp_server(tmp_path / "served") as server:
        yield server


def test_a_campaign_is_the_same_there_as_on_disk(server: Server, tmp_path: Path) -> None:
    there, here = campaign(server.url), campaign(tmp_path / "here")
    assert there.ids == here.ids
    assert tree(server.folder / "store") == tree(tmp_path / "here")
    report = verify(server.url)
    assert report.sound
    assert report.root == verify(tmp_path / "here").root


def test_evidence_and_records_come_back(server: Server) -> None:
    sample = campaign(server.url)
    again = EvidenceStore(server.url, identity=NOBODY)
    assert b"arith.addf" in again.read(sample.stage)
    assert again.get(sample.ids["session"]) == sample.store.get(sample.ids["session"])
    assert len(list(again.records())) == 8
    with pytest.raises(EvidenceMissing):
        again.read("0" * 64)


def test_a_flipped_bit_there_is_found_named_and_mended(server: Server, tally) -> None:
    sample = campaign(server.url)
    path = server.folder / "store" / str(sample.store.locate(sample.stage.sha256))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    found = [finding.path for finding in verify_store(sample.store).findings if finding.failed]
    assert found == [str(path.relative_to(server.folder / "store"))]
    with pytest.raises(EvidenceDamaged):
        sample.store.read(sample.stage)
    campaign(server.url)
    tally("one flipped bit: on an SFTP server", 1, int(verify_store(sample.store).sound and path.read_bytes() == whole))


def test_bundles_go_in_and_out(server: Server, tmp_path: Path) -> None:
    export_bundle(campaign(tmp_path / "here").store, tmp_path / "a.tar")
    there = EvidenceStore(server.url, identity=NOBODY)
    assert import_bundle(there, tmp_path / "a.tar").records == 8
    assert import_bundle(there, tmp_path / "a.tar").records == 0
    export_bundle(there, tmp_path / "b.tar")
    assert (tmp_path / "b.tar").read_bytes() == (tmp_path / "a.tar").read_bytes()


def test_writers_at_once_lose_nothing(server: Server) -> None:
    def write(seed: int) -> list[str]:
        store = EvidenceStore(server.url, identity=NOBODY)
        return [store.put(_record(store, seed, number)) for number in range(6)]

    with ThreadPoolExecutor(3) as pool:
        written = {id for ids in pool.map(write, range(3)) for id in ids}
    store = EvidenceStore(server.url, identity=NOBODY)
    assert {id for id, _ in store.records(history=True)} == written
    assert verify_store(store).sound


def _record(store: EvidenceStore, seed: int, number: int) -> CaptureRecord:
    log = store.put_bytes(f"log {seed} {number}".encode(), "text/plain", "worker.log")
    return CaptureRecord(
        key=Key(workload="w"),
        outcome=Outcome(status="crashed", reason=f"{seed} {number}", log=log),
        provenance=provenance(),
    )


def test_a_collection_takes_the_old_and_spares_the_young(server: Server) -> None:
    sample = campaign(server.url)
    sample.store.put_bytes(b"nobody names this", "text/plain", "x")
    assert collect_garbage(sample.store, dry_run=False).removed == ()
    _age(server.folder)
    removed = collect_garbage(EvidenceStore(server.url), dry_run=False).removed
    assert len(removed) == 1
    assert verify(server.url).sound


def _age(folder: Path) -> None:
    old = time.time() - 7 * 24 * 3600
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (old, old))


def test_a_server_that_is_not_there_is_one_line_without_its_password() -> None:
    """127.0.0.1 answers nobody on the port that is reserved for nothing."""
    with pytest.raises(StoreUnwritable, match=r"^store ssh://…@127\.0\.0\.1:1/store: cannot be re[^\n]*$"):
        list(EvidenceStore("ssh://tester:hunter2222@127.0.0.1:1/store").records())


def test_a_connection_that_breaks_while_reading_is_one_line(server: Server, monkeypatch) -> None:
    sample = campaign(server.url)

    def broken(*arguments: object, **options: object) -> None:
        raise RuntimeError("connection reset\nby peer")

    for operation in ("isfile", "open", "ls", "find", "info"):
        monkeypatch.setattr(sample.store.files._fs, operation, broken)
    for read in (lambda: sample.store.read(sample.stage), lambda: list(sample.store.records())):
        with pytest.raises(StoreUnwritable, match=r"^store ssh://[^\n]*: cannot be read \(connection reset\)$"):
            read()


def test_a_server_that_does_not_let_write_is_one_line(server: Server) -> None:
    store = campaign(server.url).store
    (server.folder / "store" / "objects").rename(server.folder / "away")
    (server.folder / "store" / "objects").write_text("in the way")
    with pytest.raises(StoreUnwritable) as refusal:
        store.put_bytes(b"x", "text/plain", "x")
    assert str(refusal.value).isprintable()
