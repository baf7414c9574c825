"""What a run may ask for, whoever asks: an asset's run config or a command's options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec


class CellOptions(Protocol):
    """How a cell is captured; part of its records' key."""

    @property
    def shape(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def variants(self) -> Sequence[str]: ...
    @property
    def force(self) -> bool: ...


class SessionOptions(CellOptions, Protocol):
    """How a workload's session is timed."""

    @property
    def processes(self) -> int: ...
    @property
    def seed(self) -> int: ...


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Both of the above, for callers that have no config of their own."""

    target: str = "cpu"
    shape: str = ""
    variants: tuple[str, ...] = ()
    force: bool = False
    processes: int = 3
    seed: int = 0
