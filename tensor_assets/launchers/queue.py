"""Limits per device, by Dagster's own tag limits: the queue stamps on each run what they count.

Dagster has two means, and both were tried on a real daemon with one GPU (``tensor_assets_tests/launchers/limits.py``:
five runs for it, then one for the processor). From one run's end to the next one's start they take the same second. But
a pool counts a run by its assets alone: the run for the processor began 10 s after it was asked for under a tag limit,
which is what its start took, and 40 s after in a pool, when all five had ended. A pool that is counted by step also
starts a second run, which has a process, and a GPU reserved for it, while it waits. What a pool has over tags is a page
in the UI that names who has the slot and who waits; here the run's log and `tensor-assets devices` do. And tag limits
can count the runs of one session.
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

    Runs of many partitions are also tagged to be repeated once if they die, where ``run_retries`` are enabled and
    whoever launched them has said nothing else.

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
            stamped |= {key: value for key, value in ONCE_MORE.items() if key not in run.tags}
        self._instance.add_run_tags(run.run_id, stamped)
        return super().submit_run(context)

    @property
    def _pool(self) -> str:
        return str(getattr(self._instance.run_launcher, "pool", ""))


LIMITS: tuple[Mapping[str, Any], ...] = (
    {"key": tags.ROUTE, "value": tags.GPU, "limit": 1},
    {"key": tags.SESSION, "value": {"applyLimitPerUniqueValue": True}, "limit": 1},
)
