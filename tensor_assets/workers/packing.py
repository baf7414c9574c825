"""Everything a GPU host without a network needs, in one folder: compilers, profilers, this project, one script to run.

``campaign`` in it does what ``tensor-assets campaign`` does here. ``packed.json`` is what ``packed.py`` reads there.
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
_LEFT = shutil.ignore_patterns("__pycache__", "*.egg-info", "recorded")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """Where the folder will be used. ``python`` is a minor version, ``platform`` a name that uv knows."""

    python: str  # "3.12"
    platform: str = "x86_64-manylinux_2_34"
    installed: frozenset[str] = frozenset()  # compilers that are there already, in that Python


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
    compilers = msgspec.json.decode((folder / "packed.json").read_bytes(), type=dict[str, list[str]])
    return names <= {*ours, *compilers, "packed.json", "campaign", "pack.log"}


def _pack_project(made: Path, host: Host, log: Path, progress: Progress) -> None:
    project = made / PROJECT
    progress("packing this project and what its campaigns need")
    for part in ("tensor_assets", "adapters", "fixtures"):
        shutil.copytree(ROOT / part, project / part, ignore=_LEFT)
    metadata = project / "tensor_assets.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: tensor-assets\nVersion: {version('tensor-assets')}\n")
    try:
        for name, lock in ((PACKAGES, "campaign"), (KIT, "kit"), (PROFILERS, "profilers")):
            _install(LOCKS / f"{lock}.lock", made / name, host, log)
    except InstallFailed as failure:
        raise SettingsError(f"for Python {host.python} on {host.platform}: {failure}") from None
    script = made / "campaign"
    script.write_text(_SCRIPT.replace("@PYTHON@", host.python))
    script.chmod(0o755)


def _pack_compiler(adapter: AdapterFolder, host: Host, made: Path, log: Path, progress: Progress) -> str | None:
    if adapter.name in host.installed:
        return None
    progress(f"{adapter.name}: packing for Python {host.python} on {host.platform}")
    try:
        _install(adapter.lock, made / adapter.name, host, log)
    except InstallFailed as failure:
        shutil.rmtree(made / adapter.name, ignore_errors=True)
        return str(failure)
    return None


def _install(lock: Path, folder: Path, host: Host, log: Path) -> None:
    where = ["--target", str(folder), "--python-version", host.python, "--python-platform", host.platform]
    folder.mkdir()
    if not any("==" in line for line in lock.read_text().splitlines()):
        return
    ask_uv(["pip", "install", "--require-hashes", "--only-binary", ":all:", *where, "-r", str(lock)], log)


_SCRIPT = """#!/usr/bin/env bash
# tensor-assets campaign with everything that was brought along: nothing is installed, no network is asked.
# PYTHON names the interpreter; evidence goes to ./store unless TENSOR_ASSETS_STORE names another place.
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
export TENSOR_ASSETS_STORE="${TENSOR_ASSETS_STORE:-$PWD/store}" TENSOR_ASSETS_CACHE="${TENSOR_ASSETS_CACHE:-$PWD/cache}"
exec "$python" -m tensor_assets campaign "$@"
"""
