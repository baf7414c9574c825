"""The checkout's workloads and shapes, and programs of any size, for the tests of the contract."""

from __future__ import annotations

from functools import cache

from tensor_worker.program import Program

from tensor_assets.contract.fixtures import BuiltFixture, build_fixtures
from tensor_assets.contract.manifest import Manifest, load_workloads
from tensor_assets.contract.shapes import Shape, Shapes, load_shapes
from tensor_assets.settings import ROOT

FOLDER = ROOT / "fixtures" / "workloads"
MATRIX = (
    "gemm", "bias", "weight_view", "input_scale", "output_scale", "residual", "public_projection", "relu",
    "projection_join", "projection_chain",
)  # fmt: skip
ORIGINAL = (
    "affine", "affine_relu", "residual_relu", "shared_projection", "two_layer", "gated_projections",
    "transposed_weight", "softmax", "rmsnorm", "norm_projection",
)  # fmt: skip
NAMES = MATRIX + ORIGINAL


@cache
def manifests() -> dict[str, Manifest]:
    return load_workloads([FOLDER])


@cache
def shapes() -> Shapes:
    return load_shapes(ROOT / "fixtures" / "shapes.json")


def program(workload: str, shape: str = "matrix_inspect") -> Program:
    return manifests()[workload].program(shape, shapes())


def sized(workload: str, m: int, k: int, n: int) -> Program:
    shape = Shape(name="any", sizes={"M": m, "K": k, "N": n}, purpose="a test's own")
    return manifests()[workload].program("any", {"any": shape})


@cache
def fixtures(workload: str, shape: str = "matrix_inspect") -> dict[str, BuiltFixture]:
    return {fixture.name: fixture for fixture in build_fixtures(program(workload, shape))}
