"""`tensor-assets doctor`: the whole deployment looked at before anything runs."""

from __future__ import annotations

import sys

import click
import msgspec
from rich.console import Console
from rich.text import Text

from tensor_assets.doctor.examination import Examination, examine
from tensor_assets.doctor.findings import Finding
from tensor_assets.settings import load_settings

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def doctor(as_json: bool) -> None:
    """Check installation, instance, devices, profilers, compilers, disks, index and workloads; builds nothing.

    Each line is ok, warn or fail, with the command that mends it. Exits with 1 if any line is fail.
    """
    done = examine(load_settings())
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(_summary(done)), indent=2).decode())
    else:
        _print(done)
    sys.exit(0 if done.sound else 1)


def _print(done: Examination) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for finding in done.findings:
        console.print(Text.assemble((f"{finding.state:<5}", _STYLES[finding.state]), _said(finding)))
        if finding.remedy:
            console.print(Text(f"      → {finding.remedy}", style="dim"))
    console.print(f"{', '.join(f'{count} {state}' for state, count in _counts(done).items())}")


def _said(finding: Finding) -> str:
    return f"{finding.subject}: {finding.message}"


def _counts(done: Examination) -> dict[str, int]:
    return {state: sum(finding.state == state for finding in done.findings) for state in ("ok", "warn", "fail")}


def _summary(done: Examination) -> dict[str, object]:
    return {"sound": done.sound, "counts": _counts(done), "seconds": done.seconds, "findings": done.findings}
