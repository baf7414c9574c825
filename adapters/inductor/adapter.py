"""PyTorch Inductor: ``torch.compile`` on the program's source."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from importlib import metadata
from pathlib import Path

from tensor_worker.adapter import Adapter, Arrays, Implementation, Unavailable, Unsupported
from tensor_worker.messages import PROTOCOL, Compile, Greeting

from .variants import CONFIGURATIONS, Configuration

_SM_90 = (
    "Inductor needs the GPU it compiles for: it asks the device for its properties, allocates on it and benchmarks "
    "there while it compiles, so there is no sm_90 code without one"
)


class InductorAdapter(Adapter):
    name = "inductor"

    def greeting(self) -> Greeting:
        versions = {name: metadata.version(name) for name in ("torch", "triton", "numpy")}
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=versions["torch"],
            versions=versions,
            toolchain=_toolchain(),
            variants=tuple(configuration.variant for configuration in CONFIGURATIONS.values()),
        )

    def compile(self, request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
        configuration = _configuration(request)
        if request.target == "cpu":
            _require_compiler()
        started = time.perf_counter()
        import torch
        import torch._dynamo
        import torch._inductor.compile_fx

        if request.target == "cuda" and not torch.cuda.is_available():
            raise Unavailable("PyTorch sees no CUDA device on this machine")
        from .implementation import compile_program

        return compile_program(request, configuration, inputs, dump_dir, {"import": time.perf_counter() - started})


def _configuration(request: Compile) -> Configuration:
    configuration = CONFIGURATIONS.get(request.variant)
    if configuration is None:
        raise Unsupported(f"inductor has no variant {request.variant!r} (have: {', '.join(CONFIGURATIONS)})")
    if request.target.startswith("sm_"):
        raise Unavailable(_SM_90, "run it on a machine with a GPU, with target cuda")
    if request.target not in configuration.variant.targets:
        raise Unsupported(
            f"{request.variant} is not offered for {request.target}: there max_autotune finds the library call alone, "
            "because Inductor's C++ matrix template takes constant weights only"
        )
    return configuration


def cxx() -> str:
    """The C++ compiler that Inductor's CPU kernels are built with."""
    return os.environ.get("CXX", "g++")


def _require_compiler() -> None:
    if shutil.which(cxx()) is None:
        raise Unavailable(
            f"Inductor builds its CPU kernels with {cxx()}, which is not installed", "apt-get install g++"
        )


def _toolchain() -> dict[str, str]:
    if shutil.which(cxx()) is None:
        return {}
    printed = subprocess.run([cxx(), "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    return {"g++": printed.splitlines()[0].strip()}


ADAPTER = InductorAdapter
