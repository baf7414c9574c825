"""`tensor-assets alerts`: what changed since the last look, without Dagster."""

from __future__ import annotations

import click

from tensor_assets.campaign.alerting import pass_on
from tensor_assets.campaign.workspace import Workspace


@click.command()
def alerts() -> None:
    """Find changed outcomes, steps and drifts in the store; tell each once.

    TENSOR_ASSETS_ALERT_COMMAND is run for each with its JSON on standard input (a chat's webhook, mail); without it
    they are only printed. For cron where no Dagster daemon runs; the sensor history_alerts does the same.
    """
    told = pass_on(Workspace(), click.echo)
    if not told:
        click.echo("no series changed its state since the last look")
