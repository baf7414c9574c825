"""What a search timed and did not choose, built again and judged: a fast wrong candidate is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from tensor_worker.artifacts import Candidate
from tensor_worker.messages import Compile, GetPlan, Run

from tensor_assets.contract.admission import admit
from tensor_assets.contract.arrays import save_arrays
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.progress import Progress
from tensor_assets.records import Admission, Alternative, Outcome
from tensor_assets.workers.answers import Answer, read_answer, rechecked
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets.workers.process import Worker

if TYPE_CHECKING:
    from tensor_assets.workers.capture import CaptureTask

MOST = 3  # each costs a process that compiles and runs; these came closest to being chosen


def runners_up(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The fastest of those that were measured and not chosen, at most ``MOST``."""
    measured = [one for one in candidates if one.measured_ns is not None and not one.chosen]
    return sorted(measured, key=lambda one: one.measured_ns or 0.0)[:MOST]


def judge_alternatives(
    task: CaptureTask,
    searched: Compile,
    chosen: str,
    candidates: Sequence[Candidate],
    scratch: Path,
    progress: Progress,
) -> Iterator[Alternative]:
    """Each runner-up in a process of its own, on the exact fixtures. ``chosen`` is the fingerprint of the winner.

    ``searched`` is the request that the search answered; ``scratch`` an empty folder. What goes wrong in a worker is
    the alternative's outcome.
    """
    known = {chosen}
    for number, candidate in enumerate(runners_up(candidates)):
        progress(f"{task.title}: building {candidate.name} again, which was not chosen")
        found = _judged(task, searched, candidate, WorkerFolder(scratch / str(number)))
        yield msgspec.structs.replace(found, distinct=bool(found.fingerprint) and found.fingerprint not in known)
        known.add(found.fingerprint)


def _judged(task: CaptureTask, searched: Compile, candidate: Candidate, folder: WorkerFolder) -> Alternative:
    request = msgspec.structs.replace(searched, dump_dir=str(folder.dump), capture=False, candidate=candidate)
    name = f"{task.title}, {candidate.name}"
    fingerprint = ""
    try:
        with worker_for(task.adapter, task.environment, folder, name=name, lifetime=task.deadline) as worker:
            worker.ask(request)
            fingerprint = worker.ask(GetPlan()).fingerprint
            answers = [_answer(fixture, folder, worker) for fixture in task.fixtures if fixture.exact]
        admission = admit(task.program, rechecked(answers))
    except WorkerFailed as failure:
        return Alternative(candidate=candidate.name, fingerprint=fingerprint, outcome=failure.outcome)
    return Alternative(
        candidate=candidate.name,
        fingerprint=fingerprint,
        fixtures=tuple(answer.fixture.name for answer in answers),
        outcome=_verdict(admission),
    )


def _verdict(admission: Admission) -> Outcome:
    if admission.admitted is None:
        return Outcome(status="blocked", reason="this workload has no exact fixture: nothing decides")
    if admission.admitted:
        return Outcome(status="ok")
    return Outcome(status="rejected", reason=admission.reason or admission.boundary)


def _answer(fixture: BuiltFixture, folder: WorkerFolder, worker: Worker) -> Answer:
    inputs, outputs = folder.arrays / f"{fixture.name}.inputs.npz", folder.arrays / f"{fixture.name}.outputs.npz"
    save_arrays(inputs, fixture.inputs)
    return read_answer(fixture, inputs, outputs, worker.ask(Run(inputs=str(inputs), outputs=str(outputs))))
