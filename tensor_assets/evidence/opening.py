"""Where a store lies: a folder, or any fsspec URL."""

from __future__ import annotations

from pathlib import Path

from upath import UPath

from tensor_assets.errors import SettingsError
from tensor_assets.evidence.address import without_credentials
from tensor_assets.evidence.files import Files, LocalFiles
from tensor_assets.evidence.key import one_line
from tensor_assets.evidence.remote import RemoteFiles


def open_files(url: str | Path) -> Files:
    """Raises SettingsError for a URL of a kind that cannot be opened here, and for a path that is no folder's."""
    given = one_line(without_credentials(str(url)))
    try:
        path = UPath(url)
        if path.protocol not in ("", "file", "local"):
            return RemoteFiles(path, str(url))
    except (ImportError, ValueError) as error:
        raise SettingsError(f"store {given}: {error}; name a folder or another fsspec URL") from None
    folder = Path(path.path).absolute()
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"store {one_line(str(folder))} is a file; name a folder or an fsspec URL")
    return LocalFiles(folder)
