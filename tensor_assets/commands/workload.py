"""`tensor-assets workload check | from`: a program of one's own as a workload."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.explain import check_workload, explain
from tensor_assets.contract.trace import parse_inputs, trace
from tensor_assets.contract.writing import manifest_text
from tensor_assets.errors import SettingsError, StoreUnwritable


@click.group()
def workload() -> None:
    """Check a workload's manifest, or make one from a Python function."""


@workload.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Say what is wrong in FILE, or print its program in mathematical form with every boundary."""
    click.echo(check_workload(file, Workspace().shapes), nl=False)


@workload.command("from")
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option("--inputs", required=True, help='Inputs in order, e.g. "x=f16[M,K],w=f16[K,N]".')
@click.option("--name", default="", help="The workload's name; default: the function's.")
@click.option("--question", default="", help="What it is meant to find out; default: the docstring's first line.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the manifest here instead of printing it.")
def from_function(function: str, inputs: str, name: str, question: str, out: Path | None) -> None:
    """Trace a function written with plain tensor operators into a manifest."""
    manifest = trace(_loaded(function), parse_inputs(inputs), workload=name, question=question)
    if out is None:
        click.echo(manifest_text(manifest), nl=False)
        return
    try:
        out.write_text(manifest_text(manifest), encoding="utf-8")
    except OSError as error:
        raise StoreUnwritable(f"{out} cannot be written: {error.strerror}; name another with --out") from error
    click.echo(explain(manifest, Workspace().shapes), nl=False)


def _loaded(spelled: str) -> Callable[..., Any]:
    """``my_module:layer``, from the current folder or the Python path. Raises SettingsError."""
    module_name, _, name = spelled.partition(":")
    if not module_name or not name:
        raise SettingsError(f"{spelled!r} is not of the form MODULE:FUNCTION")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), name)
    except Exception as error:  # whatever the module does when it is imported
        raise SettingsError(f"{spelled}: {type(error).__name__}: {' '.join(str(error).split())}") from error
    if not callable(found):
        raise SettingsError(f"{spelled} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]
