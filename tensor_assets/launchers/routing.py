"""Where a run goes: decided by its target and by its assets' pools, because a launch from the UI carries no tags.

Dagster writes the pools of the selected assets' steps onto every run it creates (``run_op_concurrency``), whoever
launched it: the UI, a backfill, a sensor, the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster import DagsterRun

from tensor_assets.launchers import tags
from tensor_assets.settings import load_settings

HOST_TARGETS = ("cpu", "sm_90")  # run, or compiled, without a GPU


def route_of(run: DagsterRun, pool: str) -> str:
    """``tags.GPU`` for a run with an asset of ``pool`` whose target is a device, else ``tags.DEFAULT``."""
    pools = run.run_op_concurrency.all_pools if run.run_op_concurrency else None
    return tags.GPU if pool in (pools or ()) and targets_device(run.run_config) else tags.DEFAULT


def targets_device(config: Mapping[str, Any]) -> bool:
    """Whether any op of the run is asked for a device; the setting counts where none says anything."""
    ops = config.get("ops") or {}
    told = [(op or {}).get("config") or {} for op in ops.values()]
    targets = [one["target"] for one in told if isinstance(one, Mapping) and one.get("target")]
    return any(target not in HOST_TARGETS for target in targets or [load_settings().target])
