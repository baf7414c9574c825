"""Small records for claims to be asked of, and claims to ask: one kernel of one compiler, on devices, in versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from tensor_worker.artifacts import Capture, Launch, Node, Plan, Search, SemanticGraph, Stage

from tensor_assets.claims.claim import Claim
from tensor_assets.claims.judging import Judgement, judge
from tensor_assets.claims.library import Library
from tensor_assets.claims.reading import parse_claims
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Allocation, CaptureRecord, EffortRecord, Key, Outcome, Provenance, StageFile, Trial

SASS = """\t.target\tsm_90
.text.r_8:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   HMMA.16816.F32 R4, R8, R10, R4 ;
        /*0020*/                   HMMA.16816.F32 R4, R8, R10, R4 ;
"""

GEOMETRY = """
claims:
  - id: plan-toy
    statement: The kernel has 8 by 16 blocks.
    source: {document: a report, section: its heading}
    target: sm_90
    applies_to: {workload: bias, shape: matrix, compiler: tinygrad}
    query: kernels[].grid
    operator: equals
    expected: [[8, 16, 1]]
"""


def claim(text: str = GEOMETRY, **changes: Any) -> Claim:
    """The one claim in ``text``, with fields of it or of its scope replaced."""
    (found,) = parse_claims(text.encode(), "claims.yaml")
    scope = {name: changes.pop(name) for name in list(changes) if name in ("device", "versions", "variant", "workload")}
    return msgspec.structs.replace(found, applies_to=msgspec.structs.replace(found.applies_to, **scope), **changes)


def put(
    store: EvidenceStore,
    *,
    version: str = "0.14.0",
    grid: tuple[int, int, int] = (8, 16, 1),
    target: str = "NVIDIA H200",
    status: str = "ok",
    variant: str = "default",
    workload: str = "bias",
    registers: int | None = 92,
    patch: str = "",
    environment: str = "",
    created: str = "2026-11-01T00:00:00.000+00:00",
    sass: str = SASS,
    search: Search | None = None,
) -> str:
    """One capture of one kernel; returns its id."""
    text = store.put_bytes(sass.encode(), "text/plain", "kernel.sass")
    stage = Stage(name="machine", title="SASS", level="machine", language="sass", path="m", produced_by="nvdisasm")
    node = Node(id="n", op="MUL", role="contraction", shape=(1024, 1024, 768), dtype="half", program_ops=("p",))
    graph = SemanticGraph(stage="machine", nodes=(node,), edges=())
    launch = Launch(
        kind="kernel", name="r_8", grid=grid, block=(32, 4, 1), registers=registers, shared_bytes=0, computes=("p", "y")
    )
    seen = status in ("ok", "rejected")
    record = CaptureRecord(
        key=Key(
            workload=workload,
            shape="matrix",
            compiler="tinygrad",
            variant=variant,
            target=target,
            environment=environment or version,
            patch=patch,
        ),
        outcome=Outcome(status=status, reason="" if status == "ok" else "SIGSEGV in tensorize"),
        provenance=Provenance(created=created),
        capture=Capture(stages=(stage,), graph=graph, search=search) if seen else None,
        stages=(StageFile(stage="machine", text=text),) if seen else (),
        plan=Plan(launches=(launch,)) if seen else None,
        version=version,
    )
    return store.put(record)


def put_effort(store: EvidenceStore, method: str, device_uuid: str, created: str, *, trials: int) -> str:
    """A search-effort comparison of the default variant of the cell that ``put`` makes; returns its id."""
    found = tuple(Trial(block=n, position=0, variant="default", outcome=Outcome(status="ok")) for n in range(trials))
    return put_trials(store, found, method, device_uuid, created)


def put_trials(
    store: EvidenceStore,
    found: tuple[Trial, ...],
    method: str = "a",
    device_uuid: str = "GPU-1",
    created: str = "2026-11-01T00:00:00.000+00:00",
) -> str:
    record = EffortRecord(
        key=Key(
            workload="bias",
            shape="matrix",
            compiler="tinygrad",
            target="NVIDIA H200",
            environment="0.14.0",
            method=method,
        ),
        outcome=Outcome(status="ok"),
        provenance=Provenance(created=created),
        allocation=Allocation(id=device_uuid, device="NVIDIA H200", device_uuid=device_uuid),
        seed=1,
        trials=found,
    )
    return store.put(record)


def judged(store: EvidenceStore, asked: Claim) -> Judgement:
    return judge(asked, Library(PublicView(store)))


def empty(folder: Path) -> EvidenceStore:
    return EvidenceStore(folder / "store")
