"""Snapshots of what a compiler left in its caches: taken after a cold capture, restored for the timing processes."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

from tensor_assets.errors import EvidenceDamaged
from tensor_assets.workers.isolation import WorkerFolder

SNAPSHOT_TYPE = "application/x-tar"


def snapshot(folder: WorkerFolder, archive: Path) -> None:
    """Every file below the folder's caches and home, as a tar whose bytes depend on their names and contents alone."""
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        for part in _parts(folder):
            for path in sorted(part.rglob("*")):
                if path.is_symlink() or path.is_dir() or path.is_file():  # sockets and pipes are not content
                    _add(tar, path, path.relative_to(folder.path).as_posix())


def restore(archive: Path, folder: WorkerFolder) -> None:
    """Put a snapshot back below another worker's folder. Raises EvidenceDamaged for an archive that is none of ours."""
    allowed = {part.name for part in _parts(folder)}
    with tarfile.open(archive, "r:") as tar:
        for member in tar:
            parts, target = PurePosixPath(member.name).parts, folder.path / member.name
            # Resolved, because an earlier member may have been a link that leads out.
            if (
                not parts
                or parts[0] not in allowed
                or not target.parent.resolve().is_relative_to(folder.path / parts[0])
            ):
                raise EvidenceDamaged(f"cache snapshot holds {member.name!r}, which lies outside the caches")
            _put(tar, member, target)


def _parts(folder: WorkerFolder) -> tuple[Path, ...]:
    return folder.cache, folder.home


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    member = tar.gettarinfo(path, name)
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    # Ages are kept out of the bytes; what compares them (Python's bytecode) finds every file equally old.
    member.mtime = 0
    if member.islnk():  # a hard link: stored as the file it is
        member.type, member.linkname, member.size = tarfile.REGTYPE, "", path.stat().st_size
    if member.isreg():
        with path.open("rb") as file:
            tar.addfile(member, file)
    else:
        tar.addfile(member)


def _put(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.isdir():
        target.mkdir(exist_ok=True)
    elif member.issym():
        target.symlink_to(member.linkname)
    elif member.isreg():
        with target.open("xb") as file:
            shutil.copyfileobj(_content(tar, member), file)
        target.chmod(member.mode & 0o755)
        os.utime(target, (member.mtime, member.mtime))
    else:
        raise EvidenceDamaged(f"cache snapshot holds {member.name!r}, which is no file, folder or link")


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None, "a regular member has content"
    return content
