"""What a target holds: its versions, newest first, as ``versions/publication.json`` says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.published import SEAL, VERSIONS, Seal

PUBLICATION = f"{VERSIONS}/publication.json"


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One site as it was published; ``seal`` is the hash of its seal, which names every file with its own."""

    name: str
    published: str  # UTC, ISO 8601, to the second
    seal: str
    root: str  # of the store that it was built from
    files: int
    bytes: int
    records: int  # that it carries

    @property
    def folder(self) -> str:
        return f"{VERSIONS}/{self.name}"


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """``current`` is the name of the version at the root."""

    current: str = ""
    versions: tuple[Version, ...] = ()

    def of_seal(self, seal: str) -> Version | None:
        return next((version for version in self.versions if version.seal == seal), None)

    @property
    def newest(self) -> Version | None:
        return next((version for version in self.versions if version.name == self.current), None)

    def with_current(self, version: Version) -> Publication:
        """The same versions and this one, which is at the root from now on."""
        others = tuple(other for other in self.versions if other.name != version.name)
        ordered = sorted((version, *others), key=lambda one: one.published, reverse=True)
        return Publication(current=version.name, versions=tuple(ordered))


class Site(msgspec.Struct, frozen=True):
    """A built, sealed site on this disk."""

    folder: Path
    seal: str
    root: str
    hashes: Mapping[str, str]  # path → SHA-256, the seal itself included
    sizes: Mapping[str, int]

    @property
    def records(self) -> tuple[str, ...]:
        """Ids of the records that it carries."""
        return tuple(Path(path).stem for path in self.hashes if _is_evidence(path, ".json"))

    @property
    def evidence(self) -> tuple[str, ...]:
        """SHA-256 of the evidence files that it carries."""
        return tuple(Path(path).stem for path in self.hashes if _is_evidence(path, ".txt"))

    def version(self, now: datetime) -> Version:
        return Version(
            name=f"{now:%Y-%m-%d}-{self.seal[:12]}",
            published=now.astimezone(UTC).isoformat(timespec="seconds"),
            seal=self.seal,
            root=self.root,
            files=len(self.sizes),
            bytes=sum(self.sizes.values()),
            records=len(self.records),
        )


def read_site(folder: Path) -> Site:
    """Raises SiteBroken if there is no sealed site."""
    try:
        data = (folder / SEAL).read_bytes()
        seal = msgspec.json.decode(data, type=Seal)
    except (OSError, msgspec.MsgspecError):
        raise SiteBroken(f"{folder} holds no built site: build one with `tensor-assets report`") from None
    digest = hashlib.sha256(data).hexdigest()
    hashes = {**seal.files, SEAL: digest}
    try:
        sizes = {path: (folder / path).stat().st_size for path in hashes}
    except FileNotFoundError as error:
        raise SiteBroken(f"{error.filename} is gone since the site was built: build it again") from None
    return Site(folder, digest, seal.root, hashes, sizes)


def _is_evidence(path: str, suffix: str) -> bool:
    name = Path(path)
    return name.parent.as_posix() == "evidence" and name.suffix == suffix and len(name.stem) == 64
