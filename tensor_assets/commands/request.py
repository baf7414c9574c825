"""What a report run is asked for."""

from __future__ import annotations

import click
import msgspec

# Of a configuration in one session; none would be no measurement.
PROCESSES = click.IntRange(min=1)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    workloads: tuple[str, ...]
    compilers: tuple[str, ...]
    target: str
    shape: str = ""
    processes: int = 3
    timed: bool = True  # False: capture and judge only
    force: bool = False
