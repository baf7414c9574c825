"""What the hand-written pages ask of the records: a configuration by name, a launch by what it computes.

A configuration that this store does not hold is told as such on the page. Something a captured configuration lacks, or
a name that no workload and no compiler has, ends the build: then the words around it are no longer true.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from tensor_worker.artifacts import Buffer, Launch, Rounding

from tensor_assets.errors import SiteBroken
from tensor_assets.records import EGraphRecord
from tensor_assets.report.faces import Face, face_of, in_order, load_faces
from tensor_assets.report.matrix import configuration_page
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import Configuration, Snapshot
from tensor_assets.settings import ROOT


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One launch of a plan, with its number and the boundaries that are rounded in it."""

    index: int
    launch: Launch
    rounds: tuple[Rounding, ...]


@cache
def shipped_compilers() -> frozenset[str]:
    """Compilers of this checkout: the article names them also where a code location has other adapters than these."""
    return frozenset(load_faces(ROOT / "adapters"))


class Article:
    """One store as the article sees it: what was captured on ``target``, whatever else there is."""

    def __init__(
        self, snapshot: Snapshot, files: PublicFiles, faces: dict[str, Face], workloads: set[str], target: str
    ) -> None:
        self.snapshot = snapshot
        self._files, self._faces = files, faces
        self._workloads = workloads | set(snapshot.workloads())
        self.target = target if target in snapshot.targets() else ""
        self.absent: list[str] = []

    def captured(self, workload: str, compiler: str, variant: str = "default") -> Configuration | None:
        """The configuration on the article's device, or None where this store has no capture of it.

        Puts its records on the site. Raises SiteBroken for a workload or compiler that does not exist.
        """
        if workload not in self._workloads:
            raise SiteBroken(f"the article speaks of workload {workload!r}, which does not exist")
        if compiler not in self._faces and compiler not in shipped_compilers():
            raise SiteBroken(f"the article speaks of compiler {compiler!r}, which has no adapter")
        for c in self.snapshot.of_cell(workload, compiler):
            key = c.key
            at = (key.variant, key.target, key.shape) == (variant, self.target, self.shape(workload))
            if at and c.capture.plan and c.capture.capture:
                self._add(c)
                return c
        self.absent.append(f"{workload}|{compiler} ({variant})")
        return None

    def shape(self, workload: str) -> str:
        return self.snapshot.main_shape(workload, self.target)

    def face(self, compiler: str) -> Face:
        return face_of(compiler, self._faces)

    def page(self, configuration: Configuration) -> str:
        return configuration_page(self.snapshot, configuration)

    def fixtures(self, workload: str) -> tuple[str, Any]:
        """Id and record of the workload's fixtures at the article's shape; an empty id where there are none."""
        found = self.snapshot.fixtures.get((workload, self.shape(workload)))
        if found is None:
            return "", None
        self._files.add_record(*found, "fixtures record")
        return found

    def own_egraph(self, workload: str) -> tuple[str, EGraphRecord | None]:
        """Id and record of this project's own e-graph of the workload; an empty id where there is none."""
        found = self.snapshot.egraphs.get(workload)
        if found is None:
            return "", None
        self._files.add_record(*found, "e-graph record")
        for evidence in (found[1].source, found[1].egraph):
            self._files.add(evidence)
        return found

    def built_alternatives(self, configuration: Configuration) -> list[tuple[str, list[str]]]:
        """What searches of the same cell built beside their choice and found right: record, and pointers to each."""
        key, found = configuration.key, []
        for c in self.snapshot.of_cell(key.workload, key.compiler):
            places = [
                f"/alternatives/{n}/candidate"
                for n, other in enumerate(c.capture.alternatives)
                if other.distinct and other.outcome.status == "ok"
            ]
            if places and (c.key.target, c.key.shape) == (key.target, key.shape):
                self._add(c)
                found.append((c.capture_id, places))
        return found

    def steps(self, configuration: Configuration) -> list[Step]:
        plan = configuration.capture.plan
        assert plan is not None
        return [
            Step(index=n, launch=launch, rounds=tuple(r for r in plan.roundings if r.launch == n))
            for n, launch in enumerate(plan.launches)
        ]

    def launch_of(self, configuration: Configuration, op: str) -> int:
        """The first launch that computes ``op``. Raises SiteBroken where none says so."""
        for step in self.steps(configuration):
            if op in step.launch.computes:
                return step.index
        raise SiteBroken(f"{_named(configuration)}: no launch computes {op!r}")

    def rounding_of(self, configuration: Configuration, op: str) -> int | None:
        """The place in the plan of where ``op`` is seen to be rounded; None where it is not."""
        assert configuration.capture.plan is not None
        roundings = enumerate(configuration.capture.plan.roundings)
        return next((n for n, rounding in roundings if rounding.boundary == op), None)

    def node_of(self, configuration: Configuration, op: str, role: str) -> int:
        """The first node of the semantic graph with this role that stands for ``op``. Raises SiteBroken for none."""
        nodes = self.nodes_of(configuration, op, role)
        if not nodes:
            raise SiteBroken(f"{_named(configuration)}: no {role} of its graph stands for {op!r}")
        return nodes[0]

    def nodes_of(self, configuration: Configuration, op: str = "", role: str = "") -> list[int]:
        """Places of the graph's nodes that stand for ``op`` (any, if empty) in this role (any, if empty)."""
        graph = configuration.capture.capture.graph if configuration.capture.capture else None
        return [
            n
            for n, node in enumerate(graph.nodes if graph else ())
            if op in (*node.program_ops, "") and role in (node.role, "")
        ]

    def places(self, nodes: list[int]) -> list[str]:
        """JSON pointers of graph nodes, to count them by."""
        return [f"/capture/graph/nodes/{n}/op" for n in nodes]

    def kinds(self, configuration: Configuration, kind: str) -> list[str]:
        """JSON pointers of the launches of a kind, to count them by."""
        steps = self.steps(configuration)
        return [f"/plan/launches/{step.index}/kind" for step in steps if step.launch.kind == kind]

    def fused(self, configuration: Configuration, op: str, other: str) -> bool:
        """Whether one launch computes both."""
        return any({op, other} <= set(step.launch.computes) for step in self.steps(configuration))

    def kept(self, configuration: Configuration, op: str) -> list[tuple[int, Buffer]]:
        """Buffers that a launch computing ``op`` writes and a later one reads, with their places in the plan."""
        writers = {step.index for step in self.steps(configuration) if op in step.launch.computes}
        return [(n, buffer) for n, buffer in self.stored(configuration) if buffer.first in writers]

    def workspace(self, configuration: Configuration) -> list[tuple[int, Buffer]]:
        """Buffers that hold no value of the program."""
        assert configuration.capture.plan is not None
        return [(n, b) for n, b in enumerate(configuration.capture.plan.buffers) if b.role == "workspace"]

    def bytes_of(self, buffers: list[tuple[int, Buffer]]) -> list[str]:
        """JSON pointers of the sizes of buffers."""
        return [f"/plan/buffers/{n}/bytes" for n, _ in buffers]

    def all_of(self, workload: str) -> list[Configuration]:
        """Every compiler's default configuration of a workload that was captured, in the pages' order."""
        names = in_order(
            {c.key.compiler for c in self.snapshot.configurations if c.key.workload == workload}, self._faces
        )
        return [c for name in names if name in self._faces and (c := self.captured(workload, name))]

    def pairs(self, one: str, other: str) -> list[tuple[Configuration, Configuration]]:
        """The default configurations of two workloads, where both were captured."""
        others = {c.key.compiler: c for c in self.all_of(other)}
        return [(c, others[c.key.compiler]) for c in self.all_of(one) if c.key.compiler in others]

    def verdict(self, configuration: Configuration, kind: str) -> int | None:
        """The place of the worst verdict of a kind; for the tolerance, of the one on random data."""
        admission = configuration.capture.admission
        verdicts = admission.verdicts if admission else ()
        own = [n for n, v in enumerate(verdicts) if v.kind == kind and (kind != "tolerance" or v.fixture == "random")]
        return max(own, key=lambda n: verdicts[n].mismatches, default=None)

    def stored(self, configuration: Configuration) -> list[tuple[int, Buffer]]:
        """Buffers that hold values between launches, with their places in the plan. Workspace is none of them."""
        assert configuration.capture.plan is not None
        return [(n, b) for n, b in enumerate(configuration.capture.plan.buffers) if b.role == "intermediate"]

    def _add(self, c: Configuration) -> None:
        records = (
            (c.capture_id, c.capture, "capture record"),
            (c.benchmark_id, c.benchmark, "benchmark record"),
            (c.profile_id, c.profile, "profile record"),
        )
        for record_id, record, name in records:
            if record is not None:
                self._files.add_record(record_id, record, name)


def _named(configuration: Configuration) -> str:
    key = configuration.key
    return f"{key.workload}|{key.compiler} ({key.variant}, {key.target})"
