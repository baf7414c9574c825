"""The store's file operations on any fsspec URL (``s3://``, ``sftp://``, ``memory://``, …) through universal-pathlib.

An object store shows a file only when all of it has arrived. Where a file system does not (SFTP, SMB, WebDAV, …), the
file is sent under ``staging/`` and moved. There is no lock: what keeps writers and a collection apart is age alone (see
``retention.py``).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from upath import UPath

from tensor_assets.errors import StoreUnwritable
from tensor_assets.evidence.address import without_credentials
from tensor_assets.evidence.files import STAGING, FileInfo, Staged

# Half of the grace of a collection (retention.py): what is younger is safe for as long again.
YOUNG_SECONDS = 12 * 3600.0

# Protocols whose upload is all or nothing.
ATOMIC = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "az", "adl", "oci", "oss", "hf", "memory"})


class RemoteFiles:
    def __init__(self, root: UPath, url: str) -> None:
        """``url``: as it was given, host and all. Raises ImportError where the library of its kind is missing,
        StoreUnwritable."""
        self.url = without_credentials(url)
        with self._reached("reached"):
            self._fs: Any = root.fs
        self._root = str(root.path).rstrip("/")
        self._atomic = root.protocol in ATOMIC

    def exists(self, path: str) -> bool:
        with self._reached("read"):
            self._fs.invalidate_cache()
            return bool(self._fs.isfile(self._at(path)))

    def open(self, path: str) -> BinaryIO:
        with self._reached("read"):
            return cast("BinaryIO", self._fs.open(self._at(path), "rb"))

    def walk(self, folder: str) -> Iterator[FileInfo]:
        with suppress(FileNotFoundError), self._reached("read"):
            self._fs.invalidate_cache()
            for path, info in self._fs.find(self._at(folder), detail=True).items():
                yield FileInfo(self._relative(path), int(info["size"]), _modified(info))

    def names(self, folder: str) -> list[str]:
        with suppress(FileNotFoundError), self._reached("read"):
            self._fs.invalidate_cache()
            entries = self._fs.ls(self._at(folder), detail=True)
            return [PurePosixPath(entry["name"]).name for entry in entries if entry["type"] == "file"]
        return []

    def stage(self) -> Staged:
        file = tempfile.NamedTemporaryFile("w+b", delete=False)  # noqa: SIM115 - outlives this call, commit removes it
        return Staged(cast("BinaryIO", file), Path(file.name))

    def commit(self, staged: Staged, path: str) -> None:
        staged.file.close()
        target = self._at(path)
        with self._reached("written"):
            self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
            if self._atomic:
                self._fs.put_file(str(staged.path), target)
            else:
                self._move_in(staged.path, target)
        staged.path.unlink()

    def discard(self, staged: Staged) -> None:
        with suppress(OSError):
            staged.file.close()
        staged.path.unlink(missing_ok=True)

    def remove(self, path: str) -> None:
        with self._reached("written"), suppress(FileNotFoundError):
            self._fs.rm_file(self._at(path))

    def modified(self, path: str) -> float | None:
        with suppress(FileNotFoundError), self._reached("read"):
            self._fs.invalidate_cache()
            return _modified(self._fs.info(self._at(path)))
        return None

    def refresh(self, path: str) -> bool:
        """Young enough as it is; writing it again is the only way to make it younger."""
        modified = self.modified(path)
        return modified is not None and modified > time.time() - YOUNG_SECONDS

    @contextmanager
    def locked(self, exclusive: bool) -> Iterator[None]:
        yield

    def _move_in(self, source: Path, target: str) -> None:
        arriving = self._at(f"{STAGING}/{source.name}")
        self._fs.makedirs(self._at(STAGING), exist_ok=True)
        self._fs.put_file(str(source), arriving)
        self._fs.mv(arriving, target)

    @contextmanager
    def _reached(self, done: str) -> Iterator[None]:
        """Every library below fsspec has exceptions of its own, so any of them counts; a missing file is an answer."""
        try:
            yield
        except Exception as error:
            if isinstance(error, ImportError) or (done == "read" and isinstance(error, FileNotFoundError)):
                raise
            reason = without_credentials(str(error).splitlines()[0]) if str(error) else type(error).__name__
            raise StoreUnwritable(f"store {self.url}: cannot be {done} ({reason})") from error

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _relative(self, path: str) -> str:
        return path.removeprefix("/").removeprefix(self._root.removeprefix("/") + "/")


def _modified(info: dict[str, Any]) -> float:
    """Seconds since 1970; now-ish (never collected) where the file system does not tell."""
    value = next((info[name] for name in ("LastModified", "mtime", "modified", "created") if info.get(name)), None)
    if isinstance(value, datetime):
        return value.timestamp()
    return float(value) if isinstance(value, int | float) else float("inf")
