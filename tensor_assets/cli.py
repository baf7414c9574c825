"""`tensor-assets …`: one line of error for what a user can mend, a traceback only for our own bugs."""

from __future__ import annotations

import importlib
import os
import sys

import click

from tensor_assets.errors import TensorAssetsError

# Name → module:function below tensor_assets.commands, in the order of the help.
COMMANDS = {
    "report": "report:report",
    "ui": "ui:ui",
    "doctor": "doctor:doctor",
    "environment": "environment:environment",
    "pack": "pack:pack_command",
    "workload": "workload:workload",
    "claims": "claims:claims",
    "campaign": "campaign:campaign",
    "alerts": "alerts:alerts",
    "repro": "repro:repro",
    "bisect": "bisect:bisect_command",
    "devices": "devices:devices",
    "releases": "releases:releases",
    "compare": "compare:compare",
    "publish": "publish:publish",
    "verify": "evidence:verify",
    "export": "evidence:export",
    "import": "evidence:import_",
    "gc": "evidence:gc",
}


class Commands(click.Group):
    """Imports a command when it is asked for: a campaign needs no Dagster, and nobody waits for what others need."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name].split(":")
        found: click.Command = getattr(importlib.import_module(f"tensor_assets.commands.{module}"), function)
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def cli() -> None:
    """What tensor compilers really do with a small program: captured, judged, timed and reported."""


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
    except ModuleNotFoundError as error:
        if "TENSOR_ASSETS_PACKED" not in os.environ:
            raise
        _say(f"this needs {error.name}, which was not brought along: make the folder with tensor-assets pack --whole")
        sys.exit(2)


def _say(line: str) -> None:
    click.echo(f"tensor-assets: {line}", err=True)
