"""Records of e-graphs that no compiler made."""

from __future__ import annotations

from tensor_assets.records.base import Evidence, RecordBase


class EGraphRecord(RecordBase, frozen=True, kw_only=True, tag="egraph"):
    """A workload's program and rewrite rules of this project's own, saturated by egglog itself.

    It shows what an e-graph holds. No compiler wrote or read it: its key names none, and nothing was chosen from it.
    """

    source: Evidence  # program and rules, as egglog reads them
    egraph: Evidence  # what came of them, as egraph-serialize writes it
    saturated_by: str  # "egglog 13.2.0"
    nodes: int
    classes: int
    stands_for: dict[str, str] = {}  # name in the source → value of the workload
    forms: dict[str, int] = {}  # value of the workload → expressions in its class
    incomplete: str = ""  # why something is left out, empty when nothing is
