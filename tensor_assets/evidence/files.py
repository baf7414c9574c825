"""The few file operations a store needs, on a local folder. ``remote.py`` has them for any fsspec URL.

Nothing is ever changed in place: a file is staged under ``staging/``, flushed to the disk, and renamed to its name, so
that at every moment a name has its whole content or does not exist.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from tensor_assets.errors import StoreUnwritable

STAGING = "staging"
LOCK = "lock"


class FileInfo(NamedTuple):
    path: str  # relative to the store, with "/"
    bytes: int
    modified: float  # seconds since 1970, by the clock of the file system


class Files(Protocol):
    """Paths are relative to the store and use "/"."""

    url: str

    def exists(self, path: str) -> bool: ...

    def open(self, path: str) -> BinaryIO:
        """Raises FileNotFoundError."""

    def walk(self, folder: str) -> Iterator[FileInfo]:
        """Every file at any depth below ``folder``, in no particular order; nothing where there is no such folder."""

    def names(self, folder: str) -> list[str]:
        """Names of the files directly in ``folder``."""

    def stage(self) -> Staged:
        """A new file to write, seekable."""

    def commit(self, staged: Staged, path: str) -> None:
        """Give the staged file its name, at once and durably; an existing file of that name is replaced."""

    def discard(self, staged: Staged) -> None: ...

    def remove(self, path: str) -> None: ...

    def modified(self, path: str) -> float | None:
        """When the file was written or made young; None where there is none."""

    def refresh(self, path: str) -> bool:
        """Make an existing file young, so that no collection takes it; False where it is gone or cannot be made so."""

    def locked(self, exclusive: bool) -> AbstractContextManager[None]:
        """Hold off collections (shared) or writers (exclusive) while the context lasts."""


class Staged(NamedTuple):
    file: BinaryIO
    path: Path


class LocalFiles:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = str(root)
        self._durable: set[Path] = set()  # folders known to exist on the disk

    def exists(self, path: str) -> bool:
        return (self.root / path).is_file()

    def open(self, path: str) -> BinaryIO:
        return (self.root / path).open("rb")

    def walk(self, folder: str) -> Iterator[FileInfo]:
        pending = [str(self.root / folder)]
        strip = len(str(self.root)) + 1
        while pending:
            with suppress(FileNotFoundError), os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                        continue
                    with suppress(FileNotFoundError):
                        stat = entry.stat(follow_symlinks=False)
                        yield FileInfo(entry.path[strip:], stat.st_size, stat.st_mtime)

    def names(self, folder: str) -> list[str]:
        with suppress(FileNotFoundError):
            return os.listdir(self.root / folder)  # noqa: PTH208 - names, not paths, and many of them
        return []

    def stage(self) -> Staged:
        with unwritable(f"store {self.url}"):
            folder = self._folder(self.root / STAGING)
            path = folder / f"{os.getpid()}-{secrets.token_hex(8)}"
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
            return Staged(os.fdopen(handle, "w+b"), path)

    def commit(self, staged: Staged, path: str) -> None:
        with unwritable(f"store {self.url}"):
            staged.file.flush()
            os.fsync(staged.file.fileno())
            staged.file.close()
            target = self.root / path
            self._folder(target.parent)
            staged.path.replace(target)
            _sync_folder(target.parent)

    def discard(self, staged: Staged) -> None:
        with suppress(OSError):
            staged.file.close()
        with suppress(OSError):
            staged.path.unlink()

    def remove(self, path: str) -> None:
        with unwritable(f"store {self.url}"):
            (self.root / path).unlink(missing_ok=True)

    def modified(self, path: str) -> float | None:
        try:
            return (self.root / path).stat().st_mtime
        except FileNotFoundError:
            return None

    def refresh(self, path: str) -> bool:
        with unwritable(f"store {self.url}"):
            try:
                os.utime(self.root / path)
            except FileNotFoundError:
                return False
        return True

    @contextmanager
    def locked(self, exclusive: bool) -> Iterator[None]:
        with unwritable(f"store {self.url}"):
            handle = os.open(self._folder(self.root) / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            yield
        finally:
            os.close(handle)

    def _folder(self, path: Path) -> Path:
        """``path``, made with its parents and durable: a renamed file in a lost folder would be lost too."""
        if path in self._durable and path.is_dir():
            return path
        if not path.is_dir():
            if path.exists() and not path.is_dir():  # asked again: another writer may just have made it
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
            self._folder(path.parent)
            path.mkdir(exist_ok=True)
            _sync_folder(path.parent)
        self._durable.add(path)
        return path


@contextmanager
def unwritable(place: str, remedy: str = "set TENSOR_ASSETS_STORE to another place") -> Iterator[None]:
    """Turn the file system's refusals into one line a user can act on. ``place``: "store /x"."""
    try:
        yield
    except OSError as error:
        raise _unwritable(place, remedy, error) from error


def _unwritable(place: str, remedy: str, error: OSError) -> StoreUnwritable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreUnwritable(f"{place}: no space left; free some, or {remedy}")
    reason = (error.strerror or str(error)).lower()
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreUnwritable(f"{place}: cannot be written ({reason}); mend its permissions, or {remedy}")
    return StoreUnwritable(f"{place}: cannot be written ({reason}); {remedy}")


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
