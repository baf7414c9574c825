"""Folders that live as long as the process that made them; what a killed process left is removed by the next."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensor_assets.errors import StoreUnwritable
from tensor_assets.workers.exclusive import exclusive

_LOCK = ".owner"


@contextmanager
def scratch_folder(cache: Path, prefix: str = "worker-") -> Iterator[Path]:
    """A new folder below ``cache/scratch``, removed at the end. Raises StoreUnwritable."""
    scratch = cache / "scratch"
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        # One at a time: a folder that is made but not yet owned must not look like an orphan.
        with exclusive(scratch / _LOCK, lambda: None):
            _remove_orphans(scratch)
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=scratch))
            owner = (folder / _LOCK).open("ab")
            fcntl.flock(owner, fcntl.LOCK_EX)
    except OSError as error:
        raise StoreUnwritable(f"{scratch}: workers cannot write there ({error.strerror})") from None
    with owner:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_orphans(scratch: Path) -> None:
    for folder in scratch.iterdir():
        try:
            with (folder / _LOCK).open("rb") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # its owner is alive, or it is the lock file itself
