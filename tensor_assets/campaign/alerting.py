"""What changed since the last look: filed, and passed on."""

from __future__ import annotations

from collections.abc import Callable

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.public import PublicView
from tensor_assets.history.alerts import file_alerts
from tensor_assets.history.telling import tell, untold


def pass_on(space: Workspace, log: Callable[[str], object]) -> list[str]:
    """File every new alert, pass on what nobody was told yet; the ids of those, oldest first.

    Raises AlertNotTold if the configured command fails: what came before it is told, it and what follows are not.
    """
    public = PublicView(space.store)
    file_alerts(space.store, public)
    waiting = untold(public)
    for alert_id, alert in waiting:
        tell(space.store, alert_id, alert, space.settings.alert_command, log)
    return [alert_id for alert_id, _ in waiting]
