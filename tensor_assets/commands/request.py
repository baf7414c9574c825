"""What a report run is asked for."""

from __future__ import annotations

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True):
    workloads: tuple[str, ...]
    compilers: tuple[str, ...]
    target: str
    shape: str = ""
    processes: int = 3
    timed: bool = True  # False: capture and judge only
    force: bool = False
