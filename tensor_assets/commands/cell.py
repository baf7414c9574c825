"""A cell as people write it: ``weight_view|tvm``, or Dagster's ``tvm|weight_view``."""

from __future__ import annotations

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import SettingsError


def parse_cell(space: Workspace, text: str) -> tuple[str, str]:
    """Workload and compiler. Raises SettingsError that says which of the two is unknown."""
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 2:
        raise SettingsError(f"cell {text!r} is not of the form WORKLOAD|COMPILER (quote it: the shell reads | itself)")
    if parts[0] in space.adapters and parts[0] not in space.workloads:
        parts.reverse()
    return space.workload(parts[0]).workload, space.adapter(parts[1]).name
