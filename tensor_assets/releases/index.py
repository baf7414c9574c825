"""Which versions the configured package index has. uv is asked, so that the answer is what an environment would get:
its index, credentials and local folders count, yanked files do not, and pre-releases only where they are wanted."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from tensor_assets.records import Outcome
from tensor_assets.workers.installer import InstallFailed, ask_uv

# A healthy index answers in well under a second; a dead one should not hold up the night.
SECONDS = 120.0


def newest(package: str, *, pre: bool = False, below: str = "") -> str | Outcome:
    """The newest version of ``package`` that this interpreter can install (older than ``below``, where that is given).

    An outage, a package the index does not have, an answer that makes no sense: an outcome with the reason.
    """
    asked = f"{package}<{below}" if below else package
    options = ["--no-deps", "--no-header", "--no-annotate", "--python-version", platform.python_version()]
    options += ["--refresh-package", package, "--prerelease", "allow" if pre else "disallow"]
    with tempfile.TemporaryDirectory(prefix="index-") as folder:
        try:
            said = ask_uv(
                ["pip", "compile", "--quiet", *options, "-"],
                Path(folder) / "uv.log",
                stdin=asked.encode(),
                seconds=SECONDS,
            )
        except InstallFailed as failure:
            return _no_answer(package, str(failure))
    return _version(package, said.decode("utf-8", "replace"))


def published(package: str, low: str, high: str, *, pre: bool = False) -> list[str] | Outcome:
    """Every version from ``low`` to ``high``, both inclusive, oldest first: ``high`` and step by step what is older.

    An outcome where the index cannot be asked or has no such versions. Raises nothing.
    """
    try:
        lowest, highest = Version(low), Version(high)
    except InvalidVersion as error:
        return Outcome(status="unavailable", reason=f"{package}: {error}")
    found: list[str] = []
    # "<=" has no spelling with a local version; "the newest that is not above" begins at the newest of all.
    step = newest(package, pre=pre)
    while isinstance(step, str) and Version(step) >= lowest:
        if Version(step) <= highest:
            found.append(step)
        if Version(step) == lowest:
            break
        step = _older(package, Version(step), pre)
    if found and isinstance(step, Outcome):
        # Nothing is older, or the index fell silent half way: then what was found is not all of it.
        again = newest(package, pre=pre)
        if isinstance(again, Outcome):
            return again
    if not found:
        reason = step.reason if isinstance(step, Outcome) else f"the index has no {package} from {low} to {high}"
        return Outcome(status="unavailable", reason=reason)
    return found[::-1]


def _older(package: str, version: Version, pre: bool) -> str | Outcome:
    """The newest that is older; asked again where there is none while the index answers: it may just have been away."""
    below = version.public  # "<" has no spelling with a local version either
    older = newest(package, pre=pre, below=below)
    if isinstance(older, Outcome) and isinstance(newest(package, pre=pre), str):
        return newest(package, pre=pre, below=below)
    return older


def _version(package: str, said: str) -> str | Outcome:
    """The one pinned version in uv's output."""
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(("#", " "))]
    try:
        (line,) = lines
        (specifier,) = Requirement(line).specifier
    except (InvalidRequirement, ValueError):
        return _no_answer(package, f"its answer makes no sense: {said.strip()[:80]!r}")
    return specifier.version


def _no_answer(package: str, reason: str) -> Outcome:
    return Outcome(status="unavailable", reason=f"the package index says nothing of {package}: {reason}")
