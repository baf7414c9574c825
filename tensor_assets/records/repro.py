"""Records for people who build compilers: standalone scripts, and searches through versions."""

from __future__ import annotations

from typing import Literal

from tensor_worker.program import Program

from tensor_assets.records.base import Evidence, Outcome, RecordBase, Struct


class ReproRecord(RecordBase, frozen=True, kw_only=True, tag="repro"):
    """One configuration as a script that needs the compiler and NumPy alone. Its key is the capture's."""

    capture: str  # record id
    script: Evidence
    program: Program  # what the script compiles: the cell's, or what is left of it
    reduced: str = ""  # what was taken away, in words
    trials: int = 0  # programs that were compiled to find out
    exit_code: int | None = None  # of the script in the compiler's own environment; None: not run there
    confirmed: bool | None = None  # whether that is what its outcome asks for


class Probe(Struct, frozen=True, kw_only=True):
    """One version that was tried."""

    release: dict[str, str]  # package → version, companions included
    environment: str = ""  # hash; empty where it could not be had
    outcome: Outcome
    state: str = ""  # what is compared between versions; empty where the version says nothing
    capture: str = ""  # record id
    accepted: bool = False  # it is the accepted release that was asked


class BisectRecord(RecordBase, frozen=True, kw_only=True, tag="bisect"):
    """A search for the first of many published versions that differs. Filed after every probe, so that it can go on."""

    subject: str  # "outcome", "numbers", "code", "plan", or a claim's id
    versions: tuple[str, ...]  # oldest first, both ends included
    probes: dict[str, Probe]  # version → what was found
    verdict: Literal["open", "found", "same", "several", "undecided"] = "open"
    first: str = ""  # the first version that differs
    last: str = ""  # the last one before it that was tried and did not
    difference: Evidence | None = None
    sentence: str = ""
