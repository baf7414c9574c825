"""tinygrad: tensors become UOps, UOps become kernels, kernels become C or CUDA."""

from __future__ import annotations

from pathlib import Path

from tensor_worker.adapter import Adapter, Arrays, Implementation
from tensor_worker.messages import PROTOCOL, Compile, Greeting, Variant

from . import toolchain

EVERYWHERE = ("cpu", "sm_90", "cuda")


def _searched(name: str, summary: str) -> Variant:
    return Variant(name=name, summary=summary, targets=("cpu", "cuda"), deterministic=False, rebuilds=True)


VARIANTS = (
    Variant(name="default", summary="the hand-written heuristics choose the schedule", targets=EVERYWHERE),
    _searched("tuned", "BEAM=2: candidates are timed"),
    _searched("expanded", "BEAM=8: more candidates"),
    Variant(name="widened", summary="operands cast to FP32 before each contraction", targets=EVERYWHERE),
)


class TinygradAdapter(Adapter):
    name = "tinygrad"

    def greeting(self) -> Greeting:
        versions = toolchain.versions()
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=versions["tinygrad"],
            versions=versions,
            toolchain=toolchain.toolchain(),
            variants=VARIANTS,
        )

    def compile(self, request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
        toolchain.prepare(request.target)
        from .compiling import compile_program  # imports tinygrad, which reads the environment set above

        return compile_program(request, inputs, dump_dir)


ADAPTER = TinygradAdapter
