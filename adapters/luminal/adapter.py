"""Luminal: not installed from anywhere, so it is honest about what is missing, and shows captures made elsewhere."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from tensor_worker.adapter import Adapter, Arrays, Implementation, Unavailable
from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import PROTOCOL, Compile, Greeting, Variant

from .bundle import Bundle, read_bundle
from .errors import BundleError
from .imported import capture_of, plan_of

WORKER_VARIABLE = "TENSOR_ASSETS_LUMINAL_WORKER"
BUNDLE_VARIABLE = "TENSOR_ASSETS_LUMINAL_BUNDLE"

# The revision whose interface (load → search → set_data → execute) the documents' captures were made with.
PINNED_REVISION = "77d3060f01dc9d6f649687cf16a651e3f288aa0c"

REASON = (
    "no package index carries today's Luminal: it is built from its own repository, its interface changes weekly, and "
    "neither a worker executable nor a capture bundle is named"
)
REMEDY = (
    f"set {WORKER_VARIABLE} to an executable that speaks the worker protocol, built from Luminal {PINNED_REVISION}, or "
    f"{BUNDLE_VARIABLE} to a capture bundle (adapters/luminal/README.md)"
)


class LuminalAdapter(Adapter):
    """Serves the bundle that is named, if one is. A worker executable that is named is started in this one's place."""

    name = "luminal"

    def greeting(self) -> Greeting:
        bundle = _named_bundle()
        manifest = bundle.manifest
        summary = f"imported: {manifest.cohort} contraction operands, {manifest.runtime} on {manifest.device.name}"
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=manifest.luminal,
            versions={"luminal": manifest.luminal, "egglog": manifest.egglog},
            toolchain={},
            variants=(Variant(name=bundle.variant, summary=summary, targets=("cuda",), deterministic=False),),
        )

    def compile(self, request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
        bundle = _named_bundle()
        _require_asked(bundle, request)
        return Imported(bundle, dump_dir)


class Imported(Implementation):
    """A capture made elsewhere: everything to look at, nothing to run."""

    def __init__(self, bundle: Bundle, dump_dir: Path) -> None:
        started = time.perf_counter()
        self.device = bundle.manifest.device.name
        self._capture = capture_of(bundle, dump_dir)
        self._plan = plan_of(bundle)
        self.phases = {"read bundle": time.perf_counter() - started}

    def capture(self) -> Capture:
        return self._capture

    def plan(self) -> Plan:
        return self._plan

    def upload(self, inputs: Arrays) -> None:
        raise self._not_here()

    def invoke(self) -> None:
        raise self._not_here()

    def wait(self) -> None:
        raise self._not_here()

    def outputs(self) -> dict[str, np.ndarray]:
        raise self._not_here()

    def _not_here(self) -> Unavailable:
        return Unavailable(
            f"an imported capture of {self.device}: it was not run here, so its numbers are not judged",
            f"set {WORKER_VARIABLE} to run Luminal itself",
        )


def _named_bundle() -> Bundle:
    folder = os.environ.get(BUNDLE_VARIABLE)
    if not folder:
        raise Unavailable(REASON, REMEDY)
    if not Path(folder).is_dir():
        raise Unavailable(f"{BUNDLE_VARIABLE} names {Path(folder).name!r}, which is no folder", REMEDY)
    try:
        return read_bundle(Path(folder))
    except BundleError as error:
        raise Unavailable(
            f"the capture bundle is refused: {error}", "export it again (adapters/luminal/README.md)"
        ) from error


def _require_asked(bundle: Bundle, request: Compile) -> None:
    """A bundle stands for one program, variant and kind of device, and answers for no other."""
    if bundle.manifest.program != request.program:
        held = f"{bundle.manifest.program.workload} at {bundle.manifest.program.shape}"
        asked = f"{request.program.workload} at {request.program.shape}"
        raise Unavailable(f"the capture bundle holds {held}, not {asked} as this project defines it", REMEDY)
    if request.variant != bundle.variant:
        raise Unavailable(f"the capture bundle is of variant {bundle.variant}, not {request.variant}", REMEDY)


ADAPTER = LuminalAdapter
