"""How a worker's trouble reaches us: as an outcome, carried by one exception."""

from __future__ import annotations

import signal
from pathlib import Path

import msgspec
from tensor_worker.messages import Failed

from tensor_assets.records import Evidence, Outcome
from tensor_assets.workers.keeping import Keeper

LOG_TYPE = "text/plain"


class WorkerFailed(Exception):
    """A request got no proper answer. ``alive``: the worker said so itself and can be asked again."""

    def __init__(self, outcome: Outcome, *, alive: bool = False, traceback: str = "") -> None:
        super().__init__(outcome.reason)
        self.outcome, self.alive, self.traceback = outcome, alive, traceback


def said(failed: Failed) -> WorkerFailed:
    """The worker's own ``failed`` reply."""
    outcome = Outcome(status=failed.status, reason=sentence(failed.reason), remedy=sentence(failed.remedy))
    return WorkerFailed(outcome, alive=True, traceback=failed.traceback)


def crashed(reason: str) -> WorkerFailed:
    return WorkerFailed(Outcome(status="crashed", reason=sentence(reason)))


def censored(what: str, limit: str) -> WorkerFailed:
    """``limit`` says what ran out, e.g. "600 s"."""
    return WorkerFailed(Outcome(status="censored", reason=f"no answer to {what} within {limit}"))


def wrong_version(name: str, found: str, wanted: str) -> WorkerFailed:
    reason = f"the worker named for {name} was built from {found or 'no version'}, wanted is {wanted}"
    return WorkerFailed(Outcome(status="unavailable", reason=reason, remedy=f"build it from {wanted}"))


def ended(what: str, returncode: int | None) -> WorkerFailed:
    """The process ended, or closed its stdout, instead of answering ``what``. Negative codes are signals."""
    if returncode is None:
        return crashed(f"the worker closed its output instead of answering {what}")
    if returncode < 0:
        name = _signal_name(-returncode)
        hint = " (the kernel does that when memory runs out)" if name == "SIGKILL" else ""
        return crashed(f"the worker died of {name} while answering {what}{hint}")
    return crashed(f"the worker exited with status {returncode} while answering {what}")


def with_log(outcome: Outcome, keeper: Keeper, log: Path) -> Outcome:
    """``outcome`` with the worker's log kept as private evidence."""
    if not log.is_file() or not log.stat().st_size:
        return outcome
    kept: Evidence = keeper.put_file(log, media_type=LOG_TYPE, name="worker.log", private=True)
    return msgspec.structs.replace(outcome, log=kept)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal between the first and the last has no name
        return f"signal {number}"


def sentence(reason: str, limit: int = 400) -> str:
    """What a worker said, as one bounded line that no terminal acts on."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in " ".join(reason.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"
