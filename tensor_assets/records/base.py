"""What every record has: key, outcome, provenance, and evidence named by its hash."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = 1

Status = Literal["ok", "rejected", "unsupported", "unavailable", "censored", "crashed", "blocked"]
STATUSES: tuple[Status, ...] = ("ok", "rejected", "unsupported", "unavailable", "censored", "crashed", "blocked")


class Struct(msgspec.Struct, frozen=True):
    pass


class Evidence(Struct, frozen=True, kw_only=True):
    """A file in the content-addressed store. ``name`` is for people; the hash is the identity."""

    sha256: str
    bytes: int
    media_type: str
    name: str
    private: bool = False  # never leaves the store: logs, raw profiler captures, full environments, host identity
    redacted: dict[str, int] = {}  # rule → how often: paths, names and secrets that were replaced before it was kept


class Outcome(Struct, frozen=True, kw_only=True):
    """How a cell, or one part of it, ended. ``reason`` is one sentence; empty only for ``ok``."""

    status: Status
    reason: str = ""
    remedy: str = ""  # the command that mends it, where there is one
    log: Evidence | None = None


class Key(Struct, frozen=True, kw_only=True):
    """What a record is filed under. Empty where a part does not apply (a fixture has no compiler)."""

    workload: str = ""
    shape: str = ""
    compiler: str = ""
    variant: str = ""
    target: str = ""
    environment: str = ""  # hash of the lock, the interpreter and the toolchain
    patch: str = ""  # hash of a source patch, where a compiler was patched
    method: str = ""  # hash of how it was measured or judged


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a record comes from. ``created`` is UTC, ISO 8601; ``environment`` holds allow-listed variables only."""

    created: str
    command: tuple[str, ...] = ()
    project: str = ""  # version of tensor_assets
    packages: dict[str, str] = {}
    environment: dict[str, str] = {}
    parents: tuple[str, ...] = ()  # record ids
    seconds: dict[str, float] = {}  # cost by phase


class RecordBase(Struct, frozen=True, kw_only=True, tag_field="record"):
    key: Key
    outcome: Outcome
    provenance: Provenance
    schema: int = SCHEMA
