"""What each decided release changed, in one sentence and a few counts, for pages, feeds and alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CellChange, ChangesRecord, DecisionRecord, Key, Outcome, TrialRecord
from tensor_assets.releases.accepted import decisions, release_id, release_title, trials_of


def record_changes(space: Workspace) -> list[Stored[ChangesRecord]]:
    """File what every decided release changed, once for each decision and target; returns those that are new."""
    return [
        file(space.store, changes_of(decision_id, decision, trial_id, trial))
        for decision_id, decision, trial_id, trial in untold(space.store)
    ]


def untold(store: EvidenceStore) -> list[tuple[str, DecisionRecord, str, TrialRecord]]:
    """Decisions with each trial of their release that is not told yet."""
    told = {(record.decided, record.key.target) for _, record in store.records(ChangesRecord, history=True)}
    return [
        (decision_id, decision, trial_id, trial)
        for decision_id, decision in decisions(store)
        for target, (trial_id, trial) in trials_of(store, decision.key.compiler, decision.release).items()
        if (decision_id, target) not in told
    ]


def changes_of(decision_id: str, decision: DecisionRecord, trial_id: str, trial: TrialRecord) -> ChangesRecord:
    return ChangesRecord(
        key=Key(compiler=decision.key.compiler, target=trial.key.target, environment=release_id(decision.release)),
        outcome=Outcome(status="ok"),
        provenance=provenance((decision_id, trial_id)),
        previous=trial.previous,
        release=decision.release,
        decision=decision.decision,
        headline=headline_of(decision, trial),
        reason=reason_of(decision, trial),
        counts=counts_of(trial.cells),
        alert=is_alert(decision, trial),
        trial=trial_id,
        decided=decision_id,
    )


def is_alert(decision: DecisionRecord, trial: TrialRecord) -> bool:
    """Whether somebody should look: held, broken, or slower with other code. A difference in timing alone is none."""
    slower = any(cell.speed == "slower" and cell.code not in ("same", "text") for cell in trial.cells)
    return decision.decision == "held" or slower or any(cell.broken for cell in trial.cells)


def counts_of(cells: Sequence[CellChange]) -> dict[str, int]:
    """Configurations by what changed; what did not occur is left out."""
    counts: Counter[str] = Counter(configurations=len(cells))
    for cell in cells:
        counts[f"code {cell.code}"] += 1
        counts[f"numbers {cell.numbers}"] += 1
        counts[f"speed {cell.speed}"] += 1
        counts["broken"] += cell.broken
        counts["mended"] += cell.old_status != "ok" and cell.new_status == "ok"
    return {name: count for name, count in counts.items() if count}


def headline_of(decision: DecisionRecord, trial: TrialRecord) -> str:
    """One sentence: what it is, whether it was accepted, and why somebody would care."""
    name = f"{decision.key.compiler} {release_title(decision.release)}"
    was = release_title(trial.previous)
    if decision.decision == "held":
        return f"{name} is held, {was} stays: {reason_of(decision, trial)}"
    return f"{name} is accepted after {was}: {reason_of(decision, trial)}"


def reason_of(decision: DecisionRecord, trial: TrialRecord) -> str:
    """What the comparison shows; of a held release, why it is."""
    if decision.decision == "held":
        return decision.reason
    return "; ".join(_said(trial.cells)) or "nothing was compared"


def _said(cells: Sequence[CellChange]) -> list[str]:
    """What happened in how many configurations; what did not occur, or is not known, is left out."""
    counts = counts_of(cells)
    words = {
        "mended": "works in {} where the one before does not",
        "code changed": "other code in {}",
        "code text": "other text above the same code in {}",
        "code same": "the same code in {}",
        "numbers broken": "wrong numbers in {}",
        "numbers mended": "right numbers again in {}",
        "numbers changed": "other numbers in {}",
        "speed slower": "slower in {}",
        "speed faster": "faster in {}",
        "speed runtime": "another time around the same code in {}",
        "speed uncertain": "a speed that is not decided in {}",
    }
    of = len(cells)
    return [text.format(f"{counts[word]} of {of}") for word, text in words.items() if counts.get(word)]
