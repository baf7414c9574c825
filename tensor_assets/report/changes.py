"""The pages of releases: what each accepted or held one changed, and what the package index offers now."""

from __future__ import annotations

from typing import Any

import msgspec

from tensor_assets.records import ChangesRecord, Evidence, Key, ReleaseRecord, TrialRecord
from tensor_assets.releases.accepted import Records, release_title
from tensor_assets.report.faces import Face, face_of
from tensor_assets.report.history import WritePage
from tensor_assets.report.matrix import slug
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.reading import PublicStore
from tensor_assets.report.rendering import Renderer
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
        """The release by what is new in it: its own version, or the companion's that changed alone."""
        before, after = self.changes.previous, self.changes.release
        new = {name: version for name, version in after.items() if before.get(name) != version}
        told = release_title(new or after)
        return f"{next(iter(new))} {told}" if len(new) == 1 < len(after) else told


class ChangesPages:
    def __init__(self, store: PublicStore, faces: dict[str, Face], files: PublicFiles, renderer: Renderer) -> None:
        self._store, self._faces, self._files, self._renderer = store, faces, files, renderer
        self.told = latest_changes(store, faces)
        self._trials = dict(store.records(TrialRecord, history=True))

    def write(self, write_page: WritePage) -> None:
        for one in self.told:
            trial = self._trials.get(one.changes.trial)
            if trial is not None:
                write_page(one.page, f"{one.face.title} {one.release}", self._page(one, trial))

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
        }

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
        return self._renderer.render("change.html", one.page, one=one, **trial_view(trial, self._text))

    def _text(self, evidence: Evidence) -> str:
        why = self._store.why_private(evidence)
        return f"not shown: {why}" if why else self._store.read(evidence).decode(errors="replace")


def latest_changes(store: Records, faces: dict[str, Face]) -> list[Told]:
    """Every release that was accepted or held, newest first, each once: the last that was decided of it."""
    found = sorted(store.records(ChangesRecord), key=lambda pair: pair[1].provenance.created, reverse=True)
    return [
        Told(record_id=record_id, changes=record, face=face_of(record.key.compiler, faces), page=_page_of(record.key))
        for record_id, record in found
    ]


def _page_of(key: Key) -> str:
    return f"changes/{slug(f'{key.compiler} {key.environment} {key.target}')}.html"
