"""Triton kernels written for this project: one family of matrix kernels with fused epilogues."""

from __future__ import annotations

import time
from importlib import metadata
from pathlib import Path

from tensor_worker.adapter import Adapter, Arrays, Implementation, Unavailable, Unsupported
from tensor_worker.messages import PROTOCOL, Compile, Greeting, Variant

_VARIANTS = (
    Variant(name="default", summary="One tile for every program, no search.", targets=("sm_90", "cuda")),
    Variant(
        name="tuned",
        summary="The tile that is fastest on the device, of a fixed list, timed on the search fixture.",
        targets=("cuda",),
        deterministic=False,
    ),
)
_NO_CPU = "Triton generates code for GPUs only: this release brings no backend for the CPU"


class TritonAdapter(Adapter):
    name = "triton"

    def greeting(self) -> Greeting:
        versions = {name: metadata.version(name) for name in ("triton", "torch", "numpy")}
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=versions["triton"],
            versions=versions,
            toolchain={},
            variants=_VARIANTS,
        )

    def compile(self, request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
        variant = next((variant for variant in _VARIANTS if variant.name == request.variant), None)
        if variant is None:
            have = ", ".join(variant.name for variant in _VARIANTS)
            raise Unsupported(f"triton has no variant {request.variant!r} (have: {have})")
        if request.target == "cpu":
            raise Unsupported(_NO_CPU)
        if request.target not in variant.targets:
            raise Unsupported(f"{request.variant} times kernels on a device: there is none behind {request.target}")
        started = time.perf_counter()
        if request.target == "cuda":
            return _on_device(request, inputs, dump_dir, started)
        from .offline import compile_without_device

        return compile_without_device(request, dump_dir, time.perf_counter() - started)


def _on_device(request: Compile, inputs: Arrays, dump_dir: Path, started: float) -> Implementation:
    import torch

    if not torch.cuda.is_available():
        raise Unavailable("PyTorch sees no CUDA device on this machine")
    from .implementation import compile_for_device

    return compile_for_device(request, inputs, dump_dir, time.perf_counter() - started)


ADAPTER = TritonAdapter
