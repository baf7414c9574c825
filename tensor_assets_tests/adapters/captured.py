"""Real compilers for tests: their environments, captures through their workers, and all workloads in one worker."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

from tensor_worker.artifacts import Launch
from tensor_worker.messages import Compile, Hello, Run
from tensor_worker.program import Program

from tensor_assets.contract.admission import admit
from tensor_assets.contract.arrays import load_arrays, save_arrays
from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.contract.manifest import load_workloads
from tensor_assets.contract.shapes import load_shapes
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Admission, CaptureRecord, Key
from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.capture import SEARCH_FIXTURE, CaptureTask, capture_variant
from tensor_assets.workers.environments import Environment, build_environment
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for

FIXTURES = Path(__file__).parents[2] / "fixtures"


@functools.cache
def program(workload: str, shape: str) -> Program:
    return load_workloads([FIXTURES / "workloads"])[workload].program(shape, load_shapes(FIXTURES / "shapes.json"))


def workloads() -> list[str]:
    return sorted(load_workloads([FIXTURES / "workloads"]))


class Captures:
    """Captures of one compiler, each made once; every call is a fresh process with cold caches."""

    def __init__(self, compiler: str, scratch: Callable[[str], Path]) -> None:
        settings = load_settings()
        self.adapter = discover(settings.adapters)[compiler]
        environment = build_environment(self.adapter, settings)
        assert isinstance(environment, Environment), environment
        self.environment, self._scratch = environment, scratch
        self.store = EvidenceStore(str(scratch("store")))
        self.capture = functools.cache(self.again)

    def again(
        self,
        workload: str = "weight_view",
        shape: str = "matrix_inspect",
        variant: str = "default",
        target: str = "cpu",
    ) -> CaptureRecord:
        """A capture that is not remembered."""
        wanted = program(workload, shape)
        names = {"workload": workload, "shape": shape, "variant": variant, "target": target}
        task = CaptureTask(
            adapter=self.adapter,
            environment=self.environment,
            program=wanted,
            fixtures=build_fixtures(wanted, (SEARCH_FIXTURE,) if target == "sm_90" else None),
            variant=variant,
            target=target,
            key=Key(compiler=self.adapter.name, **names),
        )
        return capture_variant(task, self.store, self._scratch("-".join(names.values())))

    def text(self, record: CaptureRecord, stage: str) -> str:
        found = next(each for each in record.stages if each.stage == stage)
        return self.store.read(found.text).decode()

    def admissions(self, shape: str) -> Iterator[tuple[str, Admission]]:
        """Every workload at a shape, compiled one after another by one worker, without anything being captured."""
        folder = WorkerFolder(self._scratch("admissions"))
        with worker_for(self.adapter, self.environment, folder, lifetime=1200) as worker:
            worker.ask(Hello())
            for name in workloads():
                wanted = program(name, shape)
                fixtures = build_fixtures(wanted)
                runs = []
                for index, fixture in enumerate(fixtures):
                    inputs, outputs = folder.arrays / f"{name}-{index}.in.npz", folder.arrays / f"{name}-{index}.npz"
                    save_arrays(inputs, fixture.inputs)
                    if index == 0:
                        worker.ask(self._request(wanted, inputs, folder))
                    worker.ask(Run(inputs=str(inputs), outputs=str(outputs)))
                    runs.append((fixture, load_arrays(outputs)))
                yield name, admit(wanted, runs)

    def _request(self, wanted: Program, inputs: Path, folder: WorkerFolder) -> Compile:
        return Compile(
            program=wanted,
            variant="default",
            target="cpu",
            inputs=str(inputs),
            dump_dir=str(folder.dump),
            capture=False,
        )


def geometry(launch: Launch) -> tuple[object, ...]:
    return launch.grid, launch.block, launch.registers, launch.shared_bytes, launch.instruction


def rounded_in(record: CaptureRecord) -> dict[str, str]:
    """By boundary, the activity in which the ledger says that it is rounded."""
    said = {each.subject: each.result for each in record.capture.decisions if each.subject.startswith("rounding of ")}
    return {subject.removeprefix("rounding of "): result.partition(",")[0] for subject, result in said.items()}


def lines_of(text: str, lines: tuple[int, int]) -> str:
    return "\n".join(text.splitlines()[lines[0] - 1 : lines[1]])
