"""A store with every kind of record a site must show: seven compilers, seven outcomes, three targets, hostile names."""

from __future__ import annotations

import numpy as np
from tensor_worker.program import Op, Program, Value

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import (
    Bound,
    CaptureRecord,
    EnvironmentRecord,
    Fixture,
    FixtureRecord,
    Key,
    Outcome,
)
from tensor_assets_tests.report.compiled import HOSTILE, NATIVE, STAGES, capture
from tensor_assets_tests.report.timed import profile_cells, search_efforts, time_cells
from tensor_assets_tests.report.words import H200, HOST, PROVENANCE, VERSIONS, sha

__all__ = ["H200", "HOST", "NATIVE", "STAGES", "WORKLOADS", "fill", "program"]

WORKLOADS = {
    "gemm": "matrix eligibility and accumulation",
    "bias": "projection rounding and broadcast epilogue",
    "weight_view": "indexing or descriptor versus transpose storage",
    "input_scale": "input-load fusion versus producer storage",
    "output_scale": "multiplicative epilogue",
    "residual": "full-size second input",
    "public_projection": "observable intermediate and buffer reuse",
    "relu": "activation placement",
    "projection_join": "independent producers and cancellation",
    "projection_chain": "producer–consumer matrix boundary",
    "affine": "how the contraction is represented, the bias placed",
    "affine_relu": "does activation alter fusion or library eligibility",
    "residual_relu": "a second epilogue input",
    "shared_projection": "a projection that is also public",
    "two_layer": "storage between two contractions",
    "gated_projections": "independent producers and their join",
    "transposed_weight": "view, copy or implementation parameter",
    "softmax": "dependent reductions and broadcasts",
    "rmsnorm": "a reduction accumulator shared by its row",
    "norm_projection": "a reduction producer and a contraction consumer",
}


def fill(url: str, workloads: tuple[str, ...] = tuple(WORKLOADS)) -> EvidenceStore:
    """A campaign over ``workloads``: all seven compilers on the CPU, ``weight_view`` on a GPU and for sm_90 too."""
    store = EvidenceStore(url)
    for compiler in VERSIONS:
        store.put(environment(compiler))
    for workload in workloads:
        store.put(fixtures(store, workload))
        for compiler in VERSIONS:
            for record in cell(store, workload, compiler):
                store.put(record)
        time_cells(store, workload, "cpu", HOST)
    if "weight_view" in workloads:
        for compiler in VERSIONS:
            store.put(capture(store, "weight_view", compiler, target=H200))
            store.put(capture(store, "weight_view", compiler, target="sm_90"))
        time_cells(store, "weight_view", H200, H200)
        profile_cells(store)
        search_efforts(store)
    return store


def program(workload: str, m: int = 1024, k: int = 768, n: int = 1024) -> Program:
    """A projection with a bias; ``weight_view`` reads its weight transposed."""
    transposed = workload == "weight_view"
    weight = Value(name="wt" if transposed else "w", shape=(n, k) if transposed else (k, n), dtype="f16")
    view = [Op(name="w", op="transpose", of=("wt",), shape=(k, n), dtype="f16")] if transposed else []
    bias = [] if workload == "gemm" else [Value(name="b", shape=(n,), dtype="f16")]
    epilogue = [] if workload == "gemm" else [Op(name="y", op="add", of=("p", "b"), shape=(m, n), dtype="f16")]
    return Program(
        workload=workload,
        shape="matrix",
        inputs=(Value(name="x", shape=(m, k), dtype="f16"), weight, *bias),
        ops=(*view, Op(name="p", op="matmul", of=("x", "w"), shape=(m, n), dtype="f16"), *epilogue),
        outputs=("y" if bias else "p",),
    )


def fixtures(store: EvidenceStore, workload: str) -> FixtureRecord:
    made = []
    for seed, name in enumerate(("exact-0", "exact-1", "random")):
        arrays = store.put_bytes(
            np.random.default_rng(seed).bytes(4096), media_type="application/x-npz", name=f"{workload}-{name}.npz"
        )
        made.append(
            Fixture(
                name=name,
                exact=name != "random",
                seed=seed,
                arrays=arrays,
                reference=arrays,
                hashes={"x": sha(f"x{seed}"), "y": sha(f"y{seed}")},
                bounds=(Bound(op="p", steps=2**21.8),) if name != "random" else (),
                coverage={"projection not rounded": 0.28, "product rounded": 0.25} if name != "random" else {},
                recipe="x, w = ±{0…127}/128; b = −FP16(row of p)" if name != "random" else "normal, w scaled by 1/√K",
            )
        )
    return FixtureRecord(
        key=Key(workload=workload, shape="matrix", method="fixtures-1"),
        outcome=Outcome(status="ok"),
        provenance=PROVENANCE,
        program=program(workload),
        question=WORKLOADS[workload],
        fixtures=tuple(made),
    )


def environment(compiler: str) -> EnvironmentRecord:
    return EnvironmentRecord(
        key=Key(compiler=compiler, environment=sha(compiler)[:16]),
        outcome=Outcome(status="ok"),
        provenance=PROVENANCE,
        python="3.11.7",
        lock_sha256=sha(compiler + "lock"),
        freeze={compiler: VERSIONS[compiler], "numpy": "2.4.6", "msgspec": "0.23.0"},
        version=VERSIONS[compiler],
        toolchain={"clang": "Debian clang version 14.0.6"} if compiler == "tinygrad" else {},
    )


def cell(store: EvidenceStore, workload: str, compiler: str) -> list[CaptureRecord]:
    """What the CPU says; the seven outcomes all occur somewhere."""
    log = store.put_bytes(
        f"step compile\n{HOSTILE}\nKilled\n".encode(), media_type="text/plain", name=f"{compiler}.log", private=True
    )
    failures = {
        "luminal": Outcome(
            status="unavailable",
            reason="no Rust toolchain on this machine, which Luminal's worker is built with",
            remedy="apt-get install cargo",
        ),
        "triton": Outcome(
            status="unavailable", reason="authored Triton kernels need a CUDA device; this host has none"
        ),
    }
    special = {
        ("projection_join", "tinygrad"): Outcome(
            status="rejected", reason="294,912 of 1,048,576 elements of y differ on exact-0: product rounded"
        ),
        ("norm_projection", "tvm"): Outcome(
            status="crashed", reason="signal 11 (SIGSEGV) in step compile after 3.1 s", log=log
        ),
        ("softmax", "max"): Outcome(
            status="censored", reason="step compile was stopped at its deadline of 600 s", log=log
        ),
        ("gated_projections", "tvm"): Outcome(
            status="unsupported", reason="relu of a product of two calls has no legalization in this pipeline"
        ),
        ("rmsnorm", "inductor"): Outcome(status="blocked", reason="gemm was not admitted on cpu"),
    }
    outcome = special.get((workload, compiler)) or failures.get(compiler)
    records = [capture(store, workload, compiler, outcome=outcome)]
    if compiler == "inductor" and workload == "weight_view":
        native = Outcome(
            status="rejected", reason="304,102 of 1,048,576 elements of y differ on exact-0: projection not rounded"
        )
        records.append(capture(store, workload, compiler, variant="native", outcome=native))
    return records
