"""What each compiler of the campaign made of a program: stages, graph, plan, verdicts."""

from __future__ import annotations

from pathlib import Path

import msgspec
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

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import (
    Admission,
    CaptureRecord,
    Key,
    Outcome,
    StageFile,
    Verdict,
)
from tensor_assets_tests.report.words import HOST, PROVENANCE, VERSIONS, sha

NATIVE = Path(__file__).parent / "native"
HOSTILE = '</script><script>alert("x")</script><img src=x onerror=alert(1)>&amp;'
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
        ("ttgir", "Triton GPU IR", "scheduled", "mlir", "ttgir.mlir", "triton.compile asm['ttgir']"),
        ("ptx", "PTX", "code", "ptx", "kernel.ptx", "triton.compile asm['ptx']"),
        ("sass", "SASS", "machine", "sass", "kernel.sass", "nvdisasm"),
    ],
    "luminal": [("egraph", "E-graph program", "semantic", "egglog", "search.egg", "egglog text")],
    "eager": [("fx", "Operator trace", "semantic", "python", "fx.txt", "torch.fx")],
}


def capture(
    store: EvidenceStore,
    workload: str,
    compiler: str,
    *,
    variant: str = "default",
    target: str = "cpu",
    outcome: Outcome | None = None,
) -> CaptureRecord:
    outcome = _unavailable(compiler, target) or outcome or Outcome(status="ok")
    key = Key(
        workload=workload,
        shape="matrix",
        compiler=compiler,
        variant=variant,
        target=target,
        environment=sha(compiler)[:16],
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
        fingerprint=sha(f"{compiler}{variant}{target}{workload}"),
        admission=None if target == "sm_90" else _admission(outcome, workload),
        phases={"import": 0.8, "lower": 0.3, "compile": 3.1},
        first_execution_seconds=0.91,
        device=HOST if target == "cpu" else target,
        version=VERSIONS[compiler],
    )


def _unavailable(compiler: str, target: str) -> Outcome | None:
    if target != "cpu" and compiler == "luminal":
        return Outcome(status="unavailable", reason="no Rust toolchain on this machine", remedy="apt-get install cargo")
    if target == "sm_90" and compiler in ("inductor", "eager"):
        return Outcome(status="unavailable", reason=f"{compiler} compiles for CUDA only where a device is present")
    return None


def plan(workload: str, compiler: str, target: str) -> Plan:
    gpu = target != "cpu"
    epilogue = () if workload == "gemm" else ("y",)
    view = ("w",) if workload == "weight_view" else ()

    def launch(kind: str, name: str, computes: tuple[str, ...], stage: str = "", **more: object) -> Launch:
        geometry = {"grid": (8, 16, 1), "block": (32, 4, 1), "registers": 92, "shared_bytes": 0} if gpu else {}
        return Launch(kind=kind, name=name, computes=computes, stage=stage, code_sha256=sha(name), **(geometry | more))  # type: ignore[arg-type]

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


def _stages(store: EvidenceStore, workload: str, compiler: str) -> tuple[tuple[Stage, ...], tuple[StageFile, ...]]:
    stages, files = [], []
    for name, title, level, language, path, produced_by in STAGES[compiler]:
        text = (NATIVE / path).read_text().replace("weight_view", workload)
        evidence = store.put_bytes(text.encode(), media_type="text/plain", name=path)
        excerpt = Excerpt(sha256=sha(path), bytes=57_671_680, lines=((1, 9),), reason="the whole file is 55 MB")
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
        files.append(StageFile(stage=name, text=evidence, fingerprint=sha(text)))
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
