"""`tensor-assets pack`: what a GPU host without a network needs, in one folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.commands.terminal import Terminal
from tensor_assets.errors import SettingsError
from tensor_assets.progress import listening
from tensor_assets.workers.packing import Host, pack, packed_bytes

HERE = ".".join(map(str, sys.version_info[:2]))


@click.command("pack")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("compilers", nargs=-1)
@click.option("--python", default=HERE, show_default=True, help="The other host's Python, e.g. 3.12.")
@click.option("--platform", default=Host(python=HERE).platform, show_default=True, help="A platform that uv knows.")
@click.option("--installed", multiple=True, help="A compiler that the other host has already; repeat for more.")
@click.option("--whole", is_flag=True, help="Dagster, its UI and the site too.")
def pack_command(
    folder: Path, compilers: tuple[str, ...], python: str, platform: str, installed: tuple[str, ...], whole: bool
) -> None:
    """Put COMPILERS (default: all) and this project into FOLDER, for a GPU host without a network.

    Copy FOLDER there and run `FOLDER/tensor-assets campaign --suite matrix --bundle out.bundle`; here,
    `tensor-assets import out.bundle` brings the records home. Exits with 1 if a compiler has no wheel for that host.
    """
    space = Workspace()
    there = frozenset(space.adapter(name).name for name in installed)
    host = Host(python=_minor(python), platform=platform, installed=there, whole=whole)
    chosen = [space.adapter(name) for name in compilers or space.adapters]
    with Terminal() as terminal, listening(terminal):
        missing = {name: why for name, why in pack(chosen, host, folder.resolve()).items() if why}
    for name, size in packed_bytes(folder).items():
        click.echo(f"  {name:<20} {size / 1e6:8,.1f} MB")
    for name, why in missing.items():
        click.echo(f"{name}: not packed: {why}")
    click.echo(f"copy {folder} there, then: {folder.name}/tensor-assets campaign --suite matrix --bundle out.bundle")
    sys.exit(bool(missing))


def _minor(asked: str) -> str:
    parts = asked.split(".")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise SettingsError(f"--python {asked!r} is no minor version of Python, e.g. 3.12")
    return asked
