"""A candidate that somebody has: a wheel, a source folder, or a published version."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import SettingsError
from tensor_assets.progress import announce
from tensor_assets.records import Outcome
from tensor_assets.releases.candidates import Candidate, at_version
from tensor_assets.workers.installer import InstallFailed, ask_uv


def given_candidate(space: Workspace, compiler: str, given: str, *, pre: bool = False) -> Candidate:
    """The candidate that ``given`` names: a path to a wheel or to a source folder, else a version on the index.

    Raises SettingsError where it is none of these, is a wheel of another package, cannot be built or does not resolve.
    """
    adapter = space.adapter(compiler)
    path = Path(given)
    if path.is_dir():
        with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
            version = _kept(_built(path, Path(folder)), adapter.package, space.settings.cache)
    elif path.suffix == ".whl":
        version = _kept(path, adapter.package, space.settings.cache)
    else:
        version = _version(given)
    found = at_version(space, compiler, version, pre=pre)
    if isinstance(found, Outcome):
        raise SettingsError(f"--candidate {given}: {found.reason}")
    return found


def _version(given: str) -> str:
    try:
        return str(Version(given))
    except InvalidVersion:
        raise SettingsError(f"--candidate {given!r} is no wheel, no folder and no version") from None


def _built(source: Path, folder: Path) -> Path:
    """A wheel of a source folder, made by its own build system in ``folder``."""
    announce(f"building a wheel of {source.name}")
    try:
        ask_uv(["build", "--wheel", "--out-dir", str(folder), str(source.resolve())], folder / "uv.log")
        (wheel,) = folder.glob("*.whl")
    except InstallFailed as failure:
        raise SettingsError(f"--candidate {source}: no wheel can be built of it: {failure}") from None
    return wheel


def _kept(wheel: Path, package: str, cache: Path) -> str:
    """The wheel's address in the cache, in a folder named by its hash: the file that was given may change."""
    if not wheel.is_file():
        raise SettingsError(f"--candidate {wheel}: there is no such file")
    try:
        name, *_ = parse_wheel_filename(wheel.name)
    except InvalidWheelFilename as error:
        raise SettingsError(f"--candidate {wheel}: {error}") from None
    if name != canonicalize_name(package):
        raise SettingsError(f"--candidate {wheel}: it is a wheel of {name}, not of {package}")
    folder = cache / "candidates" / hashlib.sha256(wheel.read_bytes()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(wheel, folder / wheel.name)
    return (folder / wheel.name).resolve().as_uri()
