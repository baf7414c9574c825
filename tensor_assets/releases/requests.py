"""What the releases in a store ask to be run: trials of new ones, cells of newly accepted ones. Each is named, so that
whoever runs them can tell what was requested before."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import CaptureRecord, ChangesRecord, TrialRecord
from tensor_assets.releases.accepted import accepted_decision, accepted_release, decisions, release_id, release_title
from tensor_assets.releases.running import proposal


class Wanted(NamedTuple):
    """One run to request. ``name`` is the same whenever the same is wanted."""

    kind: Literal["trial", "cell", "changes"]
    compiler: str
    workload: str
    shape: str
    why: str
    name: str


class Wants(NamedTuple):
    runs: list[Wanted]
    reasons: list[str]  # why compilers ask for nothing


def wanted_of(space: Workspace, options: Options) -> Wants:
    """Everything the store asks for on this target. Raises EvidenceDamaged, EvidenceMissing."""
    runs: list[Wanted] = []
    reasons: list[str] = []
    for compiler in space.adapters:
        found = proposal(space, compiler, options)
        if found.runs:
            accepted = release_id(accepted_release(space.adapter(compiler)))
            name = f"trial {compiler} {release_id(found.release)} after {accepted} on {options.target}"
            runs.append(Wanted("trial", compiler, "", "", found.why, name))
        else:
            reasons.append(f"{compiler}: {found.why}")
        runs += _cells(space, compiler, options)
    return Wants([*runs, *_untold(space)], reasons)


def _cells(space: Workspace, compiler: str, options: Options) -> list[Wanted]:
    """The cells of a release that was accepted: everything that its predecessor ran on this target."""
    decided = accepted_decision(space.store, space.adapter(compiler))
    if decided is None or not decided[1].trial:
        return []
    trial = space.store.get(decided[1].trial)
    assert isinstance(trial, TrialRecord), "a decision names a trial"
    why = f"{release_title(decided[1].release)} is accepted"
    ran = {
        (record.key.workload, record.key.shape)
        for _, record in space.store.records(CaptureRecord)
        if (record.key.compiler, record.key.environment, record.key.target)
        == (compiler, trial.environments[0], options.target)
    }
    release = f"{release_id(decided[1].release)} on {options.target}"
    return [
        Wanted("cell", compiler, workload, shape, why, f"cell {compiler} {workload} at {shape} {release}")
        for workload, shape in sorted(ran)
    ]


def _untold(space: Workspace) -> list[Wanted]:
    told = {record.decided for _, record in space.store.records(ChangesRecord, history=True)}
    untold = [pair for pair in decisions(space.store) if pair[1].trial and pair[0] not in told]
    return [
        Wanted("changes", record.key.compiler, "", "", f"{record.decision}: not told yet", f"changes {record_id}")
        for record_id, record in untold
    ]
