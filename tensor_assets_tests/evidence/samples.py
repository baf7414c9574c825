"""A small campaign whose records add up, as a session would leave it: the raw material of the attacks."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tensor_worker.artifacts import Capture, Launch, Plan, Stage
from tensor_worker.program import Op, Program, Value

from tensor_assets.contract.arrays import hash_arrays, save_arrays
from tensor_assets.evidence.identity import Identity
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import (
    Admission,
    Allocation,
    BenchmarkRecord,
    Block,
    CaptureRecord,
    EnvironmentRecord,
    Evidence,
    Fixture,
    FixtureRecord,
    Key,
    Outcome,
    Process,
    Provenance,
    Series,
    SessionRecord,
    StageFile,
    Timing,
    Verdict,
)

NOBODY = Identity()
H200 = "NVIDIA H200"
ALLOCATION = Allocation(id="a1", device=H200, device_uuid="GPU-11111111-2222-3333-4444-555555555555", driver="595.1")
COMPILERS = ("tvm", "eager")
MLIR = "".join(f"  %{n} = arith.addf %a, %b : f32  // line {n}\n" for n in range(400))


class Sample(NamedTuple):
    store: EvidenceStore
    ids: dict[str, str]  # "fixtures", "capture tvm", "session", "benchmark eager", … → record id
    log: Evidence  # private
    stage: Evidence  # public, compressed


def provenance(*parents: str, created: str = "2026-12-02T10:00:00.000+00:00") -> Provenance:
    return Provenance(created=created, project="0.1.0", parents=parents)


def fixture_record(store: EvidenceStore, workload: str = "vector_add") -> FixtureRecord:
    inputs = {"a": np.arange(256, dtype=np.float16), "b": np.ones(256, np.float16)}
    reference = {"y": inputs["a"] + inputs["b"]}
    npz = "application/x-npz"
    fixture = Fixture(
        name="exact-0",
        exact=True,
        seed=0,
        arrays=store.put_bytes(save_arrays(None, inputs), npz, "exact-0.npz"),
        reference=store.put_bytes(save_arrays(None, reference), npz, "exact-0.reference.npz"),
        hashes=hash_arrays(inputs) | hash_arrays(reference),
    )
    program = Program(
        workload=workload,
        shape="main",
        inputs=(Value(name="a", shape=(256,), dtype="f16"), Value(name="b", shape=(256,), dtype="f16")),
        ops=(Op(name="y", op="add", of=("a", "b"), shape=(256,), dtype="f16"),),
        outputs=("y",),
    )
    return FixtureRecord(
        key=Key(workload=workload, shape="main"),
        outcome=Outcome(status="ok"),
        provenance=provenance(),
        program=program,
        question="Does a sum stay a sum?",
        fixtures=(fixture,),
    )


def capture_record(
    store: EvidenceStore, compiler: str, *parents: str, workload: str = "vector_add", created: str = ""
) -> CaptureRecord:
    text = store.put_bytes(f"// {compiler}\n{MLIR}".encode(), "text/x-mlir", "legalized.mlir")
    stage = Stage(
        name="legalized", title="Legalized", level="code", language="mlir", path="legalized.mlir", produced_by="a pass"
    )
    verdict = Verdict(fixture="exact-0", output="y", kind="exact", passed=True, elements=256)
    return CaptureRecord(
        key=Key(workload=workload, shape="main", compiler=compiler, variant="default", target=H200, environment="e1"),
        outcome=Outcome(
            status="ok", log=store.put_bytes(f"{compiler} log\n".encode(), "text/plain", "worker.log", True)
        ),
        provenance=provenance(*parents, **({"created": created} if created else {})),
        capture=Capture(stages=(stage,)),
        stages=(StageFile(stage="legalized", text=text),),
        plan=Plan(launches=(Launch(kind="kernel", name=f"{compiler}_kernel", grid=(1, 1, 1), block=(256, 1, 1)),)),
        fingerprint=f"fp-{compiler}",
        admission=Admission(admitted=True, verdicts=(verdict,)),
        cache=store.put_bytes(compiler.encode() * 3000, "application/zstd", "cache.tar.zst"),
    )


def environment_record(compiler: str) -> EnvironmentRecord:
    return EnvironmentRecord(
        key=Key(compiler=compiler, target=H200, environment="e1"),
        outcome=Outcome(status="ok"),
        provenance=provenance(),
        python="3.11.7",
        lock_sha256="0" * 64,
        freeze={"apache-tvm": "0.27.0", "nvidia-curand": "10.3.5.147"},
    )


def session_record(*parents: str, workload: str = "vector_add", allocation: Allocation = ALLOCATION) -> SessionRecord:
    processes = tuple(
        Process(
            index=index,
            compiler=compiler,
            variant="default",
            replicate=0,
            fingerprint=f"fp-{compiler}",
            captured=f"fp-{compiler}",
            outcome=Outcome(status="ok"),
            recheck=True,
        )
        for index, compiler in enumerate(COMPILERS)
    )
    blocks = tuple(
        Block(
            process=(position + round_) % len(COMPILERS),
            round=round_,
            position=position,
            clock="host",
            cache="warm",
            data="random",
            invocations=100,
            elapsed_ns=100 * (5000 + 37 * round_ + 1000 * position),
        )
        for round_ in range(15)
        for position in range(len(COMPILERS))
    )
    return SessionRecord(
        key=Key(workload=workload, shape="main", target=H200, method="m1"),
        outcome=Outcome(status="ok"),
        provenance=provenance(*parents),
        allocation=allocation,
        seed=7,
        processes=processes,
        blocks=blocks,
    )


def benchmark_record(session_id: str, session: SessionRecord, compiler: str) -> BenchmarkRecord:
    index = COMPILERS.index(compiler)
    samples = [block.elapsed_ns / block.invocations for block in session.blocks if block.process == index]
    median = statistics.median(samples)
    series = Series(
        process=index,
        replicate=0,
        samples=len(samples),
        median_ns=median,
        p10_ns=min(samples),
        p90_ns=max(samples),
        interval_ns=(median, median),
        drift=0.0,
        drifted=False,
    )
    timing = Timing(clock="host", cache="warm", data="random", series=(series,), median_ns=median, noise=None)
    return BenchmarkRecord(
        key=Key(
            workload=session.key.workload,
            shape="main",
            compiler=compiler,
            variant="default",
            target=H200,
            environment="e1",
            method="m1",
        ),
        outcome=Outcome(status="ok"),
        provenance=provenance(session_id),
        session=session_id,
        allocation=session.allocation,
        fingerprint=f"fp-{compiler}",
        timings=(timing,),
    )


def campaign(url: str | Path, workload: str = "vector_add") -> Sample:
    """Fixtures, two environments, two captures, their session, two benchmarks: 8 records."""
    store = EvidenceStore(url, identity=NOBODY)
    ids = {"fixtures": store.put(fixture_record(store, workload))}
    captures = {}
    for compiler in COMPILERS:
        ids[f"environment {compiler}"] = store.put(environment_record(compiler))
        parents = (ids["fixtures"], ids[f"environment {compiler}"])
        captures[compiler] = capture_record(store, compiler, *parents, workload=workload)
        ids[f"capture {compiler}"] = store.put(captures[compiler])
    session = session_record(*(ids[f"capture {compiler}"] for compiler in COMPILERS), workload=workload)
    ids["session"] = store.put(session)
    for compiler in COMPILERS:
        ids[f"benchmark {compiler}"] = store.put(benchmark_record(ids["session"], session, compiler))
    log = captures["tvm"].outcome.log
    assert log is not None
    return Sample(store, ids, log, captures["tvm"].stages[0].text)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a store and its content, without the lock."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }
