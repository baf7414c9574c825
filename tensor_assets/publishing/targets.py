"""Where a site may be put: named by one word, read as what is there now, changed by a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tensor_assets.errors import SettingsError
from tensor_assets.evidence.address import without_credentials
from tensor_assets.publishing.planning import Holding, Plan
from tensor_assets.publishing.versions import Site

GIT = "git+"


class Target(Protocol):
    name: str  # as errors and plans call it

    def holding(self) -> Holding:
        """What is there now; nothing where the place does not exist yet. Raises SettingsError, StoreUnwritable."""

    def put(self, site: Site, plan: Plan, listing: str) -> None:
        """Carry out the plan; ``listing`` is the page of versions. Raises StoreUnwritable."""


def open_target(spelled: str) -> Target:
    """``PATH``, ``git+REPOSITORY#BRANCH``, or any fsspec URL. Raises SettingsError for anything else."""
    from tensor_assets.publishing.branch import BranchTarget
    from tensor_assets.publishing.bucket import BucketTarget
    from tensor_assets.publishing.folder import FolderTarget

    if spelled.startswith(GIT):
        repository, _, branch = spelled.removeprefix(GIT).rpartition("#")
        if not repository or not branch:
            raise SettingsError(
                f"--to {without_credentials(spelled)!r}: a git target is git+REPOSITORY#BRANCH, "
                "e.g. git+../site.git#gh-pages"
            )
        return BranchTarget(repository, branch)
    if "://" in spelled:
        return BucketTarget(spelled)
    if not spelled.strip():
        raise SettingsError("--to names no place: a folder, git+REPOSITORY#BRANCH, or an fsspec URL")
    return FolderTarget(Path(spelled))
