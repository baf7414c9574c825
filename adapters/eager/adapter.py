"""PyTorch in eager mode: every operator of the program a call into PyTorch's own library."""

from __future__ import annotations

import time
from importlib import metadata
from pathlib import Path

from tensor_worker.adapter import Adapter, Arrays, Implementation, Unavailable, Unsupported
from tensor_worker.messages import PROTOCOL, Compile, Greeting, Variant

_VARIANTS = (
    Variant(
        name="default",
        summary="Half-precision operators as a user writes them; each rounds its result.",
        targets=("cpu", "cuda"),
    ),
)


class EagerAdapter(Adapter):
    name = "eager"

    def greeting(self) -> Greeting:
        versions = {name: metadata.version(name) for name in ("torch", "numpy")}
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=versions["torch"],
            versions=versions,
            toolchain={},
            variants=_VARIANTS,
        )

    def compile(self, request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
        if request.variant != "default":
            raise Unsupported(f"eager has no variant {request.variant!r} (have: default)")
        if request.target not in ("cpu", "cuda"):
            raise Unsupported(
                f"eager mode runs PyTorch's own kernels and generates none: nothing to show for {request.target}"
            )
        started = time.perf_counter()
        import torch

        imported = time.perf_counter() - started
        if request.target == "cuda" and not torch.cuda.is_available():
            raise Unavailable("PyTorch sees no CUDA device on this machine")
        from .implementation import prepare

        return prepare(request, inputs, dump_dir, imported)


ADAPTER = EagerAdapter
