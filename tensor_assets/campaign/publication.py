"""The last step: the built site put where readers are, by whoever asks for it. Dry unless told otherwise."""

from __future__ import annotations

from datetime import UTC, datetime

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.retention import pin
from tensor_assets.progress import announce
from tensor_assets.publishing.listing import listing
from tensor_assets.publishing.planning import Plan, plan
from tensor_assets.publishing.scan import require_publishable
from tensor_assets.publishing.targets import open_target
from tensor_assets.publishing.versions import read_site


def publish_site(space: Workspace, to: str, *, dry_run: bool = True, now: datetime | None = None) -> Plan:
    """Publish the site of the settings at ``to``, or find out what that would change; what was, or would be, changed.

    The scan comes first, in a dry run too. What the site shows is pinned in the store before any reader can see it, so
    that no collection breaks a published link. Raises SiteBroken, EvidencePrivate, EvidenceMissing, SettingsError,
    StoreUnwritable; then nothing has changed, except that an fsspec URL may hold a part that the next try completes.
    """
    target = open_target(to)
    site = read_site(space.settings.site)
    announce(f"looking for anything private in {len(site.hashes):,} files")
    require_publishable(site, space.store)
    announce(f"reading what {target.name} holds")
    made = plan(target.name, site, target.holding(), site.version(now or datetime.now(UTC)))
    if dry_run or made.nothing:
        return made
    page = listing(site.folder, made.publication)
    name = f"published-{made.version.name}"
    pin(space.store, name, (*site.records, *site.evidence))
    announce(f"publishing {made.version.name} at {target.name}")
    target.put(site, made, page)
    return made
