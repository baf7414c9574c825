"""A built site, checked without the store it was built from.

The last step of a build seals the site: ``evidence/seal.json`` names every file with its hash, so an edit anywhere is
found. What a page says of a record names the record and the place in it (``shown.py``), which survives without the
seal: the record is on the site, under its id, as the bytes that its id is the hash of.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tensor_assets.evidence.findings import Finding, Report
from tensor_assets.evidence.key import canonical, one_line
from tensor_assets.evidence.shown import false_statements

SEAL = "evidence/seal.json"
# Written when a site is published, and again with every later version: no part of what is sealed.
VERSIONS, LISTING = "versions", "versions.html"


class Seal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``root`` is that of the store the site was built from (``verification.root_of``)."""

    root: str
    files: dict[str, str]  # path → SHA-256


def seal_site(site: Path, root: str) -> str:
    """Seal a built site and return the seal's hash: what to note elsewhere of a site that is published."""
    files = {path: _hash(site / path) for path in _files(site) if path != SEAL}
    data = canonical(Seal(root=root, files=files))
    (site / SEAL).parent.mkdir(exist_ok=True)
    (site / SEAL).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def verify_site(site: Path, seal: str = "") -> Report:
    """Every file against the seal, carried evidence against its names, and every number against its record.

    ``seal``: the hash that ``seal_site`` returned, where it is known.
    """
    began = time.monotonic()
    found = [*_broken_seal(site, seal), *_broken_evidence(site), *_broken_numbers(site)]
    paths = list(_files(site))
    return Report(
        url=str(site),
        files=len(paths),
        bytes=sum((site / path).stat().st_size for path in paths),
        records=len(list((site / "evidence").glob("*.json"))) - (site / SEAL).is_file(),
        root=_root(site),
        seconds=time.monotonic() - began,
        findings=tuple(found),
    )


def _broken_seal(site: Path, expected: str) -> Iterator[Finding]:
    data = (site / SEAL).read_bytes() if (site / SEAL).is_file() else b""
    if not data:
        yield Finding("missing", SEAL, "the site was never sealed, or its seal is gone")
        return
    if expected and hashlib.sha256(data).hexdigest() != expected:
        yield Finding("changed", SEAL, "not the seal that was noted")
    try:
        sealed = msgspec.json.decode(data, type=Seal).files
    except msgspec.MsgspecError as error:
        yield Finding("changed", SEAL, one_line(str(error)))
        return
    present = {path for path in _files(site) if path != SEAL}
    for path in sorted(sealed.keys() - present):
        yield Finding("missing", path, "the site was sealed with it")
    for path in sorted(present - sealed.keys()):
        yield Finding("foreign", path, "the site was sealed without it")
    for path in sorted(present & sealed.keys()):
        if _hash(site / path) != sealed[path]:
            yield Finding("changed", path, "edited since the site was sealed")


def _broken_evidence(site: Path) -> Iterator[Finding]:
    for path in sorted((site / "evidence").glob("*.txt")):
        if re.fullmatch(r"[0-9a-f]{64}", path.stem) and _hash(path) != path.stem:
            yield Finding("changed", f"evidence/{path.name}", "does not hash to its name")


def _broken_numbers(site: Path) -> Iterator[Finding]:
    for page, shown, problem in false_statements(site):
        yield Finding("inconsistent", page, one_line(f"{shown[:80]}: {problem}"))


def _root(site: Path) -> str:
    try:
        return msgspec.json.decode((site / SEAL).read_bytes(), type=Seal).root
    except (OSError, msgspec.MsgspecError):
        return ""


def _files(site: Path) -> Iterator[str]:
    """Every file of the site itself."""
    found = (path.relative_to(site).as_posix() for path in sorted(site.rglob("*")) if path.is_file())
    return (path for path in found if path != LISTING and not path.startswith(f"{VERSIONS}/"))


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
