"""The record of a claim's verdict: what was seen, where, and which records say so."""

from __future__ import annotations

from typing import Literal

from tensor_assets.records.base import RecordBase, Struct


class Observed(Struct, frozen=True, kw_only=True):
    """What one configuration answered. ``record`` is its capture; ``value`` is JSON, as text."""

    record: str
    workload: str
    shape: str
    compiler: str
    variant: str
    device: str
    version: str
    query: str
    value: str
    passed: bool


class ClaimRecord(RecordBase, frozen=True, kw_only=True, tag="claim"):
    """One claim, judged. Filed under its id as the key's method; a new one only where something changed."""

    claim: str
    statement: str
    definition: str  # hash of the claim as its author wrote it
    verdict: Literal["holds", "differs", "not measured"]
    why: str = ""
    since: str = ""  # first version that differs, of those in a row up to the newest
    held: str = ""  # the version before it, where one was seen
    seen: tuple[Observed, ...] = ()  # newest version in scope that answers, of each device
    earlier: tuple[Observed, ...] = ()  # older ones, newest first by device; also of records that are gone
    nearest: tuple[Observed, ...] = ()  # outside the scope, where nothing inside answers
