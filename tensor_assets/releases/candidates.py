"""A compiler at another version, companions included, ready to be asked like the accepted one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from packaging.utils import parse_wheel_filename

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import SettingsError
from tensor_assets.records import Outcome
from tensor_assets.releases.locks import lock_with, release_in


class Candidate(NamedTuple):
    """``space`` is the workspace in which this compiler has the candidate's lock: every step of a campaign works in it,
    and what it files is under the candidate's own environment, beside the accepted one."""

    compiler: str
    release: dict[str, str]  # package → version, companions included
    lock: Path
    space: Workspace


def at_version(
    space: Workspace, compiler: str, version: str, companions: Mapping[str, str] | None = None, *, pre: bool = False
) -> Candidate | Outcome:
    """``compiler`` at ``version`` (or the address of a wheel), with these companions, else with the accepted ones where
    they go with it. Its environment is built by ``environment_record(candidate.space, compiler, target)``.

    What cannot be resolved is an outcome. Raises SettingsError for a compiler that is in no package.
    """
    package = space.adapter(compiler).package
    if not package:
        raise SettingsError(f"{compiler} is not installed from a package index: it has no versions to choose from")
    return candidate_of(space, compiler, {package: version, **(companions or {})}, pre=pre)


def candidate_of(
    space: Workspace, compiler: str, pins: Mapping[str, str], upgrade: tuple[str, ...] = (), *, pre: bool = False
) -> Candidate | Outcome:
    """``compiler`` with these pins; companions in ``upgrade`` as new as they can be."""
    adapter = space.adapter(compiler)
    lock = lock_with(adapter, pins, space.settings.cache / "locks", upgrade=upgrade, pre=pre)
    if isinstance(lock, Outcome):
        return lock
    release = {name: _of_file(version) for name, version in release_in(adapter, lock.read_text()).items()}
    return Candidate(compiler, release, lock, space.with_lock(compiler, lock))


def _of_file(version: str) -> str:
    """A pin as a version; of somebody's own wheel the version in its name, and the folder it was kept under by hash."""
    if "://" not in version:
        return version
    path = PurePosixPath(urlsplit(version).path)
    _, found, _, _ = parse_wheel_filename(unquote(path.name))
    return f"{found} ({path.parent.name})"
