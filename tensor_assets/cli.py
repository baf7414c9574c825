"""`tensor-assets …`: one line of error for what a user can mend, a traceback only for our own bugs."""

from __future__ import annotations

import sys

import click

from tensor_assets.commands import (
    alerts,
    bisect,
    campaign,
    claims,
    compare,
    devices,
    doctor,
    environment,
    evidence,
    publish,
    releases,
    report,
    repro,
    ui,
    workload,
)
from tensor_assets.errors import TensorAssetsError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def cli() -> None:
    """What tensor compilers really do with a small program: captured, judged, timed and reported."""


for command in (
    report.report,
    ui.ui,
    doctor.doctor,
    environment.environment,
    workload.workload,
    claims.claims,
    campaign.campaign,
    alerts.alerts,
    repro.repro,
    bisect.bisect_command,
    devices.devices,
    releases.releases,
    compare.compare,
    publish.publish,
    evidence.verify,
    evidence.export,
    evidence.import_,
    evidence.gc,
):
    cli.add_command(command)


def main() -> None:
    """Entry point of the console script. Exit codes: 0 done, 1 a check failed, 2 bad input or a thing to mend."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        _say("stopped; what was finished is kept, the same command continues")
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except TensorAssetsError as error:
        _say(str(error))
        sys.exit(2)


def _say(line: str) -> None:
    click.echo(f"tensor-assets: {line}", err=True)
