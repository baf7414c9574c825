"""`tensor-assets repro CELL`: a standalone script for a bug report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tensor_assets.campaign.capture import DEFAULT
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.reproducing import reproduce
from tensor_assets.campaign.workspace import Workspace, resolved_target
from tensor_assets.commands.cell import parse_cell
from tensor_assets.commands.terminal import Terminal
from tensor_assets.errors import StoreUnwritable
from tensor_assets.progress import listening
from tensor_assets.workers.process import DEADLINE


@click.command()
@click.argument("cell", metavar="CELL")
@click.option("--variant", default=DEFAULT, show_default=True, help="Variant of the compiler.")
@click.option("--target", default="", help="cpu, sm_90 (compiled, never run) or cuda (the device found).")
@click.option("--shape", default="", help="A shape by name; default: the one the workload's suite is quoted at.")
@click.option(
    "--trials",
    type=click.IntRange(min=0),
    default=60,
    show_default=True,
    help="Programs to try while reducing a failure; 0: as it is.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=1.0),
    default=DEADLINE,
    show_default=True,
    help="Seconds for one of them, and for the script.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write it; default: its name, here.")
def repro(cell: str, variant: str, target: str, shape: str, trials: int, deadline: float, out: Path | None) -> None:
    """Write CELL (workload|compiler) as one script that needs the compiler and NumPy, nothing of this project.

    A failing program is first reduced, sizes and ops, while it still fails the same way. The script is run where the
    compiler is installed: it exits with 1 if it reproduces, with 0 if it does not. Exits with 1 if it does not do there
    what the cell did.
    """
    space = Workspace()
    workload, compiler = parse_cell(space, cell)
    options = Options(target=resolved_target(target or space.settings.target), shape=shape and space.known_shape(shape))
    with Terminal() as terminal, listening(terminal):
        made = reproduce(space, workload, compiler, options, variant, limit=trials, deadline=deadline)
    path = out or Path(made.name)
    _write(path, made.text)
    record, outcome = made.stored.record, made.capture.outcome
    said = f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status
    click.echo(f"cell       {workload} | {compiler} {variant} on {options.target}: {said}")
    if record.trials:
        click.echo(f"reduced    {record.reduced} ({record.trials} programs tried)")
    click.echo(f"script     {path}")
    click.echo(f"exit code  {record.exit_code} in the compiler's own environment: {_judged(record.confirmed)}")
    sys.exit(0 if record.confirmed is not False else 1)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreUnwritable(f"{path} cannot be written: {error.strerror}; name another with --out") from error


def _judged(confirmed: bool | None) -> str:
    if confirmed is None:
        return "it cannot be run here"
    return "as the cell did" if confirmed else "not what the cell did"
