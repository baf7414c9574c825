"""Workers and a GPU whose times are known: a session cannot tell them from real ones."""

import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tensor_worker.artifacts import Plan
from tensor_worker.messages import Compile, Compiled, GetPlan, PlanReply, Ran, Run, Time, Timed

from tensor_assets.contract.arrays import load_arrays, save_arrays
from tensor_assets.contract.oracle import evaluate
from tensor_assets.records import DeviceState, Outcome
from tensor_assets.sessions.participants import Contender
from tensor_assets.workers.failure import WorkerFailed


class SimulatedGpu:
    name, uuid, driver, simulated = "NVIDIA H200", "GPU-simulated", "0.0", True

    def __init__(self, throttle: tuple[str, ...] = ()) -> None:
        self.throttle = throttle

    def state(self) -> DeviceState:
        return DeviceState(sm_mhz=1980, memory_mhz=3201, watts=200.0, celsius=40, throttle=self.throttle)

    def tenants(self) -> int:
        return 1


@dataclass
class Truth:
    """How one configuration behaves. ``ns`` by clock; ``process`` multiplies each process's times in turn."""

    ns: dict[str, float] = field(default_factory=lambda: {"host": 40_000.0, "graph": 10_000.0, "device": 8_000.0})
    process: tuple[float, ...] = (1.0, 1.001, 0.999)
    noise: float = 0.002
    fingerprints: tuple[str, ...] = ("code",)  # of successive processes, the last one repeated
    refuses: tuple[str, ...] = ()  # clocks it says are unavailable
    dies_at: int | None = None  # the request to time, counted from 0, that its first process does not survive
    compiles_at: int | None = None  # the request during which it compiles
    fails_to_compile: str = ""
    forgets: bool = False  # returns the answers of the first run for ever
    on_ask: Callable[[object], None] = lambda request: None


class SimulatedWorker:
    def __init__(self, truth: Truth, replicate: int, folder: Path, pid: int) -> None:
        self.truth, self.replicate, self.folder, self.pid = truth, replicate, folder, pid
        self.log_path = folder / "log.txt"
        self.requests: list[object] = []
        self.timed, self.closed = 0, False
        self.first: dict[str, np.ndarray] | None = None
        self.generator = np.random.default_rng(zlib.crc32(folder.name.encode()))

    def ask(self, request, deadline=None):
        if self.closed:
            raise WorkerFailed(Outcome(status="crashed", reason="asked after it had ended"))
        self.requests.append(request)
        self.truth.on_ask(request)
        match request:
            case Compile():
                return self._compile(request)
            case GetPlan():
                names = self.truth.fingerprints
                return PlanReply(plan=Plan(launches=()), fingerprint=names[min(self.replicate, len(names) - 1)])
            case Run():
                return self._run(request)
            case Time():
                return self._time(request)

    def close(self, *, orderly: bool = True) -> None:
        self.closed = True

    def _compile(self, request):
        if self.truth.fails_to_compile:
            raise WorkerFailed(Outcome(status="crashed", reason=self.truth.fails_to_compile), alive=True)
        self.program = request.program
        return Compiled(phases={"compile": 0.1}, device="simulated")

    def _run(self, request):
        outputs = evaluate(self.program, load_arrays(Path(request.inputs)))
        self.first = self.first or outputs
        save_arrays(Path(request.outputs), self.first if self.truth.forgets else outputs)
        return Ran(outputs=request.outputs, seconds=1e-4)

    def _time(self, request):
        number, self.timed = self.timed, self.timed + 1
        if request.clock in self.truth.refuses:
            raise WorkerFailed(Outcome(status="unavailable", reason="no device graph can be captured"), alive=True)
        if self.replicate == 0 and number == self.truth.dies_at:
            self.log_path.write_text("segmentation fault\n")
            raise WorkerFailed(Outcome(status="crashed", reason="the worker died of SIGSEGV while answering time"))
        share = self.truth.process[self.replicate % len(self.truth.process)]
        sample = self.truth.ns[request.clock] * share * self.generator.lognormal(0.0, self.truth.noise)
        return Timed(
            clock=request.clock,
            cache=request.cache,
            invocations=request.invocations,
            elapsed_ns=round(sample * request.invocations),
            compiled=int(number == self.truth.compiles_at),
        )


@dataclass
class Simulated:
    """Contenders that start simulated workers, and the workers they have started."""

    workers: dict[str, list[SimulatedWorker]] = field(default_factory=dict)

    def contender(self, compiler: str, truth: Truth, variant: str = "default", arm: str = "") -> Contender:
        started = self.workers.setdefault(f"{compiler}/{variant}{arm}", [])

        @contextmanager
        def start(folder: Path) -> Iterator[SimulatedWorker]:
            # A process of its own, asleep: pinning and thread counts are real.
            with subprocess.Popen(["sleep", "120"]) as sleeper:
                try:
                    started.append(worker := SimulatedWorker(truth, len(started), folder, sleeper.pid))
                    yield worker
                finally:
                    sleeper.kill()

        return Contender(compiler, variant, truth.fingerprints[0], start, arm)
