"""`tensor-assets campaign`: cells on this host's device, without Dagster, into one bundle."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from tensor_assets.campaign.campaign import Request, run_campaign
from tensor_assets.campaign.fixtures import NPZ
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace, resolved_target
from tensor_assets.commands.report import chosen_workloads
from tensor_assets.commands.request import PROCESSES
from tensor_assets.commands.stopping import stoppable
from tensor_assets.commands.terminal import Terminal
from tensor_assets.errors import DeviceRefused, SettingsError
from tensor_assets.evidence.files import unwritable
from tensor_assets.evidence.selection import Filters
from tensor_assets.evidence.transfer import export_bundle
from tensor_assets.progress import listening
from tensor_assets.sessions.allocation import current_allocation
from tensor_assets.sessions.effort import DEADLINE


@click.command()
@click.option("--device", default="", help="Refuse to run unless the device's name contains this, e.g. H100.")
@click.option("--target", default="cuda", show_default=True, help="cuda (the device found), a device's name, or cpu.")
@click.option("--workload", "workloads", multiple=True, help="A workload by name; repeat for more.")
@click.option("--suite", "suites", multiple=True, help="All workloads of a suite: matrix, original.")
@click.option("--compiler", "compilers", multiple=True, help="A compiler by name; repeat for more. Default: all.")
@click.option("--shape", default="", help="A shape by name; default: the one the workload's suite is quoted at.")
@click.option("--search", "searches", multiple=True, metavar="WORKLOAD:VARIANT", help="Also capture this variant.")
@click.option("--effort", "efforts", multiple=True, metavar="WORKLOAD:COMPILER", help="Compare its search levels.")
@click.option(
    "--search-seconds",
    default=DEADLINE,
    type=click.FloatRange(min=1.0),
    show_default=True,
    help="Deadline of a search.",
)
@click.option("--profile", "profiled", multiple=True, help="Look into every configuration of this workload.")
@click.option("--processes", default=3, type=PROCESSES, show_default=True, help="Timing processes per configuration.")
@click.option("--bundle", type=click.Path(path_type=Path), help="Write what is public into this one file.")
def campaign(
    device: str,
    target: str,
    workloads: tuple[str, ...],
    suites: tuple[str, ...],
    compilers: tuple[str, ...],
    shape: str,
    searches: tuple[str, ...],
    efforts: tuple[str, ...],
    search_seconds: float,
    profiled: tuple[str, ...],
    processes: int,
    bundle: Path | None,
) -> None:
    """Preflight, gate, capture, timing, profile, teardown; TENSOR_ASSETS_PACKED names environments brought along."""
    space = Workspace()
    target = resolved_target(target)
    _require_device(device, target)
    _require_place(bundle)
    request = Request(
        workloads=chosen_workloads(space, workloads, suites),
        compilers=tuple(dict.fromkeys(space.adapter(name).name for name in compilers)) or tuple(space.adapters),
        options=Options(target=target, shape=shape and space.known_shape(shape), processes=processes),
        variants=_searches(space, searches),
        efforts=tuple(_pair(space, effort) for effort in efforts),
        search_seconds=search_seconds,
        profiled=tuple(space.workload(name).workload for name in profiled),
    )
    with stoppable(), Terminal() as terminal, listening(terminal):
        stored = run_campaign(space, request)
    for phase in stored.record.phases:
        click.echo(f"  {phase.name:<32} {phase.seconds:8.1f} s")
    for cell, outcome in stored.record.outcomes.items():
        click.echo(f"  {cell:<44} {outcome}")
    if bundle is not None:
        made = export_bundle(space.store, bundle, Filters(public_only=True, without=(NPZ,)))
        click.echo(f"{made.path}: {made.records:,} records, {made.bytes / 1e6:,.1f} MB")


def _require_device(wanted: str, target: str) -> None:
    found = current_allocation(target)
    if wanted.casefold() not in found.device.casefold():
        raise DeviceRefused(f"asked for {wanted}; this host has {found.device}")


def _require_place(bundle: Path | None) -> None:
    """Told before the hours of work, not after."""
    if bundle is not None:
        with unwritable(f"bundle {bundle}", "name another place"), tempfile.TemporaryFile(dir=bundle.parent):
            pass


def _pair(space: Workspace, effort: str) -> tuple[str, str]:
    workload, colon, compiler = effort.partition(":")
    if not colon or not compiler:
        raise SettingsError(f"--effort {effort!r} is not of the form WORKLOAD:COMPILER")
    return space.workload(workload).workload, space.adapter(compiler).name


def _searches(space: Workspace, searches: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for search in searches:
        workload, colon, variant = search.partition(":")
        if not colon or not variant:
            raise SettingsError(f"--search {search!r} is not of the form WORKLOAD:VARIANT")
        name = space.workload(workload).workload
        found[name] = (*found.get(name, ()), variant)
    return found
