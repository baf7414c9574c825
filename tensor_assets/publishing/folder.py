"""A folder: the new one is made beside it, out of links to what stays, and takes its name in one step."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Set
from pathlib import Path

from tensor_assets.errors import SettingsError, StoreUnwritable
from tensor_assets.evidence.published import LISTING, SEAL, VERSIONS
from tensor_assets.publishing.listing import LEADS_THERE
from tensor_assets.publishing.planning import Holding, Plan
from tensor_assets.publishing.reading import encoded, read_hashes, read_publication
from tensor_assets.publishing.versions import PUBLICATION, Site
from tensor_assets.report.site import swap


class FolderTarget:
    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder.resolve(), str(folder)  # a link to the place stays one

    def holding(self) -> Holding:
        if self.folder.exists() and not self.folder.is_dir():
            raise SettingsError(f"{self.name} is no folder")
        files = {path: (self.folder / path).stat().st_size for path in _files(self.folder) if path != LISTING}
        return Holding(
            publication=read_publication(_bytes(self.folder / PUBLICATION), self.name),
            hashes=read_hashes(_bytes(self.folder / SEAL)),
            files={path: size for path, size in files.items() if not path.startswith(f"{VERSIONS}/")},
        )

    def put(self, site: Site, plan: Plan, listing: str) -> None:
        """A reader sees the old site or the new one, never a half of either."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            staging = Path(tempfile.mkdtemp(prefix=f".{self.folder.name}-", dir=self.folder.parent))
        except OSError as error:
            raise StoreUnwritable(f"{self.name} cannot be written: {error.strerror}") from error
        try:
            made = staging / "site"
            made.mkdir()
            self._fill(made, site, plan, listing)
            swap(made, self.folder)
        except OSError as error:
            raise StoreUnwritable(f"{self.name} cannot be written: {error.strerror}; nothing changed there") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _fill(self, made: Path, site: Site, plan: Plan, listing: str) -> None:
        leaving = {change.path for change in plan.changes} | {LISTING, PUBLICATION}
        for path in _files(self.folder):
            if path not in leaving:
                _link(self.folder / path, made / path)
        if not plan.known:
            for path in site.hashes:
                _copy(site.folder / path, made / plan.version.folder / path)
            (made / plan.version.folder / LISTING).write_text(LEADS_THERE, encoding="utf-8")
        for change in plan.changes:
            if change.kind != "removed":
                _copy(site.folder / change.path, made / change.path)
        (made / LISTING).write_text(listing, encoding="utf-8")
        (made / PUBLICATION).write_bytes(encoded(plan.publication))
        if self.folder.is_dir():
            _keep_rest(self.folder, made, leaving)


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]


def _keep_rest(folder: Path, made: Path, leaving: Set[str]) -> None:
    """The folder's own mode; and what is no file and somebody else's too: links, and empty folders, without which a
    git checkout is none."""
    shutil.copymode(folder, made)
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        there = made / relative
        if os.path.lexists(there) or relative.as_posix() in leaving:
            continue
        if path.is_symlink():
            there.parent.mkdir(parents=True, exist_ok=True)
            there.symlink_to(path.readlink())
        elif path.is_dir() and not any(path.iterdir()):
            there.mkdir(parents=True)


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _link(source: Path, target: Path) -> None:
    """The same file in the new folder, where the disk allows that: the old folder goes away. The root and a version's
    own folder never share one, so that a hand which edits the root does not reach the version."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)
