"""`tensor-assets environment`: compilers' environments, built ahead of the runs that need them."""

from __future__ import annotations

import sys

import click

from tensor_assets.campaign.workspace import TARGETS, Workspace
from tensor_assets.commands.terminal import Terminal
from tensor_assets.progress import announce, listening
from tensor_assets.records import Outcome
from tensor_assets.workers.environments import build_environment


@click.command()
@click.argument("compilers", nargs=-1)
@click.option(
    "--target", type=click.Choice(TARGETS), help="Whose system programs are wanted too; default: the setting."
)
def environment(compilers: tuple[str, ...], target: str | None) -> None:
    """Build the environment of each of COMPILERS (default: all) from its lock; what is built already stays.

    Exits with 1 if any of them cannot be had.
    """
    space, missing = Workspace(), 0
    with Terminal() as terminal, listening(terminal):
        for name in compilers or space.adapters:
            announce(f"{name}: environment")
            built = build_environment(space.adapter(name), space.settings, target=target or "")
            missing += isinstance(built, Outcome)
            if isinstance(built, Outcome):
                click.echo(f"{name}: {built.status}: {built.reason}{built.remedy and f' → {built.remedy}'}")
            else:
                click.echo(f"{name}: {' '.join((built.version, str(built.python.parent.parent))).strip()}")
    sys.exit(bool(missing))
