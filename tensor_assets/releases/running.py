"""From news to decision: what would be tried and why, and the trial itself. Nothing is tried twice unless forced."""

from __future__ import annotations

from typing import NamedTuple

from tensor_assets.campaign.environment import recorded_environment
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.stored import Stored
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import CaptureRecord, ChangesRecord, DecisionRecord, ReleaseRecord, TrialRecord
from tensor_assets.releases.accepted import accepted_release, decision_on, lock_file, release_title, trials_of
from tensor_assets.releases.candidates import Candidate
from tensor_assets.releases.changes import record_changes
from tensor_assets.releases.deciding import decide, lapsed
from tensor_assets.releases.news import latest_news
from tensor_assets.releases.trial import Cell, Trial

# What is tried where the accepted release was never captured.
FALLBACK = "weight_view"


class Proposal(NamedTuple):
    """What would be done about a compiler's news, and why."""

    compiler: str
    release: dict[str, str]  # empty where there is no candidate
    cells: tuple[Cell, ...]  # to run it on; empty where nothing would run
    why: str
    changes: tuple[Stored[ChangesRecord], ...] = ()  # of an earlier trial that nobody had told yet

    @property
    def runs(self) -> bool:
        return bool(self.cells)


class Tried(NamedTuple):
    trial: Stored[TrialRecord]
    decision: Stored[DecisionRecord] | None
    changes: list[Stored[ChangesRecord]]  # those that are new: each is to be told once


def proposal(
    space: Workspace,
    compiler: str,
    options: Options,
    workloads: tuple[str, ...] = (),
    news: ReleaseRecord | None = None,
) -> Proposal:
    """What the latest news of a compiler (or ``news``) asks for on this target; runs nothing."""
    known = latest_news(space.store, compiler)
    news = news or (known.record if known else None)
    if news is None:
        return Proposal(compiler, {}, (), "the package index was not asked yet")
    if news.outcome.status != "ok":
        return Proposal(compiler, {}, (), news.outcome.reason)
    accepted = accepted_release(space.adapter(compiler))
    if news.accepted != accepted:
        why = f"{release_title(accepted)} was accepted since the package index was asked"
        return Proposal(compiler, {}, (), why)
    if not news.candidate:
        return Proposal(compiler, {}, (), news.remark or f"{release_title(news.accepted)} is the newest")
    title = f"{release_title(news.candidate)} after {release_title(news.accepted)}"
    tried = trials_of(space.store, compiler, news.candidate).get(options.target)
    decided = decision_on(space.store, compiler, news.candidate)
    if tried and not options.force and _counts(space, tried[1], decided[1] if decided else None):
        word = decided[1].decision if decided else "not decided"
        because = tried[1].outcome.reason or "nothing broke"
        return Proposal(compiler, news.candidate, (), f"{title} was tried and is {word}: {because}")
    given = tuple((workload, options.shape) for workload in workloads)
    cells = given or captured_cells(space, compiler, options)
    return Proposal(compiler, news.candidate, cells, f"{title}{' (forced)' if tried and options.force else ''}")


def try_release(
    space: Workspace, compiler: str, options: Options, workloads: tuple[str, ...] = (), *, decides: bool = True
) -> Tried | Proposal:
    """Try the candidate of the latest news and decide; a proposal with its reason where there is nothing to do.

    ``decides`` is False where it is to be tried on another target first: the decision is on all of them together.
    """
    wanted = proposal(space, compiler, options, workloads)
    if not wanted.runs:
        return _caught_up(space, wanted) if decides and wanted.release else wanted
    news = latest_news(space.store, compiler)
    assert news is not None
    assert news.record.lock is not None, "a candidate has a lock"
    lock = lock_file(space.store, news.record.lock, space.settings.cache)
    candidate = Candidate(compiler, news.record.candidate, lock, space.with_lock(compiler, lock))
    trial = Trial(space, candidate, wanted.cells, options).run()
    decision = decide(space, compiler, candidate.release) if decides else None
    return Tried(trial, decision, record_changes(space))


def _counts(space: Workspace, trial: TrialRecord, decided: DecisionRecord | None) -> bool:
    """Whether what was tried need not be tried again: after the release accepted now and, where it was accepted itself
    and that has lapsed, beside the very lock of now."""
    adapter = space.adapter(trial.key.compiler)
    if decided and lapsed(space, decided) and trial.accepted_lock.sha256 != adapter.lock_sha256:
        return False
    return trial.previous == accepted_release(adapter)


def _caught_up(space: Workspace, wanted: Proposal) -> Proposal:
    """What whoever tried it did not come to do: killed in between, or trying it on other targets first."""
    decided = decide(space, wanted.compiler, wanted.release)
    changes = tuple(record_changes(space))
    if decided is None or decided.reused:
        return wanted._replace(changes=changes)
    said = f"{release_title(wanted.release)} was tried before and is {decided.record.decision}: {decided.record.reason}"
    return wanted._replace(why=said, changes=changes)


def captured_cells(space: Workspace, compiler: str, options: Options) -> tuple[Cell, ...]:
    """Everything that the accepted release was captured on for this target (at this shape, where one is asked for)."""
    environment = recorded_environment(space, compiler, options.target)
    place = (compiler, options.target, environment.key.environment) if environment else None
    found = {
        (record.key.workload, record.key.shape)
        for _, record in space.store.records(CaptureRecord)
        if (record.key.compiler, record.key.target, record.key.environment) == place
        and options.shape in ("", record.key.shape)
        and record.key.workload in space.workloads
    }
    return tuple(sorted(found)) or ((FALLBACK, options.shape),)
