"""A snapshot brings a worker's caches back as they were, and nothing else onto the disk."""

from __future__ import annotations

import io
import os
import tarfile
import threading
from pathlib import Path

import pytest

from tensor_assets.errors import EvidenceDamaged, StoreUnwritable
from tensor_assets.workers.caches import restore, snapshot
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.scratch import scratch_folder


def filled(path: Path) -> WorkerFolder:
    folder = WorkerFolder(path)
    (folder.cache / "triton" / "ab").mkdir(parents=True)
    (folder.cache / "triton" / "ab" / "kernel.so").write_bytes(b"\x7fELF" + bytes(range(256)))
    (folder.cache / "triton" / "ab" / "kernel.so").chmod(0o755)
    (folder.cache / "link").symlink_to("triton/ab")
    os.link(folder.cache / "triton" / "ab" / "kernel.so", folder.cache / "hard")
    (folder.home / ".modular").mkdir()
    (folder.home / ".modular" / "empty").write_text("")
    os.mkfifo(folder.cache / "pipe")
    (folder.temporary / "scrap").write_text("not a cache")
    return folder


def test_a_snapshot_restores_files_modes_and_links(tmp_path):
    snapshot(filled(tmp_path / "one"), tmp_path / "caches.tar")
    other = WorkerFolder(tmp_path / "two")
    restore(tmp_path / "caches.tar", other)
    kernel = other.cache / "triton" / "ab" / "kernel.so"
    assert kernel.read_bytes() == b"\x7fELF" + bytes(range(256))
    assert kernel.stat().st_mode & 0o777 == 0o755
    assert (other.cache / "hard").read_bytes() == kernel.read_bytes()
    assert (other.cache / "link" / "kernel.so").samefile(kernel)
    assert (other.home / ".modular" / "empty").is_file()
    assert not (other.cache / "pipe").exists()
    assert not (other.temporary / "scrap").exists()


def test_equal_caches_give_equal_bytes(tmp_path):
    for name in ("one", "two"):
        snapshot(filled(tmp_path / name), tmp_path / f"{name}.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    restore(tmp_path / "one.tar", third := WorkerFolder(tmp_path / "three"))
    snapshot(third, tmp_path / "three.tar")
    assert (tmp_path / "three.tar").read_bytes() == (tmp_path / "one.tar").read_bytes()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "members",
    [
        [member("../escape")],
        [member("/etc/escape")],
        [member("cache/../../escape")],
        [member("arrays/search.inputs.npz")],
        [member("cache/device", tarfile.CHRTYPE)],
        [member("cache/hard", tarfile.LNKTYPE, "/etc/passwd")],
        [member("cache/out", tarfile.SYMTYPE, "../.."), member("cache/out/escape")],
        [member("cache/out", tarfile.SYMTYPE, ".."), member("cache/out/arrays/escape")],
    ],
)
def test_a_snapshot_that_reaches_outside_the_caches_is_refused(tmp_path, members):
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        for info in members:
            tar.addfile(info, io.BytesIO())
    folder = WorkerFolder(tmp_path / "deep" / "worker")
    with pytest.raises(EvidenceDamaged):
        restore(tmp_path / "bad.tar", folder)
    assert not list(tmp_path.rglob("escape"))


def test_a_scratch_folder_lives_as_long_as_its_owner(tmp_path):
    with scratch_folder(tmp_path) as folder:
        (folder / "file").write_text("x")
        with scratch_folder(tmp_path) as other:
            assert folder.is_dir()
            assert other != folder
    assert [path for path in (tmp_path / "scratch").iterdir() if path.is_dir()] == []


def test_what_a_killed_owner_left_is_removed_by_the_next(tmp_path):
    orphan = tmp_path / "scratch" / "worker-orphan"
    orphan.mkdir(parents=True)
    (orphan / ".owner").write_text("")
    with scratch_folder(tmp_path):
        assert not orphan.exists()


def test_owners_of_many_threads_do_not_take_each_others_folders(tmp_path):
    lost: list[Path] = []

    def own() -> None:
        for _ in range(20):
            with scratch_folder(tmp_path) as folder:
                if not folder.is_dir():
                    lost.append(folder)

    threads = [threading.Thread(target=own) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lost == []


def test_a_scratch_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable, match="Not a directory"), scratch_folder(tmp_path / "file"):
        pass
