"""The e-graph that ships with the project: ours, not a compiler's. Made again with

    python -m tensor_assets_tests.report.own_egraph fixtures/recorded/own-egraph-weight-view.bundle

and held against what egglog makes of ``fixtures/egraphs/weight_view.egg`` by ``test_own_egraph``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from egglog.bindings import EGraph

from tensor_assets.evidence.media import of_language
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle
from tensor_assets.records import EGraphRecord, Key, Outcome, Provenance
from tensor_assets.settings import ROOT

WORKLOAD, SHAPE = "weight_view", "matrix"
SOURCE = ROOT / "fixtures" / "egraphs" / f"{WORKLOAD}.egg"
# Which value of the workload each name of the source is, or is a step to.
STANDS_FOR = {"x": "x", "wt": "wt", "b": "b", "w": "w", "products": "p", "sum": "p", "p": "p", "y": "y"}


def saturated(text: str) -> bytes:
    """The e-graph that egglog makes of program and rules, whole."""
    egraph = EGraph()
    egraph.run_program(*egraph.parse_program(text))
    return egraph.serialize([]).to_json().encode()


def record_of(store: EvidenceStore) -> EGraphRecord:
    """Puts source and e-graph into ``store``."""
    source, egraph = SOURCE.read_bytes(), saturated(SOURCE.read_text())
    nodes = json.loads(egraph)["nodes"]
    members = Counter(node["eclass"] for node in nodes.values())
    named = {about["let"]: eclass for eclass, about in json.loads(egraph)["class_data"].items() if "let" in about}
    return EGraphRecord(
        key=Key(workload=WORKLOAD, shape=SHAPE),
        outcome=Outcome(status="ok"),
        provenance=Provenance(
            created=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", packages={"egglog": version("egglog")}
        ),
        source=store.put_bytes(source, of_language("egglog"), SOURCE.name),
        egraph=store.put_bytes(egraph, of_language("json"), f"{WORKLOAD}-egraph.json"),
        saturated_by=f"egglog {version('egglog')}",
        nodes=len(nodes),
        classes=len(members),
        stands_for=STANDS_FOR,
        forms={value: members[named[value]] for value in ("w", "p", "y")},
    )


def main(bundle: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = EvidenceStore(folder)
        store.put(record_of(store))
        print(export_bundle(store, bundle))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
