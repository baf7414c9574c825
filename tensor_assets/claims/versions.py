"""Which of two versions is the newer, and whether one lies in a range: PEP 440, and an answer for what is not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cmp_to_key

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


def in_range(version: str, specifiers: str) -> bool:
    """Whether ``version`` lies in PEP 440 ``specifiers``; pre-releases count, and an empty range holds every version.

    What is no PEP 440 version (a commit) lies only in the empty range. Raises InvalidSpecifier.
    """
    wanted = SpecifierSet(specifiers)
    found = parsed(version)
    return not specifiers.strip() or (found is not None and wanted.contains(found, prereleases=True))


def require_range(specifiers: str) -> None:
    """Raises ValueError with a sentence unless these are PEP 440 specifiers."""
    try:
        SpecifierSet(specifiers)
    except InvalidSpecifier:
        raise ValueError(
            f"{specifiers!r} is no range of versions, expected PEP 440 specifiers like >=0.14,<0.16"
        ) from None


def newest_first(versions: Iterable[str]) -> list[str]:
    """Each once, the newest first; versions that are not PEP 440 last, by their text."""
    return sorted(set(versions), key=cmp_to_key(_order), reverse=True)


def parsed(version: str) -> Version | None:
    """``2.14.1+cu130`` is the local build of 2.14.1; a commit is no version."""
    try:
        return Version(re.split(r"\s", version.strip(), maxsplit=1)[0]) if version.strip() else None
    except InvalidVersion:
        return None


def _order(one: str, other: str) -> int:
    a, b = parsed(one), parsed(other)
    if a is None or b is None:
        return (a is not None) - (b is not None) or (one > other) - (one < other)
    return (a > b) - (a < b) or (one > other) - (one < other)
