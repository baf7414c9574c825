"""After timing: is the implementation that was timed still right, on values it has not seen?"""

from __future__ import annotations

from pathlib import Path

from tensor_worker.messages import Run
from tensor_worker.program import Program

from tensor_assets.contract.admission import judge
from tensor_assets.contract.arrays import load_arrays
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.records import Outcome
from tensor_assets.sessions.participants import Participant
from tensor_assets.workers.failure import WorkerFailed


def recheck(one: Participant, program: Program, fixture: BuiltFixture, inputs: Path) -> None:
    """Run ``fixture`` through a participant's poisoned buffers and judge it; a wrong one is ``rejected``."""
    if not one.alive:
        return
    outputs, one.holds = one.folder / "recheck.npz", "check"
    try:
        one.asked.ask(Run(inputs=str(inputs), outputs=str(outputs)))
        wrong = [
            verdict
            for verdict in judge(program, fixture, load_arrays(outputs))
            if not verdict.passed and verdict.kind != "tolerance"  # reported elsewhere, decides nothing
        ]
    except WorkerFailed as failure:
        one.outcome = failure.outcome
        return
    except (OSError, ValueError) as error:
        one.outcome = Outcome(status="crashed", reason=f"no readable outputs after timing: {error}")
        return
    one.recheck = not wrong
    if wrong:
        first = wrong[0]
        detail = first.reason or f"{first.mismatches:,} of {first.elements:,} elements differ"
        one.outcome = Outcome(
            status="rejected", reason=f"wrong after timing: {first.output} on {first.fixture}: {detail}"
        )
