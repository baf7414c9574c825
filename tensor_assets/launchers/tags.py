"""Run tags that other processes read: whatever must outlive a launcher's memory is one of these.

A rerun is given its parent's tags. So everything that was found out about one run names that run (``RUN``), and counts
for no other one.
"""

from __future__ import annotations

from collections.abc import Mapping

from dagster import DagsterRun

SESSION = "tensor_assets/session"  # given by whoever launches, or stamped: runs of one session share one GPU
ROUTE = "tensor_assets/route"  # "gpu" or "default": which nested launcher has the run
RUN = "tensor_assets/run"  # the run that the tags below belong to
DEVICE = "tensor_assets/device"  # UUID of what was granted
DEVICE_NAME = "tensor_assets/device_name"
BOOT = "tensor_assets/boot"  # boot id of the host it was granted on
HOST = "tensor_assets/host"
BOUND = "tensor_assets/bound"  # the session again, on runs that have a device: finds a session's earlier grants
PROCESS = "tensor_assets/process"  # the run's own process: host, boot, pid and start time
LAUNCHED = (
    "tensor_assets/launched"  # the run that its nested launcher has taken on: from then on it can tell its health
)

GPU, DEFAULT = "gpu", "default"

BACKFILL = "dagster/backfill"
PARENT, ROOT = "dagster/parent_run_id", "dagster/root_run_id"


def own(run: DagsterRun) -> Mapping[str, str]:
    """The run's tags, without what was found out about the run that it repeats."""
    if run.tags.get(RUN) in (None, run.run_id):
        return run.tags
    found = (DEVICE, DEVICE_NAME, BOOT, HOST, BOUND, PROCESS)
    return {key: value for key, value in run.tags.items() if key not in found}


def session_of(run: DagsterRun) -> str:
    """The one it was launched with; else its backfill; else a session of its own, a rerun included."""
    given = run.tags.get(SESSION, "")
    repeated = {run.tags.get(PARENT), run.tags.get(ROOT)}
    if given and given not in repeated:
        return given
    backfill = run.tags.get(BACKFILL)
    return f"backfill-{backfill}" if backfill else run.run_id
