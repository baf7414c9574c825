"""Luminal captures as an import files them, small and very large; the e-graphs are egglog's own."""

from __future__ import annotations

import functools
from pathlib import Path

from egglog.bindings import EGraph
from tensor_worker.artifacts import Capture, Edge, Node, SemanticGraph

from tensor_assets.evidence.media import of_language
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CaptureRecord, Key, Outcome, StageFile
from tensor_assets_tests.adapters.luminal_bundles import module, write_bundle
from tensor_assets_tests.report.words import PROVENANCE, sha

ALTERNATIVES, NODES = 1500, 5000


def luminal_capture(
    store: EvidenceStore,
    folder: Path,
    target: str,
    variant: str = "default",
    graph: SemanticGraph | None = None,
    **changes: object,
) -> CaptureRecord:
    """What ``tensor-assets import`` files of a bundle, under another target and shape than the bundle's own."""
    bundle = module("bundle").read_bundle(write_bundle(folder / "bundle", **changes))
    capture: Capture = module("imported").capture_of(bundle, folder / "dump")
    files = tuple(
        StageFile(
            stage=stage.name,
            text=store.put_bytes((folder / "dump" / stage.path).read_bytes(), of_language(stage.language), stage.name),
        )
        for stage in capture.stages
    )
    return CaptureRecord(
        key=Key(workload="weight_view", shape="matrix", compiler="luminal", variant=variant, target=target,
                environment=sha("bundle")[:16], method="capture-1"),
        outcome=Outcome(status="unavailable", reason=f"captured elsewhere on {target}, it was not run here"),
        provenance=PROVENANCE,
        capture=Capture(stages=capture.stages, graph=graph or capture.graph, decisions=capture.decisions,
                        correspondences=capture.correspondences, search=capture.search),
        stages=files,
        plan=module("imported").plan_of(bundle),
        fingerprint=sha(variant),
        device=target,
        version=bundle.manifest.luminal,
    )  # fmt: skip


def large_graph() -> SemanticGraph:
    """A tree of 5,000 nodes, each reading the one at half its number."""
    nodes = tuple(
        Node(id=f"v{n}", op="Add" if n % 3 else "Mul", role="contraction" if n == 0 else "other", shape=(n % 7 + 1, 8))
        for n in range(NODES)
    )
    return SemanticGraph(
        stage="logical",
        nodes=nodes,
        edges=tuple(Edge(source=f"v{(n - 1) // 2}", target=f"v{n}") for n in range(1, NODES)),
    )


@functools.cache
def large_egraph() -> bytes:
    """One class of 1,500 expressions in an e-graph of about 5,000 nodes."""
    program = ["(datatype Tensor (Leaf i64) (Pair Tensor Tensor))", "(let root (Pair (Leaf 0) (Leaf 1)))"]
    program += [f"(union root (Pair (Leaf {n}) (Leaf {n + 1})))" for n in range(1, ALTERNATIVES)]
    egraph = EGraph()
    egraph.run_program(*egraph.parse_program("\n".join(program)))
    return egraph.serialize([]).to_json().encode()
