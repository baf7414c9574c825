"""A candidate on trial: captured beside the accepted release, judged, and timed with it in the same sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from tensor_assets.campaign.capture import GATE, capture_cell
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.workspace import Workspace, worker_target
from tensor_assets.progress import announce
from tensor_assets.records import (
    CaptureRecord,
    CellChange,
    Comparison,
    Evidence,
    Key,
    Outcome,
    SessionRecord,
    SpeedChange,
    TrialRecord,
)
from tensor_assets.releases.accepted import accepted_release, release_id, release_title
from tensor_assets.releases.candidates import Candidate
from tensor_assets.releases.difference import CodeChange, code_change, numbers_change
from tensor_assets.releases.locks import lock_difference, versions_in
from tensor_assets.releases.news import keep_lock
from tensor_assets.releases.paired import Pair, headline, judged, speed_changes, time_pairs
from tensor_assets.sessions.statistics import control
from tensor_assets.workers.environments import build_environment

Purpose = Literal["release", "compare"]
Cell = tuple[str, str]  # workload, shape ("": the one its suite is quoted at)


class Trial:
    """One candidate against the accepted release of one compiler, over some cells."""

    def __init__(
        self,
        space: Workspace,
        candidate: Candidate,
        cells: Sequence[Cell],
        options: Options,
        purpose: Purpose = "release",
    ) -> None:
        self._space, self._candidate, self._options, self._purpose = space, candidate, options, purpose
        self._cells = sorted(cells, key=lambda cell: cell[0] != GATE)
        self._adapter = space.adapter(candidate.compiler)
        self._captures: dict[str, CaptureRecord] = {}
        self._sessions: list[str] = []
        self._environments = ["", ""]

    def run(self) -> Stored[TrialRecord]:
        """Try it and file the record; whatever befalls the candidate is its outcome. Raises SettingsError."""
        name = f"{self._candidate.compiler} {release_title(self._candidate.release)}"
        announce(f"{name}: trial against {release_title(accepted_release(self._adapter))}")
        refused = self._refused()
        cells = [] if refused else [change for cell in self._cells for change in self._cell(*cell)]
        cells = with_joint_control(cells)
        return file(self._space.store, self._record(refused or _outcome(cells, self._captures), tuple(cells)))

    def _refused(self) -> Outcome | None:
        """Why the candidate's environment cannot be had, or None; the accepted one's trouble comes first."""
        accepted = environment_record(self._space, self._candidate.compiler, self._options.target)
        if accepted.environment is None:
            why = accepted.stored.record.outcome
            return Outcome(status="blocked", reason=f"the accepted release is {why.status} here: {why.reason}")
        self._environments[0] = accepted.environment.hash
        built = build_environment(
            self._candidate.space.adapter(self._candidate.compiler),
            self._space.settings,
            target=worker_target(self._options.target),
            keeper=self._space.store,
        )
        if isinstance(built, Outcome):
            return built
        self._environments[1] = built.hash
        return None

    def _cell(self, workload: str, shape: str) -> list[CellChange]:
        compiler, options = self._candidate.compiler, msgspec.structs.replace(self._options, shape=shape)
        old = {c.record.key.variant: c for c in capture_cell(self._space, workload, compiler, options)}
        new = {c.record.key.variant: c for c in capture_cell(self._candidate.space, workload, compiler, options)}
        self._captures |= {stored.id: stored.record for stored in (*old.values(), *new.values())}
        pairs = [Pair(old[variant], new[variant]) for variant in old if variant in new]
        changes = [code_change(pair.old.record, pair.new.record, self._space.store) for pair in pairs]
        timed = [pair for pair in pairs if pair.both_admitted]
        session = time_pairs(self._space, self._candidate.space, workload, timed, options) if timed else None
        if session:
            self._sessions.append(session.id)
        return [_change(pair, change, session) for pair, change in zip(pairs, changes, strict=True)]

    def _record(self, outcome: Outcome, cells: tuple[CellChange, ...]) -> TrialRecord:
        lock, difference = self._locks()
        return TrialRecord(
            key=Key(
                compiler=self._candidate.compiler,
                shape=self._options.shape,
                target=self._options.target,
                environment=release_id(self._candidate.release),
            ),
            outcome=outcome,
            provenance=provenance((*self._captures, *self._sessions)),
            previous=accepted_release(self._adapter),
            candidate=self._candidate.release,
            accepted_lock=keep_lock(self._space.store, self._adapter.lock, f"{self._adapter.name}-accepted.lock.txt"),
            lock=lock,
            difference=difference,
            environments=(self._environments[0], self._environments[1]),
            cells=cells,
            purpose=self._purpose,
        )

    def _locks(self) -> tuple[Evidence | None, Evidence]:
        """The candidate's lock (unless it is of somebody's own file) and what it changes."""
        store, name, lock = self._space.store, self._adapter.name, self._candidate.lock
        text = lock_difference(self._adapter.lock.read_text(), lock.read_text())
        own = any("://" in version for version in versions_in(lock.read_text()).values())
        kept = None if own else keep_lock(store, lock, f"{name}.lock.txt")
        return kept, store.put_bytes(text.encode(), "text/plain", f"{name}-lock.diff")


def _change(pair: Pair, change: CodeChange, session: Stored[SessionRecord] | None) -> CellChange:
    old, new = pair.old.record, pair.new.record
    timed = session if session and pair.both_admitted else None
    return CellChange(
        workload=old.key.workload,
        shape=old.key.shape,
        variant=old.key.variant,
        target=old.key.target,
        old=pair.old.id,
        new=pair.new.id,
        old_status=old.outcome.status,
        new_status=new.outcome.status,
        code=change.code,
        numbers=numbers_change(old, new),
        speed="not timed",
        stages=change.stages,
        launches=change.launches,
        speeds=speed_changes(timed, pair) if timed else (),
        session=timed.id if timed else "",
        reason=new.outcome.reason if new.outcome.status != old.outcome.status else "",
        old_reason=old.outcome.reason if old.outcome.status not in ("ok", "rejected") else "",
    )


def with_joint_control(cells: Sequence[CellChange]) -> list[CellChange]:
    """The cells with one false-discovery control over all of them, axis by axis, instead of over each session alone."""
    by_axis: dict[tuple[str, str, str], dict[str, Comparison]] = defaultdict(dict)
    for place, cell in enumerate(cells):
        for speed in cell.speeds:
            if speed.comparison:
                by_axis[_axis(speed)][str(place)] = speed.comparison
    controlled = {axis: control(comparisons) for axis, comparisons in by_axis.items()}
    return [
        _judged(cell, {axis: found[str(place)] for axis, found in controlled.items() if str(place) in found})
        for place, cell in enumerate(cells)
    ]


def _judged(cell: CellChange, comparisons: Mapping[tuple[str, str, str], Comparison]) -> CellChange:
    speeds = tuple(judged(speed, comparisons.get(_axis(speed)), cell.code) for speed in cell.speeds)
    spoken = headline(speeds)
    verdict = spoken.verdict if spoken else "insufficient"
    return msgspec.structs.replace(cell, speeds=speeds, speed="not timed" if verdict == "insufficient" else verdict)


def _axis(speed: SpeedChange) -> tuple[str, str, str]:
    return speed.clock, speed.cache, speed.data


def _outcome(cells: Sequence[CellChange], captures: Mapping[str, CaptureRecord]) -> Outcome:
    """Of the candidate as a whole: what broke first, with its log; ``blocked`` where nothing could be compared."""
    for cell in cells:
        if cell.broken:
            found = captures[cell.new].outcome
            where = f"{cell.workload} ({cell.variant}, {cell.target})"
            broken = len([one for one in cells if one.broken])
            more = f", and {broken - 1} more" if broken > 1 else ""
            status = found.status if found.status != "ok" else "rejected"
            return Outcome(status=status, reason=f"{where}: {found.reason}{more}", log=found.log)
    if not any("ok" in (cell.old_status, cell.new_status) for cell in cells):
        reason = cells[0].reason or captures[cells[0].old].outcome.reason if cells else "no workload was asked for"
        return Outcome(status="blocked", reason=f"neither release made anything that could be compared: {reason}")
    return Outcome(status="ok")
