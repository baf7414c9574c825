"""`tensor-assets ui`: Dagster's webserver and daemon over this checkout's assets."""

from __future__ import annotations

import os
import sys

import click

from tensor_assets.commands.instance import dagster_home
from tensor_assets.settings import load_settings


@click.command()
@click.option("--port", default=3000, show_default=True, help="Port on 127.0.0.1.")
def ui(port: int) -> None:
    """Open Dagster's UI on 127.0.0.1 with every asset, partition and check."""
    settings = load_settings()
    dagster_home(settings)
    os.chdir(settings.root)
    dagster = [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", "-h", "127.0.0.1", "-p", str(port)]
    os.execv(sys.executable, dagster)
