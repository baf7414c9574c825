"""Everything a GPU host without a network needs, in one folder: compilers, profilers, this project, one script to run.

``tensor-assets`` in it does there what the command of that name does here; ``packed.json`` is what ``packed.py`` reads.
Wheels are chosen for the other host's Python and C library, and checked against the locks' hashes as they are here.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from tensor_assets.errors import SettingsError
from tensor_assets.progress import Progress, announce
from tensor_assets.settings import ROOT
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.installer import InstallFailed, ask_uv

LOCKS = ROOT / "tensor_assets" / "locks"
PACKAGES, PROFILERS, KIT, PROJECT = ".packages", ".profilers", ".kit", "project"
SCRIPT = "tensor-assets"
_PARTS = ("tensor_assets", "adapters", "fixtures", "site", "dagster.yaml", "workspace.yaml")
_LEFT = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "build.*")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """Where the folder will be used. ``python`` is a minor version, ``platform`` a name that uv knows."""

    python: str  # "3.12"
    platform: str = "x86_64-manylinux_2_34"
    installed: frozenset[str] = frozenset()  # compilers that are there already, in that Python
    whole: bool = False  # Dagster, its UI and the site too; a campaign needs none of them


def pack(
    adapters: Sequence[AdapterFolder], host: Host, folder: Path, progress: Progress = announce
) -> dict[str, str | None]:
    """Make ``folder``, or make it again, and say for each compiler why it is not in it: None where it is.

    Nothing is at ``folder`` until all of it is. Raises SettingsError if something else is there, or if what every
    campaign needs has no wheel for ``host``.
    """
    _require_ours(folder)
    made = folder.with_name(f".{folder.name}.packing")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    log = made / "pack.log"
    try:
        _pack_project(made, host, log, progress)
        found = {adapter.name: _pack_compiler(adapter, host, made, log, progress) for adapter in adapters}
        sites = {name: [KIT] if name in host.installed else [name] for name, reason in found.items() if reason is None}
        (made / "packed.json").write_bytes(msgspec.json.format(msgspec.json.encode(sites)) + b"\n")
        _swap(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return found


def packed_bytes(folder: Path) -> dict[str, int]:
    """Folder → bytes of the files below it."""
    return {
        place.name: sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        for place in sorted(folder.iterdir())
        if place.is_dir()
    }


def _swap(made: Path, folder: Path) -> None:
    old = made.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    made.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _require_ours(folder: Path) -> None:
    ours = {PACKAGES, PROFILERS, KIT, PROJECT}
    if not folder.exists():
        return
    if not folder.is_dir() or not _only(folder, ours):
        raise SettingsError(f"{folder} exists and is no packed folder (or holds more than that): name another one")


def _only(folder: Path, ours: Collection[str]) -> bool:
    names = {place.name for place in folder.iterdir()}
    if not names:
        return True
    if "packed.json" not in names:
        return False
    try:
        compilers = msgspec.json.decode((folder / "packed.json").read_bytes(), type=dict[str, list[str]])
    except (OSError, msgspec.DecodeError):  # no file that packing wrote
        return False
    return names <= {*ours, *compilers, "packed.json", SCRIPT, "pack.log"}


def _pack_project(made: Path, host: Host, log: Path, progress: Progress) -> None:
    project = made / PROJECT
    progress("packing this project and what its campaigns need")
    project.mkdir()
    for part in _PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, project / part, ignore=_LEFT)
        else:
            shutil.copy(ROOT / part, project)
    metadata = project / "tensor_assets.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: tensor-assets\nVersion: {version('tensor-assets')}\n")
    try:
        own = ("campaign", "runtime") if host.whole else ("campaign",)
        for name, locks in ((PACKAGES, own), (KIT, ("kit",)), (PROFILERS, ("profilers",))):
            _install([LOCKS / f"{lock}.lock" for lock in locks], made / name, host, log)
    except InstallFailed as failure:
        raise SettingsError(f"for Python {host.python} on {host.platform}: {failure}") from None
    script = made / SCRIPT
    script.write_text(_SCRIPT.replace("@PYTHON@", host.python))
    script.chmod(0o755)


def _pack_compiler(adapter: AdapterFolder, host: Host, made: Path, log: Path, progress: Progress) -> str | None:
    if adapter.name in host.installed:
        return None
    progress(f"{adapter.name}: packing for Python {host.python} on {host.platform}")
    try:
        _install([adapter.lock], made / adapter.name, host, log)
    except InstallFailed as failure:
        shutil.rmtree(made / adapter.name, ignore_errors=True)
        return str(failure)
    return None


def _install(locks: Sequence[Path], folder: Path, host: Host, log: Path) -> None:
    where = ["--target", str(folder), "--python-version", host.python, "--python-platform", host.platform]
    folder.mkdir()
    pinned = [lock for lock in locks if "==" in lock.read_text()]
    if pinned:
        named = [word for lock in pinned for word in ("-r", str(lock))]
        ask_uv(["pip", "install", "--require-hashes", "--only-binary", ":all:", *where, *named], log)


_SCRIPT = """#!/usr/bin/env bash
# tensor-assets with everything that was brought along: nothing is installed, no network is asked.
# PYTHON names the interpreter. What is made goes into `made` beside this folder, unless the variables name places.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [[ $found != @PYTHON@ ]]; then
  echo "$python is Python $found, this was packed for @PYTHON@: name another in PYTHON" >&2
  exit 2
fi
export PYTHONPATH="$here/project:$here/project/adapters/worker:$here/.packages"
export TENSOR_ASSETS_PACKED="$here" TENSOR_WORKER_CUPTI="$here/.profilers" SYSTEM_PACKAGES=0
made=$(dirname "$here")/made
: "${TENSOR_ASSETS_STORE:=$made/store}" "${TENSOR_ASSETS_CACHE:=$made/cache}"
: "${TENSOR_ASSETS_SITE:=$made/site}" "${DAGSTER_HOME:=$made/dagster}"
export TENSOR_ASSETS_STORE TENSOR_ASSETS_CACHE TENSOR_ASSETS_SITE DAGSTER_HOME
exec "$python" -m tensor_assets "$@"
"""
