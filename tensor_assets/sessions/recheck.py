"""Is the implementation that is timed right, on values it has not seen? Asked after timing; of a search also before."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tensor_worker.messages import Run
from tensor_worker.program import Program

from tensor_assets.contract.admission import judge
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.records import Outcome, Verdict
from tensor_assets.sessions.participants import Participant
from tensor_assets.workers.answers import read_answer, rechecked
from tensor_assets.workers.failure import WorkerFailed

When = Literal["before any timing", "after timing"]


def recheck(
    one: Participant, program: Program, fixture: BuiltFixture, inputs: Path, when: When = "after timing"
) -> None:
    """Run ``fixture`` through a participant's poisoned buffers and judge it; a wrong one is ``rejected``.

    ``when`` it is asked stands in the reason: nothing was measured of what was wrong before any timing.
    """
    if not one.alive:
        return
    outputs, one.holds = one.folder / "recheck.npz", "check"
    try:
        ran = one.asked.ask(Run(inputs=str(inputs), outputs=str(outputs)))
        (run,) = rechecked([read_answer(fixture, inputs, outputs, ran)])
    except WorkerFailed as failure:
        one.outcome = failure.outcome
        return
    verdicts = judge(program, *run)
    wrong = next((verdict for verdict in verdicts if not verdict.passed and verdict.kind != "tolerance"), None)
    one.recheck = wrong is None
    if wrong:
        one.outcome = Outcome(status="rejected", reason=f"wrong {when}: {_sentence(wrong)}")


def _sentence(wrong: Verdict) -> str:
    detail = wrong.reason or f"{wrong.mismatches:,} of {wrong.elements:,} elements differ"
    return f"{wrong.output} on {wrong.fixture}: {detail}"
