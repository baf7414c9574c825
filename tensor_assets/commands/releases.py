"""`tensor-assets releases`: what the package index offers of each compiler, what is tried, what is accepted or held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace, resolved_target
from tensor_assets.commands.request import PROCESSES
from tensor_assets.commands.terminal import Terminal
from tensor_assets.progress import announce, listening
from tensor_assets.releases.accepted import release_title
from tensor_assets.releases.changes import record_changes
from tensor_assets.releases.deciding import Word, decide_by_hand
from tensor_assets.releases.news import release_news
from tensor_assets.releases.paired import FEWEST_PROCESSES
from tensor_assets.releases.running import Proposal, Tried, proposal, try_release


@click.group(invoke_without_command=True)
@click.option("--dry-run", is_flag=True, help="Ask the index, say what would run and why, run nothing.")
@click.option("--pre", is_flag=True, help="Take pre-releases too.")
@click.option("--compiler", "compilers", multiple=True, help="A compiler by name; repeat for more. Default: all.")
@click.option("--workload", "workloads", multiple=True, help="Try it on this; default: what the accepted one ran.")
@click.option("--target", "targets", multiple=True, help="cpu, sm_90 or cuda; repeat: all of them decide together.")
@click.option("--shape", default="", help="A shape by name; default: the one the workload's suite is quoted at.")
@click.option(
    "--processes", default=FEWEST_PROCESSES, type=PROCESSES, show_default=True, help="Timing processes of each arm."
)
@click.option("--force", is_flag=True, help="Try again what was tried.")
@click.pass_context
def releases(
    context: click.Context,
    dry_run: bool,
    pre: bool,
    compilers: tuple[str, ...],
    workloads: tuple[str, ...],
    targets: tuple[str, ...],
    shape: str,
    processes: int,
    force: bool,
) -> None:
    """Ask the configured package index for newer compilers, and try each beside the accepted one in one session.

    What breaks nothing is accepted; what fails to install, crashes or breaks the contract is held and told once. Exits
    with 0 whatever was found: a held release is a result.
    """
    if context.invoked_subcommand:
        return
    space = Workspace()
    options = [
        Options(target=target, shape=shape and space.known_shape(shape), processes=processes, force=force)
        for target in dict.fromkeys(map(resolved_target, targets or (space.settings.target,)))
    ]
    names = tuple(space.adapter(name).name for name in compilers) or tuple(space.adapters)
    on = tuple(space.workload(name).workload for name in workloads)
    with Terminal() as terminal, listening(terminal):
        lines = [line for name in names for line in _one(space, name, options, on, pre=pre, dry_run=dry_run)]
    for line in lines:
        click.echo(line)


@releases.command()
@click.argument("compiler")
@click.argument("version")
@click.option("--reason", default="", help="Why; kept with the decision.")
def accept(compiler: str, version: str, reason: str) -> None:
    """Make COMPILER's VERSION the accepted release. A companion's version, or the whole title, names it too."""
    _decide(compiler, version, "accepted", reason)


@releases.command()
@click.argument("compiler")
@click.argument("version")
@click.option("--reason", default="", help="Why; kept with the decision.")
def hold(compiler: str, version: str, reason: str) -> None:
    """Hold COMPILER's VERSION: the release accepted before it is the accepted one again."""
    _decide(compiler, version, "held", reason)


def _one(
    space: Workspace, compiler: str, asked: Sequence[Options], workloads: tuple[str, ...], *, pre: bool, dry_run: bool
) -> Iterator[str]:
    announce(f"{compiler}: asking the package index")
    news = release_news(space, compiler, pre=pre)
    for options in asked:
        if dry_run:
            yield told(proposal(space, compiler, options, workloads, news.record))
            continue
        done = try_release(space, compiler, options, workloads, decides=options is asked[-1])
        yield from [told(done)] if isinstance(done, Proposal) else _results(done)
        yield from (f"ALERT        {changes.record.headline}" for changes in done.changes if changes.record.alert)


def told(wanted: Proposal) -> str:
    """One line: what would run and why, or why nothing would."""
    if wanted.runs:
        return f"{wanted.compiler:<10} would try  {wanted.why}, on {_named(wanted)}"
    return f"{wanted.compiler:<10} nothing    {wanted.why}"


def _named(wanted: Proposal) -> str:
    return ", ".join(f"{workload} ({shape})" if shape else workload for workload, shape in wanted.cells)


def _results(done: Tried) -> Iterator[str]:
    record = done.trial.record
    word = done.decision.record.decision if done.decision else "not decided"
    reason = record.outcome.reason or "nothing broke"
    yield f"{record.key.compiler:<10} {word:<10} {release_title(record.candidate)}: {reason}"
    for cell in record.cells:
        what = f"{cell.workload} {cell.variant}"
        yield f"             {what:<34} code {cell.code}, numbers {cell.numbers}, speed {cell.speed}"


def _decide(compiler: str, version: str, word: Word, reason: str) -> None:
    space = Workspace()
    stored = decide_by_hand(space, space.adapter(compiler).name, version, word, reason)
    record_changes(space)
    click.echo(f"{compiler} {release_title(stored.record.release)} is {stored.record.decision}")
