"""Which compilers there are: one folder each, described by its ``adapter.json``."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from tensor_assets.errors import ManifestError

# Where `tensor_worker` is imported from: every worker gets it on its path, no environment installs it.
KIT = Path(__file__).resolve().parents[2] / "adapters" / "worker"


class SystemTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that pip cannot bring. ``command`` lists names in order of preference."""

    command: tuple[str, ...]
    debian: str  # the package that brings one of them
    why: str
    variable: str = ""  # environment variable through which the compiler is told which one, e.g. "CC"
    targets: tuple[str, ...] = ()  # targets that need it; empty for all


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    title: str
    colour: str
    package: str
    targets: tuple[str, ...]
    language: str = "python"
    companions: tuple[str, ...] = ()
    system: tuple[SystemTool, ...] = ()
    order: int = 100
    worker_variable: str = ""
    worker_version: str = ""
    import_variable: str = ""
    variables: dict[str, str] = {}


class AdapterFolder(msgspec.Struct, frozen=True, kw_only=True):
    """One compiler's folder."""

    path: Path
    name: str
    title: str
    colour: str
    package: str  # the distribution whose release matters
    targets: tuple[str, ...]
    language: str = "python"
    companions: tuple[str, ...] = ()  # distributions that are upgraded together with it
    system: tuple[SystemTool, ...] = ()
    worker_variable: str = ""  # environment variable that may name an executable serving in the kit's place
    worker_version: str = ""  # the one version such an executable must report; empty for any
    import_variable: str = ""  # environment variable that names a capture made elsewhere, where the adapter reads such
    variables: dict[str, str] = {}  # set for every worker of this compiler
    other_lock: Path | None = None  # in place of the folder's own: an accepted release, or one on trial
    candidate: bool = False  # whether that lock is one on trial

    @property
    def own_lock(self) -> Path:
        return self.path / "requirements.lock"

    @property
    def lock(self) -> Path:
        return self.other_lock or self.own_lock

    @property
    def lock_sha256(self) -> str:
        return lock_hash(self.lock)


def lock_hash(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def discover(folder: Path) -> dict[str, AdapterFolder]:
    """Every subfolder with an ``adapter.json``, by name, in their declared order. Raises ManifestError."""
    found = [_read(path) for path in sorted(folder.glob("*/adapter.json"))]
    ordered = sorted(found, key=lambda pair: (pair[0].order, pair[0].name))
    return {manifest.name: adapter for manifest, adapter in ordered}


def _read(path: Path) -> tuple[_Manifest, AdapterFolder]:
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=_Manifest)
    except msgspec.DecodeError as error:
        raise ManifestError(str(path), "", str(error)) from None
    if manifest.name != path.parent.name:
        raise ManifestError(str(path), "/name", f"{manifest.name!r} is not the folder's name {path.parent.name!r}")
    if not (path.parent / "requirements.lock").is_file():
        raise ManifestError(str(path), "", "requirements.lock is missing beside it")
    fields = {name: getattr(manifest, name) for name in manifest.__struct_fields__ if name != "order"}
    return manifest, AdapterFolder(path=path.parent, **fields)
