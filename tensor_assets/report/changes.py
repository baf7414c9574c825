"""The pages of releases: what each accepted or held one changed, and what the package index offers now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec

from tensor_assets.claims.claim import Claim
from tensor_assets.claims.library import Library
from tensor_assets.claims.moved import Move, moved
from tensor_assets.records import ChangesRecord, Evidence, Key, ReleaseRecord, TrialRecord
from tensor_assets.releases.accepted import Records, release_title
from tensor_assets.report.faces import Face, face_of
from tensor_assets.report.history import WritePage
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import PublicStore
from tensor_assets.report.rendering import Renderer
from tensor_assets.report.slugs import slug
from tensor_assets.report.trials import evidence_of, trial_view

LATEST = 3  # on the home page


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One release as the list tells it."""

    record_id: str
    changes: ChangesRecord
    face: Face
    page: str

    @property
    def previous(self) -> str:
        return release_title(self.changes.previous)

    @property
    def release(self) -> str:
        return release_title(self.changes.release)

    @property
    def date(self) -> str:
        return self.changes.provenance.created[:10]

    @property
    def news(self) -> str:
        """The release by what is new in it: its own version, or that of the companion that changed alone."""
        new = self._changed(self.changes.release)
        told = release_title(new or self.changes.release)
        return f"{next(iter(new))} {told}" if len(new) == 1 < len(self.changes.release) else told

    @property
    def before(self) -> str:
        """What stood in its place: the version alone, where it is one package's."""
        changed = self._changed(self.changes.previous)
        return next(iter(changed.values())) if len(changed) == 1 else release_title(changed or self.changes.previous)

    @property
    def beside(self) -> str:
        """Packages of the release that stayed as they were; empty where none did."""
        before, after = self.changes.previous, self.changes.release
        same = {name: version for name, version in after.items() if before.get(name) == version}
        return " and ".join(f"{name} {version}" for name, version in same.items()) if len(same) < len(after) else ""

    def _changed(self, release: dict[str, str]) -> dict[str, str]:
        before, after = self.changes.previous, self.changes.release
        return {name: version for name, version in release.items() if before.get(name) != after.get(name)}


class ClaimsTold(msgspec.Struct, frozen=True, kw_only=True):
    """How many claims a release changed, in words, and which."""

    words: str  # "2 claims", "1 claim"
    verdict: str  # "differ", "holds again", "would differ"
    mood: str  # as in ``trials.MOODS``
    ids: tuple[str, ...]


class ChangesPages:
    def __init__(self, store: PublicStore, faces: dict[str, Face], files: PublicFiles, renderer: Renderer) -> None:
        self._store, self._faces, self._files, self._renderer = store, faces, files, renderer
        self.told = latest_changes(store, faces)
        self._trials = dict(store.records(TrialRecord, history=True))
        self._claims: tuple[Claim, ...] = ()

    def show_claims(self, claims: Iterable[Claim]) -> None:
        """Let the pages tell which of these a release answers otherwise than the one before it."""
        self._claims = tuple(claims)

    def write(self, write_page: WritePage) -> None:
        for one in self.told:
            trial = self._trials.get(one.changes.trial)
            if trial is not None:
                write_page(one.page, f"{one.face.title} {one.news}", self._page(one, trial))

    def context(self) -> dict[str, Any]:
        """What the list of changes needs, and the home page's last ones."""
        for one in self.told:
            self._files.add_record(one.record_id, one.changes, "changes record")
        news = [(face_of(r.key.compiler, self._faces), r) for _, r in self._store.records(ReleaseRecord)]
        return {
            "told": self.told,
            "latest": list({(one.face.name, one.release): one for one in reversed(self.told)}.values())[::-1][:LATEST],
            "news": sorted(news, key=lambda pair: pair[0].title.casefold()),
            "title_of": release_title,
            "decided": {(one.changes.key.compiler, one.release): one.changes.decision for one in reversed(self.told)},
            "known": self._trials,
            "claims": {one.record_id: claims_told(self._moves.get(one.record_id, []), one) for one in self.told},
        }

    @cached_property
    def _moves(self) -> dict[str, list[Move]]:
        """Of every release that is told, by the id of its record: the claims it answers otherwise."""
        trials = {
            one.record_id: self._trials[one.changes.trial] for one in self.told if one.changes.trial in self._trials
        }
        return {record_id: self._moved(trial) for record_id, trial in trials.items()}

    def _moved(self, trial: TrialRecord) -> list[Move]:
        pairs = [(cell.old, cell.new) for cell in trial.cells]
        library = Library(self._store, [capture for pair in pairs for capture in pair])
        known = [(library.subjects[old], library.subjects[new]) for old, new in pairs]
        return moved(self._claims, known, library)

    def _page(self, one: Told, trial: TrialRecord) -> str:
        for evidence in evidence_of(trial):
            self._files.add(evidence)
        if trial.outcome.log:
            self._files.add(trial.outcome.log)
        self._files.add_record(one.changes.trial, trial, "trial record")
        self._files.add_record(one.record_id, one.changes, "changes record")
        sessions = {cell.session for cell in trial.cells if cell.session}
        records = {id for cell in trial.cells for id in (cell.old, cell.new)} | sessions
        for id in records:
            self._files.add_record(id, self._store.get(id), "record")
        moves = self._moves[one.record_id]
        shown = {"one": one, "moves": moves, "claims": claims_told(moves, one), **trial_view(trial, self._text)}
        return self._renderer.render("change.html", one.page, **shown)

    def _text(self, evidence: Evidence) -> str:
        why = self._store.why_private(evidence)
        return f"not shown: {why}" if why else self._store.read(evidence).decode(errors="replace")


def claims_told(moves: Sequence[Move], one: Told) -> list[ClaimsTold]:
    """Claims that differ with the release, then those that hold again; with one that is held they only would."""
    found: list[ClaimsTold] = []
    for differs, verb, mood in ((True, "differ", "bad"), (False, "hold", "good")):
        ids = tuple(dict.fromkeys(move.claim.id for move in moves if move.differs == differs))
        again = "" if differs else " again"
        if one.changes.decision == "held":
            verdict = f"would {verb}{again}"
        else:
            verdict = f"{verb}{'s' if len(ids) == 1 else ''}{again}"
        if ids:
            words = f"{len(ids)} claim{'' if len(ids) == 1 else 's'}"
            found.append(ClaimsTold(words=words, verdict=verdict, mood=mood, ids=ids))
    return found


def latest_changes(store: Records, faces: dict[str, Face]) -> list[Told]:
    """Every release that was accepted or held, newest first, each once: the last that was decided of it."""
    found = sorted(store.records(ChangesRecord), key=lambda pair: pair[1].provenance.created, reverse=True)
    return [
        Told(record_id=record_id, changes=record, face=face_of(record.key.compiler, faces), page=_page_of(record.key))
        for record_id, record in found
    ]


def _page_of(key: Key) -> str:
    return f"changes/{slug(f'{key.compiler} {key.environment} {key.target}')}.html"
