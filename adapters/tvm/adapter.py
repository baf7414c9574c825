"""TVM: Relax operators become TensorIR, DLight schedules it, LLVM or CUDA comes out."""

from __future__ import annotations

from pathlib import Path

from tensor_worker.adapter import Adapter, Arrays, Implementation
from tensor_worker.messages import PROTOCOL, Compile, Greeting, Variant

from . import toolchain

EVERYWHERE = ("cpu", "sm_90", "cuda")
VARIANTS = (
    Variant(name="default", summary="the pipeline that TVM has for the target", targets=EVERYWHERE),
    Variant(name="transpose_fused", summary="FuseTransposeMatmul before that pipeline", targets=EVERYWHERE),
    Variant(name="unfused", summary="the default build pipeline, which fuses nothing", targets=("cpu",)),
)


class TvmAdapter(Adapter):
    name = "tvm"

    def greeting(self) -> Greeting:
        versions = toolchain.versions()
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=versions["apache-tvm"],
            versions=versions,
            toolchain={},
            variants=VARIANTS,
        )

    def compile(self, request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
        toolchain.prepare()
        from .compiling import compile_program  # imports TVM, which reads the environment set above

        return compile_program(request, inputs, dump_dir)


ADAPTER = TvmAdapter
