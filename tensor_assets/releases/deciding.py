"""Accepted or held: by the rule after a trial, or by a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import SettingsError
from tensor_assets.records import DecisionRecord, Evidence, Key, Outcome, TrialRecord
from tensor_assets.releases.accepted import decision_on, decisions, release_id, release_title, trials_of
from tensor_assets.releases.locks import release_in
from tensor_assets.releases.news import keep_lock, latest_news
from tensor_assets.workers.adapters import lock_hash

Word = Literal["accepted", "held"]


def decide(space: Workspace, compiler: str, release: Mapping[str, str]) -> Stored[DecisionRecord] | None:
    """The rule: a release is accepted if nothing broke on any target it was tried on, else held.

    None where its trials could compare nothing, since that says nothing of it. What a person decided of this release
    stands, and trials that decide the same as before file nothing new; but an acceptance beside another lock of the
    repository has lapsed, whoever made it.
    """
    known = decision_on(space.store, compiler, release)
    telling = _telling_trial(space, compiler, release)
    if telling is None:
        return None
    trial_id, trial = telling
    if known and _stands(space, known[1], trial):
        return Stored(*known, reused=True)
    assert trial.lock is not None, "a release on trial has a lock"
    reason = trial.outcome.reason or "nothing broke"
    return _filed(space, compiler, trial.candidate, trial.lock, _word(trial), reason, "rule", trial_id)


def undecided(space: Workspace, compiler: str, release: Mapping[str, str]) -> str:
    """The trial on which ``decide`` has yet to decide: whoever made it was killed before. Empty where there is none."""
    known = decision_on(space.store, compiler, release)
    telling = _telling_trial(space, compiler, release)
    return telling[0] if telling and not (known and _stands(space, known[1], telling[1])) else ""


def lapsed(space: Workspace, decision: DecisionRecord) -> bool:
    """Whether a release was accepted beside another lock of the repository, so that it is not in force any more."""
    return decision.decision == "accepted" and decision.base != lock_hash(space.adapter(decision.key.compiler).own_lock)


def _telling_trial(space: Workspace, compiler: str, release: Mapping[str, str]) -> tuple[str, TrialRecord] | None:
    """The trial that decides: the first that is not ok, else the newest."""
    trials = [pair for pair in trials_of(space.store, compiler, release).values() if _tells(pair[1])]
    return next((pair for pair in trials if pair[1].outcome.status != "ok"), trials[-1] if trials else None)


def _stands(space: Workspace, known: DecisionRecord, trial: TrialRecord) -> bool:
    return not lapsed(space, known) and (known.by == "person" or known.decision == _word(trial))


def _word(trial: TrialRecord) -> Word:
    return "accepted" if trial.outcome.status == "ok" else "held"


def _tells(trial: TrialRecord) -> bool:
    return trial.outcome.status != "blocked"


def decide_by_hand(
    space: Workspace, compiler: str, version: str, word: Word, reason: str = ""
) -> Stored[DecisionRecord]:
    """Accept or hold a release that was tried or decided before, named by its version or a companion's.

    Raises SettingsError where there is no such release, where several answer to that version, or for holding the
    release of the repository's own lock: there would be none left.
    """
    adapter = space.adapter(compiler)
    release, lock, trial = _known_release(space, compiler, version)
    if word == "held" and release == release_in(adapter, adapter.own_lock.read_text()):
        raise SettingsError(
            f"{compiler} {release_title(release)} is that of requirements.lock and cannot be held: change that file"
        )
    return _filed(space, compiler, release, lock, word, reason or f"{word} by hand", "person", trial)


def _known_release(space: Workspace, compiler: str, version: str) -> tuple[dict[str, str], Evidence, str]:
    """The one release with this version: its pins, its lock, its newest trial."""
    found: dict[str, tuple[dict[str, str], Evidence, str]] = {}
    adapter = space.adapter(compiler)
    own = release_in(adapter, adapter.own_lock.read_text())
    if own:
        found[release_id(own)] = (own, keep_lock(space.store, adapter.own_lock, f"{compiler}.lock.txt"), "")
    news = latest_news(space.store, compiler)
    if news and news.record.lock:
        found[release_id(news.record.candidate)] = (news.record.candidate, news.record.lock, "")
    for _, decision in decisions(space.store, compiler):
        found[release_id(decision.release)] = (decision.release, decision.lock, decision.trial)
    trials = sorted(space.store.records(TrialRecord), key=lambda pair: pair[1].provenance.created)
    for record_id, trial in trials:
        if trial.key.compiler == compiler and trial.lock and trial.purpose == "release":
            found[release_id(trial.candidate)] = (trial.candidate, trial.lock, record_id)
    return _the_one(compiler, version, found)


def _the_one(
    compiler: str, version: str, found: Mapping[str, tuple[dict[str, str], Evidence, str]]
) -> tuple[dict[str, str], Evidence, str]:
    named = [one for one in found.values() if version == release_title(one[0])]
    matching = named or [one for one in found.values() if version in one[0].values()]
    titles = ", ".join(repr(release_title(one[0])) for one in (matching or found.values()))
    if not matching:
        raise SettingsError(f"{compiler} {version!r} was never seen or tried (known: {titles or 'none'})")
    if len(matching) > 1:
        raise SettingsError(f"{compiler} {version!r} is several releases: say which of {titles}")
    return matching[0]


def _filed(
    space: Workspace,
    compiler: str,
    release: dict[str, str],
    lock: Evidence,
    word: Word,
    reason: str,
    by: Literal["rule", "person"],
    trial: str,
) -> Stored[DecisionRecord]:
    record = DecisionRecord(
        key=Key(compiler=compiler, environment=release_id(release)),
        outcome=Outcome(status="ok"),
        provenance=provenance((trial,) if trial else ()),
        decision=word,
        release=release,
        lock=lock,
        base=lock_hash(space.adapter(compiler).own_lock),
        reason=reason,
        by=by,
        trial=trial,
    )
    stored = file(space.store, record)
    space.forget_adapters()
    return stored
