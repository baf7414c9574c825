"""What publishing would change at a target. Pure: nothing is read or written here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from tensor_assets.errors import SettingsError
from tensor_assets.publishing.versions import Publication, Site, Version

# What hosts of static sites keep at the root of a branch or bucket.
HOSTS_OWN = frozenset({"CNAME", ".nojekyll", "README.md", "robots.txt", ".well-known", ".git", ".gitattributes"})


class Change(msgspec.Struct, frozen=True):
    kind: Literal["added", "changed", "removed"]
    path: str
    bytes: int  # of the new file; of the old one where it is removed


class Holding(msgspec.Struct, frozen=True):
    """What a target holds now. ``files`` are those outside ``versions/``, the listing left out too."""

    publication: Publication
    hashes: Mapping[str, str]  # path → SHA-256, as the seal at its root says
    files: Mapping[str, int]  # path → bytes, as they are there


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """``version`` will be the newest; ``changes`` are those at the root, beside the version's own folder."""

    target: str
    version: Version
    publication: Publication  # as it will be
    previous: str = ""  # name of the version that is at the root now
    known: bool = False  # the version's own folder is there already
    changes: tuple[Change, ...] = ()
    unchanged: int = 0

    @property
    def nothing(self) -> bool:
        return self.previous == self.version.name and not self.changes

    def of(self, kind: str) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.kind == kind)

    @property
    def bytes(self) -> int:
        """Of what is put at the root; the version's own folder holds all of it once more."""
        return sum(change.bytes for change in self.changes if change.kind != "removed")


def plan(target: str, site: Site, holding: Holding, version: Version) -> Plan:
    """Files that the seal at the target's root does not name are somebody else's and stay.

    Raises SettingsError if there is no publication yet and somebody else's files are there.
    """
    known = holding.publication.of_seal(site.seal)
    if not holding.publication.versions:
        _require_free(target, holding)
    changes = [_change(path, site, holding) for path in sorted(site.hashes)]
    gone = sorted(holding.hashes.keys() - site.hashes.keys())
    removed = [Change("removed", path, holding.files[path]) for path in gone if path in holding.files]
    made = [change for change in changes if change is not None]
    version = known or version
    return Plan(
        target=target,
        version=version,
        publication=holding.publication.with_current(version),
        previous=holding.publication.current,
        known=known is not None,
        changes=(*made, *removed),
        unchanged=len(changes) - len(made),
    )


def _change(path: str, site: Site, holding: Holding) -> Change | None:
    if path not in holding.files:
        return Change("added", path, site.sizes[path])
    same = holding.hashes.get(path) == site.hashes[path] and holding.files[path] == site.sizes[path]
    return None if same else Change("changed", path, site.sizes[path])


def _require_free(target: str, holding: Holding) -> None:
    foreign = sorted({path.partition("/")[0] for path in holding.files} - HOSTS_OWN)
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise SettingsError(
            f"{target} holds files that no publication put there ({', '.join(foreign[:3])}{more}); "
            "name an empty place or one that was published to"
        )
