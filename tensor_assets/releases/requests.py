"""What the releases in a store ask to be run: trials of new ones, cells of newly accepted ones. Each is named, so that
whoever runs them can tell what was requested before."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import CaptureRecord
from tensor_assets.releases.accepted import accepted_decision, release_id, release_title, trials_of
from tensor_assets.releases.changes import untold
from tensor_assets.releases.deciding import undecided
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
            accepted = space.adapter(compiler).lock_sha256[:16]
            name = f"trial {compiler} {release_id(found.release)} after {accepted} on {options.target}"
            runs.append(Wanted("trial", compiler, "", "", found.why, name))
        elif found.release and (trial := undecided(space, compiler, found.release)):
            why = f"{release_title(found.release)} was tried and nobody decided"
            runs.append(Wanted("trial", compiler, "", "", why, f"decision {compiler} {trial}"))
        else:
            reasons.append(f"{compiler}: {found.why}")
        runs += _cells(space, compiler, options)
    return Wants([*runs, *_untold(space)], reasons)


def _cells(space: Workspace, compiler: str, options: Options) -> list[Wanted]:
    """The cells of a release that was accepted: everything that its predecessor ran on this target."""
    decided = accepted_decision(space.store, space.adapter(compiler))
    release = decided[1].release if decided else {}
    trial = trials_of(space.store, compiler, release).get(options.target)
    if trial is None:
        return []
    ran = {
        (record.key.workload, record.key.shape)
        for _, record in space.store.records(CaptureRecord)
        if (record.key.compiler, record.key.environment, record.key.target)
        == (compiler, trial[1].environments[0], options.target)
        and record.key.workload in space.workloads
    }
    why, name = f"{release_title(release)} is accepted", f"{release_id(release)} on {options.target}"
    return [
        Wanted("cell", compiler, workload, shape, why, f"cell {compiler} {workload} at {shape} {name}")
        for workload, shape in sorted(ran)
    ]


def _untold(space: Workspace) -> list[Wanted]:
    return [
        Wanted("changes", decision.key.compiler, "", "", why, f"changes {decision_id} {trial_id}")
        for decision_id, decision, trial_id, _ in untold(space.store)
        for why in [f"{decision.decision}: not told yet"]
    ]
