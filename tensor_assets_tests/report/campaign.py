"""A store with every kind of record a site must show: seven compilers, seven outcomes, three targets, hostile names."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import msgspec
import numpy as np
from tensor_worker.artifacts import (
    Buffer,
    Candidate,
    Capture,
    Correspondence,
    Decision,
    Edge,
    Excerpt,
    Launch,
    Node,
    Plan,
    Rounding,
    Search,
    SemanticGraph,
    Stage,
)
from tensor_worker.program import Op, Program, Value

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import (
    Admission,
    Allocation,
    BenchmarkRecord,
    Block,
    Bound,
    CaptureRecord,
    Comparison,
    EnvironmentRecord,
    Evidence,
    Fixture,
    FixtureRecord,
    KernelProfile,
    Key,
    Outcome,
    Process,
    ProfileRecord,
    Provenance,
    Roof,
    Series,
    SessionRecord,
    StageFile,
    Timing,
    Verdict,
)

NATIVE = Path(__file__).parent / "native"
HOSTILE = '</script><script>alert("x")</script><img src=x onerror=alert(1)>&amp;'
PROVENANCE = Provenance(created="2026-11-29T12:00:00Z", command=("tensor-assets", "run"), project="0.1.0")
VERSIONS = {
    "tinygrad": "0.14.0",
    "luminal": "77d3060",
    "max": "26.7.0",
    "inductor": "2.14.1",
    "tvm": "0.27.0.post1",
    "eager": "2.14.1",
    "triton": "3.8.0",
}
HOST = "AMD EPYC 9354 32-Core Processor"
H200 = "NVIDIA H200"

# name → (ops after the inputs, question); enough to fill a matrix with the twenty rows it will have.
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

# compiler → [(stage, title, level, language, file, produced by)]
STAGES = {
    "tinygrad": [
        ("uops", "Tensor UOps", "semantic", "python", "tinygrad_uops.txt", "tinygrad.uop.render.pyrender"),
        ("source", "Generated C", "code", "c", "kernel.c", "ClangRenderer"),
        ("object", "Machine code", "machine", "asm", "machine.asm", "objdump --disassemble"),
    ],
    "max": [
        ("mo", "mo graph", "semantic", "mlir", "mo.mlir", "str(graph._module)"),
        ("mgp", "mgp buffers", "scheduled", "mlir", "mgp.mlir", "MODULAR_MAX_TEMPS_DIR"),
    ],
    "inductor": [
        ("fx", "FX graph", "semantic", "python", "fx.txt", "TORCH_COMPILE_DEBUG fx_graph_readable"),
        ("output_code", "Wrapper and kernels", "code", "python", "output_code.txt", "TORCH_COMPILE_DEBUG output_code"),
    ],
    "tvm": [
        ("relax", "Relax", "semantic", "tvmscript", "relax.txt", "relax.BlockBuilder"),
        ("legalized", "TIR after fusion", "scheduled", "tvmscript", "tir.txt", "FuseTIR"),
        ("llvm", "LLVM IR", "code", "llvm", "llvm.ll", "inspect_source('ll')"),
    ],
    "triton": [
        ("ttir", "Triton IR", "semantic", "mlir", "ttir.mlir", "triton.compile asm['ttir']"),
        ("ptx", "PTX", "code", "ptx", "kernel.ptx", "triton.compile asm['ptx']"),
        ("sass", "SASS", "machine", "sass", "kernel.sass", "nvdisasm"),
    ],
    "luminal": [("egraph", "E-graph program", "semantic", "egglog", "search.egg", "egglog text")],
    "eager": [("fx", "Operator trace", "semantic", "python", "fx.txt", "torch.fx")],
}
CPU_MILLISECONDS = {"tinygrad": 748.0, "max": 10.9, "inductor": 51.2, "tvm": 857.0, "eager": 46.0}
DEVICE_MICROSECONDS = {"tinygrad": 30.2, "max": 15.6, "inductor": 6.5, "tvm": 48.2, "eager": 8.6, "triton": 5.66}


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
                hashes={"x": _sha(f"x{seed}"), "y": _sha(f"y{seed}")},
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
        key=Key(compiler=compiler, environment=_sha(compiler)[:16]),
        outcome=Outcome(status="ok"),
        provenance=PROVENANCE,
        python="3.11.7",
        lock_sha256=_sha(compiler + "lock"),
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


def capture(
    store: EvidenceStore,
    workload: str,
    compiler: str,
    *,
    variant: str = "default",
    target: str = "cpu",
    outcome: Outcome | None = None,
) -> CaptureRecord:
    if target != "cpu" and compiler == "luminal":
        outcome = Outcome(
            status="unavailable", reason="no Rust toolchain on this machine", remedy="apt-get install cargo"
        )
    if target == "sm_90" and compiler in ("inductor", "eager"):
        outcome = Outcome(status="unavailable", reason=f"{compiler} compiles for CUDA only where a device is present")
    outcome = outcome or Outcome(status="ok")
    key = Key(
        workload=workload,
        shape="matrix",
        compiler=compiler,
        variant=variant,
        target=target,
        environment=_sha(compiler)[:16],
        method="capture-1",
    )
    if outcome.status not in ("ok", "rejected"):
        return CaptureRecord(key=key, outcome=outcome, provenance=PROVENANCE, version=VERSIONS[compiler])
    stages, files = _stages(store, workload, compiler)
    made = plan(workload, compiler, target)
    return CaptureRecord(
        key=key,
        outcome=outcome,
        provenance=msgspec.structs.replace(PROVENANCE, seconds={"spawn": 0.9, "compile": 3.4, "judge": 0.4}),
        capture=Capture(
            stages=stages,
            graph=graph(compiler, workload),
            decisions=_decisions(compiler),
            correspondences=_correspondences(compiler),
            search=_search(compiler),
        ),
        stages=files,
        plan=made,
        fingerprint=_sha(f"{compiler}{variant}{target}{workload}"),
        admission=None if target == "sm_90" else _admission(outcome, workload),
        phases={"import": 0.8, "lower": 0.3, "compile": 3.1},
        first_execution_seconds=0.91,
        device=HOST if target == "cpu" else target,
        version=VERSIONS[compiler],
    )


def plan(workload: str, compiler: str, target: str) -> Plan:
    gpu = target != "cpu"
    epilogue = () if workload == "gemm" else ("y",)
    view = ("w",) if workload == "weight_view" else ()

    def launch(kind: str, name: str, computes: tuple[str, ...], stage: str = "", **more: object) -> Launch:
        geometry = {"grid": (8, 16, 1), "block": (32, 4, 1), "registers": 92, "shared_bytes": 0} if gpu else {}
        return Launch(kind=kind, name=name, computes=computes, stage=stage, code_sha256=_sha(name), **(geometry | more))  # type: ignore[arg-type]

    projection = Buffer(name="projection", role="intermediate", bytes=2097152, first=0, last=1)
    output = Buffer(name="y", role="output", bytes=2097152, first=0)
    if compiler == "tinygrad":
        launches = [
            launch("kernel", "r_256_256_4_4_192_4", (*view, "p", *epilogue), "source", instruction="vfmadd231ps")
        ]
        rounds = [Rounding(boundary="p", launch=0, evidence="half projection = (half)(acc0[m * 4 + n])")]
        return Plan(launches=tuple(launches), buffers=(output,), roundings=tuple(rounds))
    if compiler == "max":
        launches = [
            launch("memset", "memset 33,554,432 bytes", (), grid=None, block=None, registers=None),
            launch(
                "library", "nvjet_sm90_hsh_128x64_64x8_1x2_h_bz_TNT", (*view, "p"), instruction="HGMMA.64x64x16.F32"
            ),
            launch("kernel", "elementwise_r2_w8_b256", epilogue),
        ][0 if gpu else 1 :]
        return Plan(launches=tuple(launches), buffers=(projection, output), notes=("no kernel transposes the weight",))
    if compiler == "tvm":
        launches = [
            *([launch("kernel", "transpose", view)] if view else []),
            launch(
                "kernel",
                "fused_matmul_cast_add" + (HOSTILE if workload == "bias" else ""),
                ("p", *epilogue),
                "legalized",
            ),
        ]
        buffers = (Buffer(name="lv", role="intermediate", bytes=1572864, first=0, last=1), output)
        return Plan(launches=tuple(launches), buffers=buffers if view else (output,))
    if compiler == "triton":
        return Plan(launches=(launch("kernel", "matmul_bias", (*view, "p", *epilogue), "ptx", instruction="HGMMA"),))
    launches = [launch("library", "mm", (*view, "p")), launch("kernel", "cpp_fused_add_0", epilogue, "output_code")]
    return Plan(launches=tuple(launches), buffers=(projection, output))


def graph(compiler: str, workload: str) -> SemanticGraph | None:
    """tinygrad's decomposition and TVM's explicit operators; the rest keep none here."""
    if compiler == "tinygrad":
        rows = [
            ("c0", "BUFFER", "input", (1024, 768), "half", 1, ()),
            ("c2", "EXPAND", "view", (1024, 1024, 768), "half", 3, ()),
            ("c3", "CAST", "cast", (1024, 1024, 768), "float", 4, ()),
            ("c4", "BUFFER", "input", (1024, 768), "half", 5, ()),
            ("c5", "PERMUTE", "view", (768, 1024), "half", 6, ("w",)),
            ("c7", "CAST", "cast", (1024, 1024, 768), "float", 8, ()),
            ("c8", "MUL", "contraction", (1024, 1024, 768), "float", 9, ("p",)),
            ("c9", "REDUCE ADD", "reduction", (1024, 1024, 1), "float", 10, ("p",)),
            ("c10", "CAST", "cast", (1024, 1024), "half", 11, ("p",)),
            ("c11", "BUFFER", "input", (1024,), "half", 12, ()),
            ("ast", "ADD", "epilogue", (1024, 1024), "half", 14, ("y",)),
        ]
        pairs = "c0 c2,c2 c3,c4 c5,c5 c7,c3 c8,c7 c8,c8 c9,c9 c10,c10 ast,c11 ast"
        stage = "uops"
    elif compiler == "tvm":
        rows = [
            ("x", "param", "input", (1024, 768), "float16", 7, ()),
            ("wt", "param", "input", (1024, 768), "float16", 7, ()),
            ("b", "param", "input", (1024,), "float16", 7, ()),
            ("lv", "R.permute_dims", "view", (768, 1024), "float16", 9, ("w",)),
            ("lv1", "R.matmul", "contraction", (1024, 1024), "float32", 10, ("p",)),
            ("lv2", "R.astype", "cast", (1024, 1024), "float16", 11, ("p",)),
            ("gv", "R.add", "epilogue", (1024, 1024), "float16", 12, ("y",)),
        ]
        pairs = "wt lv,x lv1,lv lv1,lv1 lv2,lv2 gv,b gv"
        stage = "relax"
    else:
        return None
    nodes = tuple(
        Node(id=i, op=op, role=role, shape=shape, dtype=dtype, lines=(line, line), program_ops=ops)  # type: ignore[arg-type]
        for i, op, role, shape, dtype, line, ops in rows
    )
    edges = tuple(Edge(source=pair.split()[0], target=pair.split()[1]) for pair in pairs.split(","))
    return SemanticGraph(stage=stage, nodes=nodes, edges=edges)


def time_cells(store: EvidenceStore, workload: str, target: str, device: str) -> None:
    """One session over the admitted configurations, then every cell's view of it; the rest is blocked."""
    captures = [
        record
        for _, record in store.records(CaptureRecord)
        if (record.key.workload, record.key.target) == (workload, target)
    ]
    admitted = [record for record in captures if record.outcome.status == "ok"]
    allocation = Allocation(id=_sha(device)[:16], device=device, driver="580.159.04" if "NVIDIA" in device else "")
    session = _session(workload, target, allocation, admitted)
    session_id = store.put(session)
    for record in captures:
        ok = record.outcome.status == "ok"
        blocked = Outcome(status="blocked", reason=f"capture is {record.outcome.status}")
        store.put(
            BenchmarkRecord(
                key=msgspec.structs.replace(record.key, method="timing-1"),
                outcome=Outcome(status="ok") if ok else blocked,
                provenance=msgspec.structs.replace(PROVENANCE, parents=(session_id,)),
                session=session_id,
                allocation=allocation if ok else None,
                fingerprint=record.fingerprint,
                timings=_timings(record, target) if ok else (),
            )
        )


def profile_cells(store: EvidenceStore) -> None:
    """A timeline and counters for every timed configuration on the GPU."""
    benchmarks = [r for _, r in store.records(BenchmarkRecord) if r.key.target == H200 and r.outcome.status == "ok"]
    for record in benchmarks:
        launches = plan("weight_view", record.key.compiler, H200).launches
        share = _median(record.key.compiler, H200, "weight_view") / len(launches)
        kernels = tuple(
            KernelProfile(
                position=number,
                kind="kernel" if launch.kind == "library" else launch.kind,
                name=launch.name,
                grid=launch.grid or (0, 0, 0),
                block=launch.block or (0, 0, 0),
                registers=launch.registers or 0,
                bytes=33_554_432 if launch.kind == "memset" else 0,
                duration_ns=share,
                gap_ns=900.0 if number else 0.0,
                occupancy=0.1875 if launch.kind != "memset" else None,
                occupancy_limit="registers" if launch.kind != "memset" else "",
                waves=0.97 if launch.kind != "memset" else None,
                operations=1.61e9 if "p" in launch.computes else 1.05e6,
                roofs=(
                    Roof(level="HBM", bytes=5.2e6, intensity=309.0, attainable=9.9e14, share=0.32),
                    Roof(level="L2", bytes=4.1e7, intensity=39.3, attainable=4.3e14, share=0.71),
                )
                if "p" in launch.computes
                else (),
            )
            for number, launch in enumerate(launches)
        )
        busy = sum(kernel.duration_ns for kernel in kernels)
        store.put(
            ProfileRecord(
                key=msgspec.structs.replace(record.key, method="profile-1"),
                outcome=Outcome(status="ok"),
                provenance=PROVENANCE,
                session=record.session,
                allocation=record.allocation,
                fingerprint=record.fingerprint,
                timeline=((), (), ()),
                kernels=kernels,
                busy_ns=busy,
                span_ns=busy + sum(kernel.gap_ns for kernel in kernels),
                opcodes={"matmul": {"HGMMA.64x64x16.F32": 48, "LDGSTS": 12, "BAR": 4}},
                ceilings={"arithmetic": "990 TFLOP/s, data sheet", "HBM": "4.8 TB/s, data sheet"},
                missing={"host lane": "no Nsight Systems on this machine"},
            )
        )


def _session(workload: str, target: str, allocation: Allocation, admitted: list[CaptureRecord]) -> SessionRecord:
    processes = [
        Process(
            index=3 * position + replicate,
            compiler=record.key.compiler,
            variant=record.key.variant,
            replicate=replicate,
            fingerprint=record.fingerprint,
            outcome=Outcome(status="ok"),
            core=1,
            recheck=True,
        )
        for position, record in enumerate(admitted)
        for replicate in range(3)
    ]
    blocks = [
        Block(
            process=process.index,
            round=number,
            position=process.index,
            clock="host",
            cache="warm",
            data="random",
            invocations=1,
            elapsed_ns=int(_median(process.compiler, target, workload)),
        )
        for number in range(5)
        for process in processes
    ]
    return SessionRecord(
        key=Key(workload=workload, shape="matrix", target=target, method="timing-1"),
        outcome=Outcome(status="ok"),
        provenance=PROVENANCE,
        allocation=allocation,
        seed=7,
        processes=tuple(processes),
        blocks=tuple(blocks),
        load=(0.2, 1.1),
        method={"blocks": 5, "warmup_seconds": 2.0, "budget_seconds": 15.0},
    )


def _median(compiler: str, target: str, workload: str) -> float:
    wobble = 1 + 0.3 * (int(_sha(compiler + workload)[:4], 16) / 65535 - 0.5)
    if target == "cpu":
        return CPU_MILLISECONDS.get(compiler, 20.0) * 1e6 * wobble
    return DEVICE_MICROSECONDS.get(compiler, 20.0) * 1e3


def _timings(record: CaptureRecord, target: str) -> tuple[Timing, ...]:
    median = _median(record.key.compiler, target, record.key.workload)
    clocks = [("host", 1.0, 0.012)] if target == "cpu" else [("device", 1.0, 0.004), ("host", 7.5, 0.009)]
    baseline = _median("eager", target, record.key.workload)
    return tuple(_timing(clock, median * factor, noise, baseline * factor, record) for clock, factor, noise in clocks)


def _timing(clock: str, median: float, noise: float, baseline: float, record: CaptureRecord) -> Timing:
    series = tuple(
        Series(
            process=number,
            replicate=number,
            samples=5,
            median_ns=median * factor,
            p10_ns=median * factor * 0.99,
            p90_ns=median * factor * 1.03,
            interval_ns=(median * factor * 0.995, median * factor * 1.01),
            drift=0.004,
            drifted=False,
        )
        for number, factor in enumerate((1 - noise, 1.0, 1 + noise))
    )
    ratio = median / baseline
    half = math.exp(2.4 * noise)
    verdict = "same" if abs(math.log(ratio)) < noise else ("slower" if ratio > 1 else "faster")
    comparison = Comparison(
        baseline="eager default",
        ratio=ratio,
        interval=(ratio / half, ratio * half),
        p=0.001,
        q=0.004,
        degrees=10,
        verdict=verdict,
    )
    own = record.key.compiler == "eager"
    return Timing(
        clock=clock,  # type: ignore[arg-type]
        cache="warm",
        data="random",
        series=series,
        median_ns=median,
        noise=noise,
        floor_ns=1600.0 if clock == "device" else None,
        comparison=None if own else comparison,
    )


def _stages(store: EvidenceStore, workload: str, compiler: str) -> tuple[tuple[Stage, ...], tuple[StageFile, ...]]:
    stages, files = [], []
    for name, title, level, language, path, produced_by in STAGES[compiler]:
        text = (NATIVE / path).read_text().replace("weight_view", workload)
        evidence = store.put_bytes(text.encode(), media_type="text/plain", name=path)
        excerpt = Excerpt(sha256=_sha(path), bytes=57_671_680, lines=((1, 9),), reason="the whole file is 55 MB")
        stages.append(
            Stage(
                name=name,
                title=title,
                level=level,
                language=language,
                path=path,
                produced_by=produced_by,
                excerpt=excerpt if name == "mgp" else None,
            )
        )
        files.append(StageFile(stage=name, text=evidence, fingerprint=_sha(text)))
    return tuple(stages), tuple(files)


def _admission(outcome: Outcome, workload: str) -> Admission:
    wrong = outcome.status == "rejected"
    output = "p" if workload == "gemm" else "y"
    verdicts = [
        Verdict(
            fixture=name,
            output=output,
            kind="exact",
            passed=not wrong,
            elements=1048576,
            mismatches=304102 if wrong else 0,
            worst=0.00049 if wrong else 0.0,
        )
        for name in ("exact-0", "exact-1")
    ]
    verdicts += [
        Verdict(
            fixture="random",
            output=output,
            kind="interval",
            passed=True,
            elements=1048576,
            worst=0.001,
            decided_share=0.0,
            median_width_ulp=11.0,
        ),
        Verdict(
            fixture="random", output=output, kind="tolerance", passed=True, elements=1048576, mismatches=0, worst=0.001
        ),
    ]
    boundary = outcome.reason.rpartition(": ")[2] if wrong else ""
    return Admission(
        admitted=not wrong,
        verdicts=tuple(verdicts),
        boundary=boundary,
        boundary_share=1.0 if wrong else None,
        reason=outcome.reason,
    )


def _decisions(compiler: str) -> tuple[Decision, ...]:
    if compiler != "tinygrad":
        return ()
    return (
        Decision(
            subject="weight transpose",
            result="absorbed into the load",
            before="uops:6",
            after="source:12",
            mechanism="PERMUTE moved through the range map (schedule/indexing.py)",
            preconditions=("the view has one consumer",),
            fixes="no kernel and no buffer for the transposed weight",
            leaves_open="the order of the loads",
            confirmed_by="one launch in the plan",
        ),
    )


def _correspondences(compiler: str) -> tuple[Correspondence, ...]:
    if compiler == "tinygrad":
        return (
            Correspondence(program_op="p", stage="source", lines=(9, 16)),
            Correspondence(program_op="y", stage="source", lines=(19, 19)),
            Correspondence(program_op="p", stage="object", lines=(6, 12), certain=False),
            Correspondence(program_op="y", stage="object", lines=(14, 15), certain=False),
        )
    if compiler == "tvm":
        return (
            Correspondence(program_op="p", stage="legalized", lines=(8, 17)),
            Correspondence(program_op="y", stage="legalized", lines=(18, 21)),
        )
    return ()


def _search(compiler: str) -> Search | None:
    if compiler != "inductor":
        return None
    candidates = (
        Candidate(name="mm", chosen=True, measured_ns=4784.0),
        Candidate(name="triton_mm_7", chosen=False, measured_ns=5888.0, refused="slower"),
    )
    return Search(scope="GEMM choices of max_autotune", tried=22, seconds=31.0, candidates=candidates)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def private_log(store: EvidenceStore) -> Evidence:
    return store.put_bytes(b"host name and more", media_type="text/plain", name="worker.log", private=True)
