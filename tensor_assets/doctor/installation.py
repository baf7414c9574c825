"""The interpreter, and the project's own packages against the locks that install them."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tensor_assets.doctor.findings import Finding, fail, ok, warn

OLDEST = (3, 11)
WHOLE = ("runtime", "test", "engines")  # locks that each describe a whole environment of the project
LOCKS = Path(__file__).resolve().parents[1] / "locks"
_PIN = re.compile(r"^(?P<pin>[A-Za-z0-9][^\s;\\]*==[^\s;\\]+)\s*(?:;(?P<marker>[^\\]*))?\\?$", re.MULTILINE)


def check_python(version: tuple[int, ...] = tuple(sys.version_info[:3]), prefix: str = sys.prefix) -> Finding:
    said = ".".join(map(str, version))
    if version[:2] < OLDEST:
        return fail(
            "python", f"Python {said} at {prefix}; 3.11 or newer is needed", "PYTHON=/path/to/python3.11 make test"
        )
    return ok("python", f"Python {said} ({platform.machine()}) at {prefix}")


def check_packages(installed: Mapping[str, str] | None = None, locks: Path = LOCKS) -> Finding:
    """Whether what is installed is what one of the locks says; the nearest lock is told."""
    have = distributions() if installed is None else installed
    compared = [_compare(path, have) for name in WHOLE if (path := locks / f"{name}.lock").is_file()]
    if not compared:
        return fail("packages", f"{locks} holds no lock", "restore the checkout: git checkout -- tensor_assets/locks")
    # The larger lock of two that hold says more: the test lock has all of the runtime lock.
    nearest = min(compared, key=lambda lock: (len(lock.missing) + len(lock.differing), -lock.pins))
    remedy = f".ci/setup {nearest.name}"
    if nearest.missing:
        return fail("packages", f"not installed: {_some(nearest.missing)} ({nearest.name}.lock)", remedy)
    if nearest.differing:
        return warn("packages", f"not as {nearest.name}.lock says: {_some(nearest.differing)}", remedy)
    return ok("packages", f"{nearest.pins} packages as {nearest.name}.lock says")


def distributions() -> dict[str, str]:
    """Canonical name → version of everything this interpreter can import."""
    found = ((one.metadata["Name"], one.version) for one in metadata.distributions())
    return {canonicalize_name(name): version for name, version in found if name}


def pinned(lock: Path) -> Iterator[Requirement]:
    """The pins of a lock that apply to this interpreter and platform."""
    for match in _PIN.finditer(lock.read_text(encoding="utf-8")):
        requirement = Requirement(f"{match['pin']} ; {match['marker']}" if match["marker"] else match["pin"])
        if requirement.marker is None or requirement.marker.evaluate():
            yield requirement


class _Compared(NamedTuple):
    name: str
    pins: int
    missing: list[str]
    differing: list[str]


def _compare(lock: Path, have: Mapping[str, str]) -> _Compared:
    missing, differing, pins = [], [], 0
    for requirement in pinned(lock):
        pins += 1
        found = have.get(canonicalize_name(requirement.name))
        if found is None:
            missing.append(str(requirement))
        elif not requirement.specifier.contains(found, prereleases=True):
            differing.append(f"{requirement.name} {found} ({requirement.specifier})")
    return _Compared(lock.stem, pins, missing, differing)


def _some(names: list[str], shown: int = 3) -> str:
    rest = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + rest
