"""`tensor-assets report`: the main job. Materializes cells, one Dagster run per partition, then builds the site."""

from __future__ import annotations

import click

from tensor_assets.campaign.workspace import Workspace, resolved_target
from tensor_assets.commands.request import PROCESSES, Request
from tensor_assets.commands.terminal import Terminal
from tensor_assets.errors import SettingsError
from tensor_assets.progress import listening


@click.command()
@click.option("--workload", "workloads", multiple=True, help="A workload by name; repeat for more.")
@click.option("--suite", "suites", multiple=True, help="All workloads of a suite: matrix, original.")
@click.option("--compiler", "compilers", multiple=True, help="A compiler by name; repeat for more. Default: all.")
@click.option("--target", default="", help="cpu, sm_90 (compiled, never run) or cuda (the device found).")
@click.option("--shape", default="", help="A shape by name; default: the one the workload's suite is quoted at.")
@click.option("--processes", default=3, type=PROCESSES, show_default=True, help="Timing processes per configuration.")
@click.option("--no-timing", is_flag=True, help="Capture and judge only.")
@click.option("--force", is_flag=True, help="Work again even where nothing changed.")
def report(
    workloads: tuple[str, ...],
    suites: tuple[str, ...],
    compilers: tuple[str, ...],
    target: str,
    shape: str,
    processes: int,
    no_timing: bool,
    force: bool,
) -> None:
    """Materialize workloads for every compiler this machine can run, build the site, print its path."""
    space = Workspace()
    request = Request(
        workloads=chosen_workloads(space, workloads, suites),
        compilers=tuple(space.adapter(name).name for name in compilers) or tuple(space.adapters),
        target=resolved_target(target or space.settings.target),
        shape=shape and space.known_shape(shape),
        processes=processes,
        timed=not no_timing,
        force=force,
    )
    # Dagster takes seconds to import: a wrong name is told before.
    from tensor_assets.commands.materialize import exclusive, materialize

    with Terminal() as terminal, listening(terminal), exclusive(space.settings):
        made = materialize(space, request)
    for line in made.lines():
        click.echo(line)


def chosen_workloads(space: Workspace, workloads: tuple[str, ...], suites: tuple[str, ...]) -> tuple[str, ...]:
    known = {manifest.suite for manifest in space.workloads.values()}
    for suite in suites:
        if suite not in known:
            raise SettingsError(f"suite {suite!r} is not defined (have: {', '.join(sorted(known))})")
    named = [space.workload(name).workload for name in workloads]
    of_suites = [name for name, manifest in space.workloads.items() if manifest.suite in suites]
    return tuple(dict.fromkeys(named + of_suites)) or ("weight_view",)
