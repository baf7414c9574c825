"""Folders and stores that must take files, and the room on their disks."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import fsspec

from tensor_assets.doctor.findings import Finding, fail, first_line, ok, warn
from tensor_assets.errors import TensorAssetsError
from tensor_assets.evidence.store import MARKER, MARKER_CONTENT, EvidenceStore
from tensor_assets.sessions import lease
from tensor_assets.settings import Settings

# A capture's stages and scratch files; below it a campaign ends in "full disk".
LEAST_BYTES = 2 * 10**9
# All compilers' environments and their downloads take 7 GB.
BUILDING_BYTES = 15 * 10**9


def check_places(settings: Settings, home: Path) -> Iterator[Finding]:
    """Cache, site, lease folder and Dagster's home take a file; nothing stays behind, no folder is made."""
    yield check_folder("cache", settings.cache, "TENSOR_ASSETS_CACHE")
    yield check_folder("site", settings.site.parent, "TENSOR_ASSETS_SITE")
    yield check_folder("lease folder", lease.default_folder(), "TENSOR_ASSETS_LEASE")
    yield check_folder("dagster home", home, "DAGSTER_HOME")


def check_folder(subject: str, folder: Path, variable: str) -> Finding:
    there = existing(folder)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return fail(subject, f"{folder} cannot be written ({why})", f"export {variable}=/a/folder/that/can/be/written")
    return ok(subject, f"{folder}{'' if folder == there else ' (will be made)'}")


def check_store(url: str) -> Finding:
    """A local store by a file beside its objects; a remote one by a file that is written and removed again."""
    remedy = "export TENSOR_ASSETS_STORE=/a/path or an fsspec URL"
    if "://" not in url:
        marker = Path(url) / MARKER
        if marker.is_file() and marker.read_bytes() != MARKER_CONTENT:
            return fail("store", f"{marker} is of another layout than this version reads", remedy)
        return check_folder("store", Path(url), "TENSOR_ASSETS_STORE")
    try:
        files = EvidenceStore(url).files
        staged = files.stage()
        staged.file.write(b"doctor")
        files.commit(staged, f"staging/doctor-{staged.path.name}")
        files.remove(f"staging/doctor-{staged.path.name}")
    except (TensorAssetsError, ImportError, ValueError, OSError) as error:
        return fail("store", f"{url}: {first_line(error)}", _driver(url) or remedy)
    return ok("store", f"{url} takes files")


def check_disks(settings: Settings, least: int = LEAST_BYTES, building: int = BUILDING_BYTES) -> Iterator[Finding]:
    """Free room where evidence and environments go, one finding per disk."""
    places = {"cache": settings.cache, "site": settings.site.parent, "temporary files": Path(tempfile.gettempdir())}
    if "://" not in settings.store:
        places["store"] = Path(settings.store)
    disks: dict[int, list[str]] = {}
    for name, folder in places.items():
        disks.setdefault(existing(folder).stat().st_dev, []).append(name)
    for names in disks.values():
        folder = existing(places[names[0]])
        yield _room(f"disk of {', '.join(names)}", folder, least, building if "cache" in names else least)


def _room(subject: str, folder: Path, least: int, wanted: int) -> Finding:
    free = shutil.disk_usage(folder).free
    said = f"{free / 1e9:.1f} GB free at {folder}"
    if free < least:
        return fail(subject, f"{said}; {least / 1e9:.0f} GB are needed", "tensor-assets gc --delete, or another disk")
    if free < wanted:
        return warn(
            subject, f"{said}; building every environment takes {wanted / 1e9:.0f} GB", "make room on this disk"
        )
    return ok(subject, said)


def existing(folder: Path) -> Path:
    """The folder itself, or the nearest above it that is there (or whatever is in its way)."""
    return next((one for one in (folder, *folder.absolute().parents) if one.exists()), Path("/"))


def _driver(url: str) -> str:
    """What installs the file system of a URL's protocol, where it is known and missing."""
    try:
        fsspec.get_filesystem_class(url.partition("://")[0])
    except ImportError as error:
        return first_line(error)
    except ValueError:
        pass
    return ""
