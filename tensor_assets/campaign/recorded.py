"""Campaigns that ship with the project: taken into the store, so that a reader without a GPU sees real results."""

from __future__ import annotations

from pathlib import Path

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.transfer import import_bundle
from tensor_assets.progress import announce


def import_recorded(space: Workspace) -> list[Path]:
    """Import every bundle of ``fixtures/recorded``; one that is there already changes nothing. Raises BundleRefused."""
    bundles = sorted((space.settings.root / "fixtures" / "recorded").glob("*.bundle"))
    for bundle in bundles:
        announce(f"importing the recorded campaign {bundle.stem}")
        import_bundle(space.store, bundle)
    return bundles
