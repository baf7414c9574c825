"""Campaigns that ship with the project: taken into the store, so that a reader without a GPU sees real results."""

from __future__ import annotations

from pathlib import Path

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.transfer import import_bundle, is_imported
from tensor_assets.progress import announce


def import_recorded(space: Workspace) -> list[Path]:
    """Import every bundle of the recorded folder that the store does not have yet. Raises BundleRefused."""
    bundles = sorted(space.settings.recorded.glob("*.bundle"))
    for bundle in bundles:
        if not is_imported(space.store, bundle):
            announce(f"importing the recorded campaign {bundle.stem}")
            import_bundle(space.store, bundle)
    return bundles
