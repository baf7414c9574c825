"""Limits per device, by Dagster's own tag limits: the queue stamps on each run what they count.

Dagster has two means. A pool's limit counts a run by its assets alone, so runs for ``cpu`` and ``sm_90`` would wait
behind the one that has the GPU, and its number lives in the instance's database instead of dagster.yaml (apart from
one default for all pools). Tag limits count the runs that will really have a device, and those of one session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dagster import DagsterRun
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_START_TAG,
    MAX_RETRIES_TAG,
    RETRY_ON_ASSET_OR_OP_FAILURE_TAG,
    RETRY_STRATEGY_TAG,
)

from tensor_assets.launchers import tags
from tensor_assets.launchers.routing import route_of

# For a run of many partitions that dies: once more, all of it, since what is done is found in the store. A run that
# ended by itself, and one of a single partition, is whoever launched it to repeat.
ONCE_MORE = {MAX_RETRIES_TAG: "1", RETRY_STRATEGY_TAG: "ALL_STEPS", RETRY_ON_ASSET_OR_OP_FAILURE_TAG: "false"}


class DeviceQueue(QueuedRunCoordinator[Any]):
    """Dagster's queue, with each run's route and session as tags, whoever launched it.

    Runs of many partitions are also tagged to be repeated once if they die, where ``run_retries`` are enabled.

    ``tag_concurrency_limits`` on ``tensor_assets/route`` with value ``gpu`` limit the runs on all GPUs together, those
    on each ``tensor_assets/session`` the runs on one. Unless they are given: one at a time.
    """

    def __init__(self, tag_concurrency_limits: Sequence[Mapping[str, Any]] | None = None, **options: Any) -> None:
        super().__init__(
            tag_concurrency_limits=list(LIMITS if tag_concurrency_limits is None else tag_concurrency_limits), **options
        )

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        run = context.dagster_run
        stamped = {tags.ROUTE: route_of(run, self._pool)}
        if stamped[tags.ROUTE] == tags.GPU:
            stamped[tags.SESSION] = tags.session_of(run)
        if ASSET_PARTITION_RANGE_START_TAG in run.tags:
            stamped = {**ONCE_MORE, **stamped}
        self._instance.add_run_tags(run.run_id, stamped)
        return super().submit_run(context)

    @property
    def _pool(self) -> str:
        return str(getattr(self._instance.run_launcher, "pool", ""))


LIMITS: tuple[Mapping[str, Any], ...] = (
    {"key": tags.ROUTE, "value": tags.GPU, "limit": 1},
    {"key": tags.SESSION, "value": {"applyLimitPerUniqueValue": True}, "limit": 1},
)
