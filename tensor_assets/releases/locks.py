"""Locks of candidates: a compiler's requirements with other pins, resolved anew, every file with its hash."""

from __future__ import annotations

import difflib
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tensor_assets.records import Outcome
from tensor_assets.workers.adapters import AdapterFolder, lock_hash
from tensor_assets.workers.installer import InstallFailed, resolve

# As the repository's own locks are made: for every Python from this one on, and every platform.
UNIVERSAL = ("--universal", "--python-version", "3.11")


def versions_in(lock: str) -> dict[str, str]:
    """Package → version of every pin of a lock; one that is pinned to a file has its file's address for a version.

    Of a package with several pins, each for other Pythons or platforms, the one that applies here is told.
    """
    found: dict[str, str] = {}
    for line in lock.splitlines():
        requirement = _requirement(line.removesuffix("\\"))
        if requirement is not None:
            pins = [one.version for one in requirement.specifier if one.operator == "=="]
            name = canonicalize_name(requirement.name)
            if name not in found or (requirement.marker and requirement.marker.evaluate()):
                found[name] = requirement.url or (pins[0] if pins else "")
    return found


def release_in(adapter: AdapterFolder, lock: str) -> dict[str, str]:
    """The pins that make up a release of this compiler: its package first, then the companions that the lock has."""
    versions = versions_in(lock)
    names = [canonicalize_name(name) for name in (adapter.package, *adapter.companions) if name]
    return {name: versions[name] for name in names if name in versions}


def lock_with(
    adapter: AdapterFolder, pins: Mapping[str, str], folder: Path, *, upgrade: Collection[str] = (), pre: bool = False
) -> Path | Outcome:
    """A lock of ``adapter`` with ``pins`` (package → version, or the address of a wheel), kept in ``folder``.

    Everything else stays as it is locked now wherever that still fits. Companions in ``upgrade`` may become as new as
    they can; where the new pins do not go with what the other lines ask, the other companions may move too, and then
    the rest, each as little as possible. What cannot be resolved is an outcome with the resolver's first reason.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted: dict[str, str] = {canonicalize_name(name): version for name, version in pins.items()}
    companions = {canonicalize_name(name) for name in adapter.companions} - wanted.keys()
    free = companions & {canonicalize_name(name) for name in upgrade}
    pinned = set(versions_in((adapter.path / "requirements.in").read_text())) - wanted.keys()
    refused: Outcome | None = None
    steps = [frozenset[str](step) for step in (free, companions, companions | pinned)]
    for freed in dict.fromkeys(steps):
        found = _resolved(adapter, wanted, freed, free, folder, pre)
        if not isinstance(found, Outcome):
            return found
        refused = refused or found
    assert refused is not None, "it was tried once at least"
    return refused


def lock_difference(old: str, new: str) -> str:
    """What changed between two locks, as a diff of their pins: hashes are told by the locks themselves."""
    before, after = (sorted(f"{name}=={version}" for name, version in versions_in(lock).items()) for lock in (old, new))
    lines = difflib.unified_diff(before, after, "accepted", "candidate", lineterm="", n=0)
    return "".join(f"{line}\n" for line in lines)


def _resolved(
    adapter: AdapterFolder,
    pins: Mapping[str, str],
    free: Collection[str],
    upgrade: Collection[str],
    folder: Path,
    pre: bool,
) -> Path | Outcome:
    with tempfile.TemporaryDirectory(prefix="lock-", dir=folder) as name:
        requirements, lock = Path(name) / "requirements.in", Path(name) / "requirements.lock"
        requirements.write_text(_repinned((adapter.path / "requirements.in").read_text(), pins, free))
        shutil.copyfile(adapter.lock, lock)  # what it holds is preferred
        options = [*UNIVERSAL, "--prerelease", "allow" if pre else "if-necessary-or-explicit"]
        options += [part for one in (*pins, *upgrade) for part in ("--upgrade-package", one)]
        try:
            resolve(requirements, lock, Path(name) / "uv.log", options)
        except InstallFailed as failure:
            what = ", ".join(f"{package} {version}" for package, version in pins.items())
            return Outcome(status="unavailable", reason=f"{adapter.name} with {what} cannot be resolved: {failure}")
        kept = folder / f"{adapter.name}-{lock_hash(lock)[:16]}.lock"
        lock.rename(kept)
        return kept


def _repinned(text: str, pins: Mapping[str, str], free: Collection[str]) -> str:
    """The requirements with other pins; of a ``free`` package the resolver decides the version."""
    left, lines = set(pins), []
    for line in text.splitlines():
        requirement = _requirement(line)
        name = canonicalize_name(requirement.name) if requirement else ""
        if requirement is not None and name in (*pins, *free):
            left.discard(name)
            extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            line = _line(requirement.name + extras, pins.get(name, ""), str(requirement.marker or ""))
        lines.append(line)
    lines += [_line(name, version, "") for name, version in pins.items() if name in left]
    return "".join(f"{line}\n" for line in lines)


def _line(name: str, version: str, marker: str) -> str:
    pin = f" @ {version}" if "://" in version else f"=={version}" if version else ""
    return f"{name}{pin}" + (f" ; {marker}" if marker else "")


def _requirement(line: str) -> Requirement | None:
    try:
        return Requirement(line.partition(" #")[0].strip())
    except InvalidRequirement:  # a comment, a hash, an empty line
        return None
