"""`tensor-assets publish`: the built site put where readers are."""

from __future__ import annotations

import click

from tensor_assets.campaign.publication import publish_site
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.commands.terminal import Terminal
from tensor_assets.progress import listening
from tensor_assets.publishing.planning import Plan

SHOWN = 20  # changes of a kind that are listed one by one

_SIGNS = {"added": "+", "changed": "~", "removed": "-"}


@click.command()
@click.option("--to", required=True, help="A folder, git+REPOSITORY#BRANCH, or an fsspec URL such as s3://bucket/site.")
@click.option("--apply", is_flag=True, help="Publish; without it nothing is changed and what would be is listed.")
@click.option("--all", "everything", is_flag=True, help=f"List every change, not only the first {SHOWN} of a kind.")
def publish(to: str, apply: bool, everything: bool) -> None:
    """Put the built site at a folder, on a git branch or in a bucket; old versions stay there and are linked.

    A scan for anything private runs first and refuses. Without --apply it only lists what would be added, changed and
    removed.
    """
    with Terminal() as terminal, listening(terminal):
        plan = publish_site(Workspace(), to, dry_run=not apply)
    for line in lines(plan, dry_run=not apply, shown=None if everything else SHOWN):
        click.echo(line)


def lines(plan: Plan, *, dry_run: bool, shown: int | None = SHOWN) -> list[str]:
    """The plan, or what came of it, as a person reads it."""
    if plan.nothing:
        return [f"{plan.target} has this version already: {plan.version.name}"]
    listed = []
    for kind, sign in _SIGNS.items():
        changes = plan.of(kind)
        listed += [f"{sign} {change.path} ({change.bytes:,} bytes)" for change in changes[:shown]]
        if shown is not None and len(changes) > shown:
            listed.append(f"{sign} … and {len(changes) - shown:,} more")
    counts = ", ".join(f"{len(plan.of(kind)):,} {kind}" for kind in _SIGNS)
    verb = "would publish" if dry_run else "published"
    own = "there already" if plan.known else f"{plan.version.files:,} files, {plan.version.bytes / 1e6:,.1f} MB"
    return [
        *listed,
        f"{verb} {plan.version.name} at {plan.target} (now there: {plan.previous or 'nothing'})",
        f"at the root: {counts}, {plan.unchanged:,} unchanged; {plan.bytes / 1e6:,.1f} MB",
        f"in {plan.version.folder}/: {own}; {len(plan.publication.versions):,} versions in all",
        *(["nothing was changed: --apply publishes"] if dry_run else []),
    ]
