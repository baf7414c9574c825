"""Programs tried in the real compiler: how each ends, and whether that is the same failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tensor_worker.messages import Compile, Hello, Run
from tensor_worker.program import Program

from tensor_assets.contract.admission import admit
from tensor_assets.contract.arrays import Array, save_arrays
from tensor_assets.contract.fixtures import BuiltFixture, build_fixtures, fixture_names
from tensor_assets.progress import announce
from tensor_assets.records import Status
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.answers import read_answer
from tensor_assets.workers.capture import NOT_RUN
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets.workers.process import Worker

SEARCH = "search"
USUAL = "exact-0"  # where a smaller program has no fixture of the name that showed the failure


class Failure(NamedTuple):
    """What must stay the same while a program is reduced."""

    status: Status
    kind: str  # the boundary that broke; of anything else its reason without numbers and addresses


class Tried(NamedTuple):
    """``fixture`` and ``outputs`` where it ran."""

    failure: Failure
    reason: str = ""
    fixture: BuiltFixture | None = None
    outputs: Mapping[str, Array] = {}


class Trier:
    """Compiles and runs one program after another; a worker that dies is followed by a fresh one."""

    def __init__(
        self,
        adapter: AdapterFolder,
        environment: Environment,
        variant: str,
        target: str,
        *,
        fixture: str,
        scratch: Path,
        deadline: float,
        clean: Callable[[str], str] = str,
    ) -> None:
        """``target`` as a worker knows it; ``fixture`` names the one to judge on; ``deadline`` is for one request;
        ``clean`` takes from a worker's reason what a record's never has: people, places, secrets."""
        self._clean = clean
        self._adapter, self._environment = adapter, environment
        self._variant, self._target, self._fixture, self._deadline = variant, target, fixture, deadline
        self._scratch, self._started, self._tried = scratch, 0, 0
        self._stack = ExitStack()
        self._worker: Worker | None = None
        self._folder: WorkerFolder | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stack.close()

    def __call__(self, program: Program) -> Tried:
        self._tried += 1
        sizes = " ".join("×".join(map(str, value.shape)) for value in program.inputs)
        announce(f"{self._adapter.name}: trying {len(program.ops)} ops on {sizes}")
        fixtures = self._fixtures(program)
        if fixtures is None:
            return Tried(Failure("ok", "no exact fixture"))
        try:
            outputs = self._run(program, *fixtures)
        except WorkerFailed as failed:
            if not failed.alive:
                self._stack.close()
                self._worker = None
            reason = self._clean(failed.outcome.reason)
            return Tried(Failure(failed.outcome.status, kind_of(reason)), reason)
        if outputs is None:
            return Tried(Failure("ok", ""))
        fixture = fixtures[1]
        admission = admit(program, [(fixture, outputs)])
        status: Status = "ok" if admission.admitted else "rejected"
        return Tried(Failure(status, admission.boundary), admission.reason, fixture, outputs)

    def fixture_of(self, program: Program) -> BuiltFixture | None:
        """The one to judge on, where the program has it."""
        found = self._fixtures(program)
        return found[1] if found else None

    def _fixtures(self, program: Program) -> tuple[BuiltFixture, BuiltFixture] | None:
        """The one that a search may see, and the one to judge on."""
        wanted = self._fixture if self._fixture in fixture_names(program) else USUAL
        found = {fixture.name: fixture for fixture in build_fixtures(program, [SEARCH, wanted])}
        return (found.get(SEARCH, found[wanted]), found[wanted]) if wanted in found else None

    def _run(self, program: Program, search: BuiltFixture, fixture: BuiltFixture) -> Mapping[str, Array] | None:
        worker, folder = self._alive()
        request = Compile(
            program=program,
            variant=self._variant,
            target=self._target,
            inputs=self._saved(folder, f"search-{self._tried}", search),
            dump_dir=str(folder.dump),
            capture=False,
        )
        worker.ask(request)
        if self._target in NOT_RUN:
            return None
        inputs = self._saved(folder, f"{fixture.name}-{self._tried}", fixture)
        outputs = folder.arrays / f"outputs-{self._tried}.npz"
        ran = worker.ask(Run(inputs=inputs, outputs=str(outputs)))
        return read_answer(fixture, Path(inputs), outputs, ran).outputs

    def _alive(self) -> tuple[Worker, WorkerFolder]:
        if self._worker is None or self._folder is None:
            self._started += 1
            self._folder = WorkerFolder(self._scratch / str(self._started))
            worker = worker_for(self._adapter, self._environment, self._folder, deadline=self._deadline)
            self._worker = self._stack.enter_context(worker)
            self._worker.ask(Hello())
        return self._worker, self._folder

    @staticmethod
    def _saved(folder: WorkerFolder, name: str, fixture: BuiltFixture) -> str:
        path = folder.arrays / f"{name}.npz"
        save_arrays(path, fixture.inputs)
        return str(path)


def kind_of(reason: str) -> str:
    """A reason without what changes with the program: numbers, addresses, quoted names."""
    return re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"", "#", reason)[:80]


def same(one: Failure, other: Failure) -> bool:
    """A rejection that was recognized must be recognized as the same; any other ends with the same words."""
    if one.status != other.status:
        return False
    return not one.kind or one.kind == other.kind
