"""The sensor that passes on what changed. Off until somebody switches it on; see ``history/telling.py``."""

import dagster as dg

from tensor_assets.campaign.alerting import pass_on, seen_so_far
from tensor_assets.defs.jobs import BUILD_SITE
from tensor_assets.defs.resources import WorkspaceResource


@dg.sensor(
    name="history_alerts",
    job=BUILD_SITE,
    minimum_interval_seconds=300,
    description="Finds steps, drifts and changed outcomes in the store, tells each once (TENSOR_ASSETS_ALERT_COMMAND, "
    "or the log), and has the site and its feeds built anew.",
)
def history_alerts(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.RunRequest | dg.SkipReason:
    """A command that fails fails the tick; what it was not told stays to be told."""
    space = workspace.open()
    seen = seen_so_far(space)
    told = [] if seen == context.cursor else pass_on(space, context.log.warning)
    context.update_cursor(seen)
    if not told:
        return dg.SkipReason("no series changed its state since the last look")
    return dg.RunRequest(run_key=told[-1])


SENSORS = [history_alerts]
