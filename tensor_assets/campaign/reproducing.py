"""A cell as a standalone script: reduced where it fails, run in the compiler's own environment, filed."""

from __future__ import annotations

import os
import subprocess
import uuid
from typing import NamedTuple

import msgspec

from tensor_assets.campaign.capture import DEFAULT, capture_cell
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.fixtures import fixture_record
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.workspace import Workspace, worker_target
from tensor_assets.contract.shapes import SYMBOLS
from tensor_assets.errors import ReproRefused
from tensor_assets.evidence.redaction import redact
from tensor_assets.progress import announce
from tensor_assets.records import CaptureRecord, FixtureRecord, Outcome, ReproRecord
from tensor_assets.repro.case import Case, compare
from tensor_assets.repro.cases import Spelled, case_of, known_of, telling_fixture
from tensor_assets.repro.reduction import Sketch, reduce
from tensor_assets.repro.script import CANNOT, NOT_REPRODUCED, REPRODUCED, write_script
from tensor_assets.repro.trying import Failure, Trier, kind_of, same
from tensor_assets.workers.adapters import KIT
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.failure import sentence
from tensor_assets.workers.isolation import WorkerFolder, worker_variables
from tensor_assets.workers.process import DEADLINE, TOKEN, kill_all
from tensor_assets.workers.scratch import scratch_folder

SCRIPT_TYPE = "text/x-python"
FAILING = ("rejected", "crashed", "unsupported", "censored")


class Script(NamedTuple):
    stored: Stored[ReproRecord]
    capture: CaptureRecord
    name: str  # of the file
    text: str


def reproduce(
    space: Workspace,
    workload: str,
    compiler: str,
    options: Options,
    variant: str = DEFAULT,
    *,
    limit: int = 60,
    deadline: float = DEADLINE,
) -> Script:
    """Write, run and file the script of one configuration, captured first unless it is in the store.

    ``limit``: programs to try while reducing, 0 for none; ``deadline``: seconds for one of them, and for the script.
    Raises ReproRefused where there is nothing to reproduce or no standalone form, SettingsError on bad names.
    """
    captures = capture_cell(space, workload, compiler, msgspec.structs.replace(options, variants=(variant,)))
    capture = next((one for one in captures if one.record.key.variant == variant), captures[0])
    fixtures = fixture_record(space, workload, options.shape)
    ready = environment_record(space, compiler, options.target)
    spelled = Spelled(space.store.read)
    case = case_of(space.adapter(compiler), capture.id, capture.record, fixtures.record, ready.stored.record, spelled)
    case = msgspec.structs.replace(case, deadline=deadline)
    write_script(case)  # a compiler without a standalone form is told before anything is tried
    if ready.environment is None:
        raise ReproRefused(f"nothing can be tried: {ready.stored.record.outcome.reason}")
    words, trials = "", 0
    if case.status in FAILING and limit:
        case, words, trials = _reduced(space, case, capture.record, fixtures.record, ready.environment, limit)
    return _filed(space, case, capture, ready.environment, words, trials)


def _reduced(
    space: Workspace,
    case: Case,
    capture: CaptureRecord,
    fixtures: FixtureRecord,
    environment: Environment,
    limit: int,
) -> tuple[Case, str, int]:
    key, fixture = capture.key, telling_fixture(fixtures, capture)
    sizes = space.shapes[key.shape].sizes
    start = Sketch(space.workload(key.workload), tuple(sizes[symbol] for symbol in SYMBOLS))
    wanted = Failure(case.status, case.boundary if case.status == "rejected" else kind_of(case.reason))
    with (
        scratch_folder(space.settings.cache, "repro-") as scratch,
        Trier(
            case.adapter,
            environment,
            key.variant,
            worker_target(key.target),
            fixture=fixture.name,
            scratch=scratch,
            deadline=case.deadline,
            clean=lambda reason: redact(reason, space.store.identity)[0],
        ) as trier,
    ):
        found = reduce(start, lambda sketch: same(wanted, trier(sketch.program).failure), limit)
        if found.sketch == start:
            return case, found.words(start), found.trials
        tried = trier(found.sketch.program)
    program = found.sketch.program
    if tried.fixture is None:
        tried = tried._replace(fixture=trier.fixture_of(program))
    assert tried.fixture is not None, "what failed had a fixture"
    stream = f"{program.workload}/{program.shape}/{tried.fixture.name}/{tried.fixture.seed}"
    smaller = msgspec.structs.replace(
        case,
        known=known_of(program, tried.fixture.inputs, tried.fixture.reference, stream),
        fixture=tried.fixture.name,
        reason=tried.reason or case.reason,
        seen=compare(program, tried.fixture.reference, tried.outputs),
        reduced=f"{key.workload} at {key.shape}: {found.words(start)}",
    )
    return smaller, found.words(start), found.trials


def _filed(
    space: Workspace, case: Case, capture: Stored[CaptureRecord], environment: Environment, words: str, trials: int
) -> Script:
    """What is run and handed out is what the store kept."""
    name = f"{case.name}.py"
    script = space.store.put_bytes(write_script(case).encode(), SCRIPT_TYPE, name)
    text = space.store.read(script).decode()
    announce(f"running {name} in the environment of {case.adapter.name}")
    code = run_script(space, case, environment, name, text)
    predicted = NOT_REPRODUCED if case.status == "ok" else REPRODUCED
    record = ReproRecord(
        key=capture.record.key,
        outcome=Outcome(status="ok"),
        provenance=provenance((capture.id,)),
        capture=capture.id,
        script=script,
        program=case.program,
        reduced=words,
        trials=trials,
        exit_code=code,
        confirmed=None if code == CANNOT else code == predicted,
    )
    return Script(file(space.store, record), capture.record, name, text)


def run_script(space: Workspace, case: Case, environment: Environment, name: str, text: str) -> int:
    """Its exit code where the compiler is and nothing of this project; past twice its deadline, -1.

    Whatever it started has ended with it.
    """
    with scratch_folder(space.settings.cache, "repro-") as scratch:
        folder = WorkerFolder(scratch)
        (folder.path / name).write_text(text, encoding="utf-8")
        variables = worker_variables(folder, KIT, {**case.adapter.variables, **environment.variables})
        theirs = [part for part in variables.pop("PYTHONPATH", "").split(os.pathsep) if part not in ("", str(KIT))]
        if theirs:
            variables["PYTHONPATH"] = os.pathsep.join(theirs)
        variables[TOKEN] = token = uuid.uuid4().hex
        said = folder.path / "said.txt"
        try:
            with said.open("wb") as output:  # no pipe: a child that outlives the script would keep it open
                code = subprocess.run(
                    [str(environment.python), name],
                    cwd=folder.path,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.DEVNULL,
                    timeout=2 * case.deadline,
                    check=False,
                ).returncode
        except subprocess.TimeoutExpired:
            return -1
        finally:
            kill_all(token)
        for line in said.read_text(encoding="utf-8", errors="replace").splitlines()[-6:]:
            announce(sentence(line))
        return code
