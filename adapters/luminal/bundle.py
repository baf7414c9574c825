"""Reads a Luminal capture bundle. Everything is checked before anything is believed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from .checks import check_candidates, check_cohort, check_egraph, check_lets, check_plan
from .egraph import EGraph, read_egraph
from .errors import BundleError
from .logical import Binding, read_logical
from .schema import Manifest, PlanCandidate, SelectedPlan

T = TypeVar("T")

MANIFEST = "manifest.json"
LOGICAL, EGRAPH, CANDIDATES, PLAN, PATCH = "logical.egg", "egraph.json", "candidates.jsonl", "plan.json", "patch.diff"
REQUIRED = (LOGICAL, EGRAPH, CANDIDATES, PLAN)

# The largest e-graph seen has 5,228 nodes, about a megabyte; beyond this a file is a mistake.
LARGEST_FILE = 64 * 1024 * 1024


@dataclass(frozen=True)
class Bundle:
    manifest: Manifest
    logical_text: str
    logical: tuple[Binding, ...]
    egraph_text: str
    egraph: EGraph
    candidates: tuple[PlanCandidate, ...]
    plan: SelectedPlan
    kernels: dict[str, str]  # file below kernels/ → CUDA source

    @property
    def variant(self) -> str:
        """Names the cohort and the patch: captures that differ in either are never put together under one name."""
        parts = [self.manifest.variant]
        if self.manifest.cohort == "widened":
            parts.append("widened")
        if self.manifest.patch is not None:
            parts.append(f"patch-{self.manifest.patch.sha256[:12]}")
        return "-".join(parts)


def read_bundle(folder: Path) -> Bundle:
    """Raises BundleError, which names the file and the place."""
    manifest = _decode(_bytes(folder, MANIFEST), Manifest, MANIFEST)
    files = _verified_files(folder, manifest)
    logical_text = _text(files, LOGICAL)
    bundle = Bundle(
        manifest=manifest,
        logical_text=logical_text,
        logical=read_logical(logical_text),
        egraph_text=_text(files, EGRAPH),
        egraph=read_egraph(files[EGRAPH]),
        candidates=_candidates(files[CANDIDATES]),
        plan=_decode(files[PLAN], SelectedPlan, PLAN),
        kernels={name: _text(files, name) for name in files if name.startswith("kernels/")},
    )
    check_lets(manifest, bundle.logical)
    check_cohort(manifest, bundle.logical)
    check_egraph(manifest, bundle.egraph)
    check_candidates(bundle.candidates)
    check_plan(manifest, bundle.plan, bundle.kernels)
    return bundle


def _verified_files(folder: Path, manifest: Manifest) -> dict[str, bytes]:
    """Every file of the manifest, by its hash; the folder holds nothing else."""
    for name in manifest.files:
        _check_name(name)
    for name in REQUIRED:
        if name not in manifest.files:
            raise BundleError(MANIFEST, f"{name} is not listed", "files")
    _check_patch(manifest)
    present = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()
    }
    for name in sorted(present - {MANIFEST} - manifest.files.keys()):
        raise BundleError(name, "the manifest does not list it")
    files = {name: _bytes(folder, name) for name in manifest.files}
    for name, data in files.items():
        found = hashlib.sha256(data).hexdigest()
        if found != manifest.files[name]:
            raise BundleError(name, f"its sha256 is {found[:12]}…, the manifest says {manifest.files[name][:12]}…")
    return files


def _check_name(name: str) -> None:
    path = PurePosixPath(name)
    plain = not path.is_absolute() and ".." not in path.parts and path.as_posix() == name and "\\" not in name
    kernel = len(path.parts) == 2 and path.parts[0] == "kernels" and path.suffix == ".cu"
    if not plain or not (name in (*REQUIRED, PATCH) or kernel):
        raise BundleError(MANIFEST, f"{name!r} is no file of a bundle", "files")


def _check_patch(manifest: Manifest) -> None:
    if manifest.patch is None and PATCH in manifest.files:
        raise BundleError(MANIFEST, f"{PATCH} is there, but no patch is declared", "patch")
    if manifest.patch is not None and manifest.files.get(PATCH) != manifest.patch.sha256:
        raise BundleError(MANIFEST, f"the declared patch is not the {PATCH} of the bundle", "patch/sha256")


def _bytes(folder: Path, name: str) -> bytes:
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise BundleError(name, "the bundle has no such file")
    if path.stat().st_size > LARGEST_FILE:
        raise BundleError(name, f"{path.stat().st_size:,} bytes are more than the {LARGEST_FILE:,} that are read")
    return path.read_bytes()


def _text(files: dict[str, bytes], name: str) -> str:
    try:
        return files[name].decode("utf-8")
    except UnicodeDecodeError as error:
        raise BundleError(name, f"it is not UTF-8: {error.reason} at byte {error.start}") from None


def _candidates(data: bytes) -> tuple[PlanCandidate, ...]:
    lines = [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]
    return tuple(_decode(line, PlanCandidate, CANDIDATES, f"line {number}") for number, line in lines)


def _decode(data: bytes, kind: type[T], file: str, place: str = "") -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(file, str(error), place) from None
