"""MAX (Modular): the program as a MAX graph, on the CPU, on a GPU, or compiled for Hopper without one."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from max import driver, engine
from max.graph import DeviceRef, Graph
from tensor_worker.adapter import Adapter, Arrays, Implementation, Unavailable, Unsupported
from tensor_worker.messages import PROTOCOL, Compile, Greeting, Variant

from .building import build_graph, graph_name, print_graph
from .facts import read_facts
from .report import Report
from .running import CompiledOnly, MaxImplementation
from .vendor import require_cublas

DISTRIBUTIONS = ("max", "max-core", "max-mojo-libs", "mojo-compiler", "mojo-compiler-mojo-libs", "numpy")

VARIANTS = (
    Variant(
        name="default",
        summary="InferenceSession.load with its defaults (tile_based_fusion=False)",
        targets=("cpu", "sm_90", "cuda"),
    ),
)

# Hopper with its warpgroup instructions: what MAX itself selects on an H100 or H200.
VIRTUAL_ARCHITECTURE = "sm_90a"


@dataclass(frozen=True)
class Device:
    handle: driver.Device
    reference: DeviceRef
    target: str
    label: str
    virtual: bool = False


class MaxAdapter(Adapter):
    name = "max"

    def greeting(self) -> Greeting:
        versions = {name: metadata.version(name) for name in DISTRIBUTIONS}
        return Greeting(
            protocol=PROTOCOL,
            compiler=self.name,
            version=versions["max"],
            versions=versions,
            toolchain={
                "mojo": versions["mojo-compiler"],
                "capstone": metadata.version("capstone"),
                "nvdisasm": metadata.version("nvidia-cuda-nvdisasm"),
            },
            variants=VARIANTS,
        )

    def compile(self, request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
        if request.variant not in [variant.name for variant in VARIANTS]:
            raise Unsupported(f"MAX has no variant {request.variant!r}")
        device = open_device(request.target)
        scratch = Path(tempfile.mkdtemp(prefix="max-dumps-", dir=dump_dir))
        try:
            return self._compile(request, inputs, dump_dir, device, scratch)
        finally:
            shutil.rmtree(scratch)

    def _compile(
        self, request: Compile, inputs: Arrays, dump_dir: Path, device: Device, scratch: Path
    ) -> Implementation:
        phases: dict[str, float] = {}
        clock = _Phases(phases)
        graph = build_graph(request.program, device.reference)
        built = print_graph(graph)
        clock.end("graph")
        engine.InferenceSession.debug.ir_output_dir = str(scratch)
        session = engine.InferenceSession(devices=[device.handle])
        compiled = _compiled(session, graph)
        clock.end("compile")
        facts, dumps = read_facts(compiled, scratch, graph_name(request.program))
        report = Report(request.program, built, facts, dumps, dump_dir if request.capture else None, device.target)
        clock.end("read dumps")
        if device.virtual:
            return CompiledOnly(phases, device.label, report)
        library = require_cublas() if any(code.library_calls for code in facts.codes) else ""
        model = session.init(compiled)
        clock.end("load")
        implementation = MaxImplementation(request.program, model, device.handle, phases, device.label, report, library)
        implementation.place(inputs)
        clock.end("upload")
        implementation.invoke()
        implementation.wait()
        clock.end("first execution")
        implementation.upload(inputs)
        implementation.invoke()
        implementation.outputs()
        return implementation


class _Phases:
    """Names the time since the last name."""

    def __init__(self, phases: dict[str, float]) -> None:
        self._phases = phases
        self._started = time.perf_counter()

    def end(self, name: str) -> None:
        now = time.perf_counter()
        self._phases[name] = now - self._started
        self._started = now


def open_device(target: str) -> Device:
    """Raises Unavailable where the target needs a GPU that MAX does not see."""
    if target == "cpu":
        return Device(driver.CPU(), DeviceRef.CPU(), target, "cpu")
    if target == "sm_90":
        driver.set_virtual_device_api("cuda")
        driver.set_virtual_device_target_arch(VIRTUAL_ARCHITECTURE)
        driver.set_virtual_device_count(1)
        return Device(
            driver.Accelerator(0), DeviceRef.GPU(0), target, f"{VIRTUAL_ARCHITECTURE} (virtual device)", virtual=True
        )
    if target == "cuda":
        if driver.accelerator_count() == 0:
            raise Unavailable("MAX sees no GPU", "run on a host with an NVIDIA GPU and its driver")
        device = driver.Accelerator(0)
        return Device(device, DeviceRef.GPU(0), target, device.model_name or device.architecture_name)
    raise Unsupported(f"MAX adapter has no target {target!r}")


def _compiled(session: engine.InferenceSession, graph: Graph) -> engine.CompiledModel:
    """MAX's own refusal of a graph is ``unsupported``, with the reason it gives.

    The module that holds the graph is handed over, not the graph: MAX then asks its cache before it imports the kernel
    library (0.02 s instead of 2.8 s for a program that is there; the same object where it is not).
    """
    try:
        return session.compile(graph.module)
    except (RuntimeError, ValueError) as error:
        cause = error.__cause__ or error
        raise Unsupported(f"MAX refused to compile the graph: {cause}") from error


ADAPTER = MaxAdapter
