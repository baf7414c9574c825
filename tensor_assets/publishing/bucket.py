"""Any fsspec URL. Nothing there can be swapped in one step, so the order is what protects a reader.

A version's own folder is complete before anything at the root changes. At the root, files that pages load come before
the pages and the seal after them; what is no longer needed goes last. An interrupted publication is finished by the
next one, and until then every version's own folder is whole.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from upath import UPath

from tensor_assets.errors import SettingsError, StoreUnwritable
from tensor_assets.evidence.address import without_credentials
from tensor_assets.evidence.published import LISTING, SEAL, VERSIONS
from tensor_assets.evidence.remote import ATOMIC
from tensor_assets.publishing.listing import LEADS_THERE
from tensor_assets.publishing.planning import Holding, Plan
from tensor_assets.publishing.reading import encoded, read_hashes, read_publication
from tensor_assets.publishing.versions import PUBLICATION, Site

_ARRIVING = f"{VERSIONS}/arriving-"


class BucketTarget:
    """Files are sent under their own names, from which an object store tells a page from a picture."""

    def __init__(self, url: str) -> None:
        self.name = without_credentials(url)
        try:
            root = UPath(url)
            self._fs: Any = root.fs
        except (ImportError, ValueError) as error:
            raise SettingsError(f"--to {self.name!r}: {_reason(error)}") from None
        except Exception as error:  # every library below fsspec has exceptions of its own
            raise StoreUnwritable(f"{self.name} cannot be reached: {_reason(error)}") from None
        self._root = str(root.path).rstrip("/")
        self._atomic = root.protocol in ATOMIC

    def holding(self) -> Holding:
        with self._reached("read"):
            self._fs.invalidate_cache()
            sizes = self._sizes()
            ours = {path: self._fs.cat_file(self._at(path)) for path in (PUBLICATION, SEAL) if path in sizes}
        return Holding(
            publication=read_publication(ours.get(PUBLICATION), self.name),
            hashes=read_hashes(ours.get(SEAL)),
            files={path: n for path, n in sizes.items() if path != LISTING and not path.startswith(f"{VERSIONS}/")},
        )

    def put(self, site: Site, plan: Plan, listing: str) -> None:
        with self._reached("written"), tempfile.TemporaryDirectory(prefix="tensor-assets-publish-") as scratch:
            made = _written(Path(scratch), {LISTING: listing.encode(), PUBLICATION: encoded(plan.publication)})
            if not plan.known:
                leads = _written(Path(scratch) / "there", {LISTING: LEADS_THERE.encode()})
                whole = {path: site.folder / path for path in site.hashes} | leads
                self._send({f"{plan.version.folder}/{path}": source for path, source in whole.items()})
            for paths in _in_order(plan):
                self._replace({path: site.folder / path for path in paths})
            self._replace(made)
            for path in [change.path for change in plan.of("removed")] + self._left_behind():
                self._fs.rm_file(self._at(path))

    def _left_behind(self) -> list[str]:
        """What an interrupted publication had sent and not yet put in its place."""
        self._fs.invalidate_cache()
        return [path for path in self._sizes() if path.startswith(_ARRIVING)]

    def _sizes(self) -> dict[str, int]:
        try:
            found = self._fs.find(self._root, detail=True)
        except FileNotFoundError:
            return {}
        strip = self._root.removeprefix("/") + "/"
        return {path.removeprefix("/").removeprefix(strip): int(info["size"]) for path, info in found.items()}

    def _send(self, files: Mapping[str, Path]) -> None:
        """Where nobody looks yet: many at once."""
        if not files:
            return
        for folder in sorted({self._at(path).rpartition("/")[0] for path in files}):
            self._fs.makedirs(folder, exist_ok=True)
        self._fs.put([str(source) for source in files.values()], [self._at(path) for path in files])

    def _replace(self, files: Mapping[str, Path]) -> None:
        """Under the eyes of readers: a file is there whole or not at all."""
        if self._atomic:
            self._send(files)
            return
        arriving = {path: f"{_ARRIVING}{secrets.token_hex(8)}" for path in files}
        self._send({arriving[path]: source for path, source in files.items()})
        for path, there in arriving.items():
            self._fs.makedirs(self._at(path).rpartition("/")[0], exist_ok=True)
            self._fs.mv(self._at(there), self._at(path))

    @contextmanager
    def _reached(self, done: str) -> Iterator[None]:
        try:
            yield
        except (SettingsError, StoreUnwritable):
            raise
        except Exception as error:  # every library below fsspec has exceptions of its own
            again = "; the same command finishes what was begun" if done == "written" else ""
            raise StoreUnwritable(f"{self.name} cannot be {done}: {_reason(error)}{again}") from error

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"


def _in_order(plan: Plan) -> list[list[str]]:
    """What pages load, the pages, the seal."""
    paths = [change.path for change in plan.changes if change.kind != "removed" and change.path != SEAL]
    seal = [change.path for change in plan.changes if change.kind != "removed" and change.path == SEAL]
    pages = [path for path in paths if path.endswith(".html")]
    return [[path for path in paths if not path.endswith(".html")], pages, seal]


def _written(folder: Path, files: Mapping[str, bytes]) -> dict[str, Path]:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return {path: folder / path for path in files}


def _reason(error: Exception) -> str:
    return without_credentials(str(error).splitlines()[0]) if str(error) else type(error).__name__
