"""Captures of Luminal as its worker would bundle them: right ones, and changed ones.

The e-graph is real: egglog saturates a program of this project's own (a reduction, the matmul it is recognized as, its
transposed product, two library calls).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import sys
import types
from pathlib import Path

import msgspec
from egglog.bindings import EGraph

from tensor_assets.workers.environments import Environment
from tensor_assets_tests.workers.programs import WEIGHT_VIEW

FOLDER = Path(__file__).parents[2] / "adapters" / "luminal"
# A named worker brings its own everything; nothing of an environment is used.
ENVIRONMENT = Environment(
    python=Path("python"), hash="", lock_sha256="", python_version="", freeze={}, version="", toolchain={}
)

# The logical program of weight_view at 8 × 16 × 24, widened, with the rules that recognize its contraction.
RULES = """
(datatype DType (F16) (F32))
(datatype Tensor
  (Input String) (Cast Tensor DType) (Transpose Tensor)
  (BroadcastRows Tensor i64) (BroadcastColumns Tensor i64)
  (Mul Tensor Tensor) (ReduceSum Tensor i64) (MatMul Tensor Tensor) (Add Tensor Tensor)
  (LibraryRowMajor Tensor Tensor) (LibraryColumnMajor Tensor Tensor))
(rewrite (ReduceSum (Mul (BroadcastColumns a n) (BroadcastRows b m)) 0) (MatMul a b))
(rewrite (MatMul a b) (Transpose (MatMul (Transpose b) (Transpose a))))
(rewrite (Transpose (Transpose a)) a)
(rewrite (MatMul a b) (LibraryRowMajor a b))
(rewrite (MatMul a (Transpose b)) (LibraryColumnMajor a b))
"""
WIDENED = """\
; y = x @ wt.T + b, the projection rounded before the bias
(let v0 (Input "x"))
(let v1 (Input "wt"))
(let v2 (Input "b"))
(let v3 (Transpose v1))
(let v4 (Cast v0 (F32)))
(let v5 (Cast v3 (F32)))
(let v6 (BroadcastColumns v4 24))
(let v7 (BroadcastRows v5 8))
(let v8 (Mul v6 v7))
(let v9 (ReduceSum v8 0))
(let v10 (Cast v9 (F16)))
(let v11 (BroadcastRows v2 8))
(let v12 (Add v10 v11))
"""
NATIVE = WIDENED.replace("(Cast v0 (F32))", "(BroadcastRows v0 1)").replace("(Cast v3 (F32))", "(BroadcastRows v3 1)")
ROUND = 'extern "C" __global__ void k(const float* a, __half* out) { out[threadIdx.x] = (__half)a[threadIdx.x]; }\n'
BIAS = 'extern "C" __global__ void k(const __half* p, const __half* b, __half* out) { out[0] = p[0] + b[0]; }\n'


def module(name: str) -> types.ModuleType:
    """A module of the adapter folder, loaded as a package of its own, so that no other adapter's stands in its way."""
    package = sys.modules.setdefault("luminal_adapter", types.ModuleType("luminal_adapter"))
    package.__path__ = [str(FOLDER)]
    return importlib.import_module(f"luminal_adapter.{name}")


@functools.cache
def serialized(program: str = WIDENED, **limits: int) -> bytes:
    egraph = EGraph()
    egraph.run_program(*egraph.parse_program(RULES + program + "(run 4)"))
    return egraph.serialize([], **limits).to_json().encode()


def write_bundle(folder: Path, **changes: object) -> Path:
    """A good bundle, with ``changes`` to its manifest or, for names with a dot or slash, to its files."""
    files: dict[str, bytes] = {
        "logical.egg": WIDENED.encode(),
        "egraph.json": serialized(),
        "candidates.jsonl": lines(
            {"name": "plan-0", "chosen": True, "parameters": {"launches": 3}, "measured_ns": 31000.0},
            {"name": "plan-1", "parameters": {"launches": 4}, "measured_ns": 40500.0, "refused": "slower"},
            {"name": "plan-2", "refused": "intermediate of 4,294,967,296 bytes is over the cap"},
        ),
        "plan.json": json.dumps(selected_plan()).encode(),
        "kernels/round.cu": ROUND.encode(),
        "kernels/bias.cu": BIAS.encode(),
    }
    files |= {name: data for name, data in changes.items() if isinstance(data, bytes)}
    manifest = {
        "format": "luminal-capture",
        "version": 1,
        "luminal": "77d3060f01dc9d6f649687cf16a651e3f288aa0c",
        "egglog": "13.2.0",
        "runtime": "cuda_lite",
        "device": {"name": "NVIDIA H100 80GB HBM3", "driver": "610.57.04"},
        "variant": "default",
        "cohort": "widened",
        "seed": 0,
        "program": msgspec.to_builtins(WEIGHT_VIEW),
        "lets": {"v0": "x", "v1": "wt", "v2": "b", "v3": "w", "v8": "p", "v9": "p", "v10": "p", "v12": "y"},
        "options": {"generations": 2, "offspring": 4},
    }
    manifest |= {"files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}}
    manifest |= {name: value for name, value in changes.items() if not isinstance(value, bytes)}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def selected_plan(**changes: object) -> dict[str, object]:
    plan = {
        "steps": [
            {"kind": "library", "name": "sgemm_128x128_tn", "grid": [1, 1, 1], "block": [256, 1, 1], "computes": ["p"]},
            {"kind": "kernel", "name": "k", "source": "kernels/round.cu", "computes": ["p"], "grid": [1, 1, 1]},
            {"kind": "kernel", "name": "k", "source": "kernels/bias.cu", "computes": ["y"], "grid": [1, 1, 1]},
        ],
        "buffers": [
            {"name": "projection, FP32", "role": "intermediate", "bytes": 768, "first": 0, "last": 1},
            {"name": "projection, FP16", "role": "intermediate", "bytes": 384, "first": 1, "last": 2},
        ],
        "roundings": [{"boundary": "p", "launch": 1, "evidence": "(__half)a[i]"}],
    }
    return plan | changes
