"""A cell, or a claim's question, asked of published versions, each in its own environment. Goes on where it was."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import msgspec

from tensor_assets.campaign.capture import capture_cell
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.method import source_hash
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import BisectRefused
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.history.bisecting import Conclusion, conclude, next_version
from tensor_assets.progress import announce
from tensor_assets.records import BisectRecord, CaptureRecord, Evidence, Key, Outcome, Probe
from tensor_assets.releases.accepted import accepted_release
from tensor_assets.releases.candidates import candidate_of
from tensor_assets.releases.difference import code_change
from tensor_assets.releases.index import published
from tensor_assets.workers.adapters import AdapterFolder

# What a search that goes on tries again: what was cut short, and what may have been an index that did not answer.
AGAIN = ("blocked", "unavailable")
# Frames of a traceback in a worker's log: which file, innermost last.
_FRAME = re.compile(r'^\s*File "([^"]+)", line \d+', re.MULTILINE)


class Question(Protocol):
    """What is compared between versions."""

    @property
    def subject(self) -> str:
        """What a record calls it."""

    def state(self, stored: Stored[CaptureRecord]) -> str | None:
        """One line, equal where nothing changed; None where the capture does not say."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """``package`` is the compiler's own, or one of its companions: then the compiler stays at its accepted version."""

    workload: str
    compiler: str
    variant: str
    options: Options
    package: str
    low: str
    high: str
    pre: bool = False
    every: bool = False  # try all versions, not by halves


class Found(NamedTuple):
    stored: Stored[BisectRecord]
    conclusion: Conclusion
    lines: list[str]  # of the difference


def bisect(space: Workspace, asked: Asked, question: Question) -> Found:
    """Try versions until the first that differs is known. Every probe is filed before the next begins.

    Raises BisectRefused if the index has fewer than two of the versions, or the package is none of the compiler's.
    """
    return _Bisection(space, asked, question).run()


class _Bisection:
    def __init__(self, space: Workspace, asked: Asked, question: Question) -> None:
        self._space, self._asked, self._question = space, asked, question
        self._adapter = space.adapter(asked.compiler)
        if asked.package not in (self._adapter.package, *self._adapter.companions):
            have = ", ".join(filter(None, (self._adapter.package, *self._adapter.companions)))
            raise BisectRefused(f"{asked.compiler} is not made of {asked.package!r} (have: {have})")
        self._versions = self._published()
        self._key = self._filed_under()
        known = space.store.latest(BisectRecord, self._key)
        self._probes = {
            version: probe
            for version, probe in (known[1].probes.items() if known else ())
            if version in self._versions and probe.outcome.status not in AGAIN
        }

    def run(self) -> Found:
        while (version := self._next()) is not None:
            tried = len(self._probes) + 1
            announce(f"{self._asked.package} {version}: probe {tried}, {len(self._versions)} versions in all")
            self._probes[version] = self._probe(version)
            self._file(conclude(self._versions, self._states(), every=self._asked.every))
        conclusion = conclude(self._versions, self._states(), every=self._asked.every)
        lines = self._difference(conclusion)
        return Found(self._file(conclusion, lines), conclusion, lines)

    def _next(self) -> str | None:
        return next_version(self._versions, self._states(), every=self._asked.every)

    def _published(self) -> tuple[str, ...]:
        asked = self._asked
        announce(f"asking the index for {asked.package} from {asked.low} to {asked.high}")
        found = published(asked.package, asked.low, asked.high, pre=asked.pre)
        if isinstance(found, Outcome):
            raise BisectRefused(found.reason)
        if len(found) < 2:
            raise BisectRefused(f"between {asked.low} and {asked.high} the index has only {asked.package} {found[0]}")
        return tuple(found)

    def _filed_under(self) -> Key:
        asked = self._asked
        method = (self._question.subject, asked.package, asked.low, asked.high, asked.every, asked.pre)
        digest = hashlib.sha256(msgspec.json.encode((method, source_hash(self._adapter.path)))).hexdigest()[:16]
        shape = self._space.shape(asked.workload, asked.options.shape)
        return Key(
            workload=asked.workload,
            shape=shape,
            compiler=asked.compiler,
            variant=asked.variant,
            target=asked.options.target,
            method=digest,
        )

    def _states(self) -> dict[str, str | None]:
        return {version: probe.state or None for version, probe in self._probes.items()}

    def _probe(self, version: str) -> Probe:
        asked = self._asked
        pins = {asked.package: version}
        if asked.package != self._adapter.package:
            pins[self._adapter.package] = self._accepted(self._adapter)
        made = candidate_of(self._space, asked.compiler, pins, pre=asked.pre)
        if isinstance(made, Outcome):
            return Probe(release=pins, outcome=made)
        ready = environment_record(made.space, asked.compiler, asked.options.target)
        if ready.environment is None:
            return Probe(release=made.release, outcome=ready.stored.record.outcome)
        # Noted before the compiler is started: whatever happens to this process, it is known what was being tried.
        trying = Outcome(status="blocked", reason="this was being tried when the search was cut short")
        self._probes[version] = Probe(release=made.release, environment=ready.environment.hash, outcome=trying)
        self._file(Conclusion("open"))
        options = msgspec.structs.replace(asked.options, variants=(asked.variant,))
        captures = capture_cell(made.space, asked.workload, asked.compiler, options)
        stored = next((one for one in captures if one.record.key.variant == asked.variant), captures[0])
        return self._judged(made.release, ready.environment.hash, stored)

    def _judged(self, release: dict[str, str], environment: str, stored: Stored[CaptureRecord]) -> Probe:
        outcome = stored.record.outcome
        if outcome.status in ("unavailable", "blocked"):
            return Probe(release=release, environment=environment, outcome=outcome, capture=stored.id)
        if strange := spoken_otherwise(self._space.store, self._adapter, stored.record):
            reason = f"the adapter does not speak this version: {strange}"
            outcome = msgspec.structs.replace(outcome, reason=reason)
            return Probe(release=release, environment=environment, outcome=outcome, capture=stored.id)
        state = self._question.state(stored) or ""
        return Probe(release=release, environment=environment, outcome=outcome, state=state, capture=stored.id)

    @staticmethod
    def _accepted(adapter: AdapterFolder) -> str:
        return accepted_release(adapter)[adapter.package]

    def _file(self, conclusion: Conclusion, lines: Iterable[str] = ()) -> Stored[BisectRecord]:
        text = "\n".join(lines)
        captures = tuple(probe.capture for probe in self._probes.values() if probe.capture)
        record = BisectRecord(
            key=self._key,
            outcome=Outcome(status="ok"),
            provenance=provenance(captures),
            subject=self._question.subject,
            versions=self._versions,
            probes=self._probes,
            verdict=conclusion.verdict,
            first=conclusion.first,
            last=conclusion.last,
            difference=self._space.store.put_bytes(text.encode(), "text/plain", "difference.txt") if text else None,
            sentence=sentence(self._asked.package, conclusion) if conclusion.verdict != "open" else "",
        )
        return file(self._space.store, record)

    def _difference(self, conclusion: Conclusion) -> list[str]:
        if not conclusion.first or conclusion.verdict == "same":
            return []
        ids = [self._probes[version].capture for version in (conclusion.last, conclusion.first)]
        old, new = (self._space.store.get(record_id) for record_id in ids)
        assert isinstance(old, CaptureRecord)
        assert isinstance(new, CaptureRecord)
        return difference_lines(self._space.store, old, new)


def sentence(package: str, found: Conclusion) -> str:
    """What was found, in one sentence, with what it cannot say."""
    many = "1 version in between was" if found.untried == 1 else f"{found.untried} versions in between were"
    rest = f"; {many} not tried" if found.untried else ""
    if found.verdict == "undecided":
        return f"fewer than two versions of {package} say anything"
    if found.verdict == "same":
        return f"{package} {found.last} and {found.first} do not differ{rest}"
    said = f"{package} {found.first} is the first that differs from {found.last}"
    if found.between:
        said = (
            f"the first {package} that differs is {found.first}, or one that says nothing: {', '.join(found.between)}"
        )
    if found.verdict == "several":
        turns = ", ".join(f"{last} to {first}" for last, first in found.turns)
        return f"the state changes more than once ({turns}); {said}{rest}"
    return said + (f"{rest}: if the state changed more than once, this is one of the changes" if rest else "")


def spoken_otherwise(store: EvidenceStore, adapter: AdapterFolder, capture: CaptureRecord) -> str:
    """The reason, where a crash is the adapter's: its innermost frame is a line of the adapter that calls what this
    version does not have. A crash inside the compiler is the compiler's."""
    if capture.outcome.status != "crashed" or capture.outcome.log is None:
        return ""
    frames = _FRAME.findall(store.read(capture.outcome.log).decode("utf-8", "replace"))
    inside = bool(frames) and f"/{adapter.path.name}/" in frames[-1] and "site-packages" not in frames[-1]
    return capture.outcome.reason if inside else ""


def difference_lines(store: EvidenceStore, old: CaptureRecord, new: CaptureRecord) -> list[str]:
    """Outcome, fingerprint, launches and stages, old against new; what is equal is left out."""
    lines = [f"- {_ended(old)}", f"+ {_ended(new)}"] if _ended(old) != _ended(new) else []
    if old.fingerprint != new.fingerprint:
        lines += [f"- plan {old.fingerprint[:12] or 'none'}", f"+ plan {new.fingerprint[:12] or 'none'}"]
    change = code_change(old, new, store)
    for launch in change.launches:
        lines += [f"- {launch.position + 1}: {launch.old}"] if launch.old else []
        lines += [f"+ {launch.position + 1}: {launch.new}"] if launch.new else []
    for stage in change.stages:
        if stage.change != "same":
            counted = f" ({stage.removed} lines out, {stage.added} in)" if stage.difference else ""
            lines.append(f"stage {stage.stage}: {stage.change}{counted}")
            lines += _text(store, stage.difference)[:_SHOWN] if stage.difference else []
    return lines


_SHOWN = 40  # lines of one stage's difference; all of it is kept by its own hash


def _text(store: EvidenceStore, evidence: Evidence) -> list[str]:
    return [f"  {line}" for line in store.read(evidence).decode("utf-8", "replace").splitlines()]


def _ended(record: CaptureRecord) -> str:
    outcome = record.outcome
    return f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status


class OutcomeOf(msgspec.Struct, frozen=True):
    """Whether it is right, and if not, what broke."""

    subject: str = "outcome"

    def state(self, stored: Stored[CaptureRecord]) -> str | None:
        record = stored.record
        boundary = record.admission.boundary if record.admission else ""
        return f"{record.outcome.status} ({boundary})" if boundary else record.outcome.status


class CodeOf(msgspec.Struct, frozen=True):
    """Which implementation was selected; where there is none, how it ended."""

    subject: str = "code"

    def state(self, stored: Stored[CaptureRecord]) -> str | None:
        return stored.record.fingerprint or stored.record.outcome.status


class AnyOf(msgspec.Struct, frozen=True):
    """Outcome, code and every stage's text together."""

    subject: str = "any"

    def state(self, stored: Stored[CaptureRecord]) -> str | None:
        stages = [(file.stage, file.fingerprint) for file in stored.record.stages]
        told = msgspec.json.encode((OutcomeOf().state(stored), stored.record.fingerprint, sorted(stages)))
        return f"{OutcomeOf().state(stored)} {hashlib.sha256(told).hexdigest()[:12]}"


QUESTIONS: dict[str, Question] = {one.subject: one for one in (OutcomeOf(), CodeOf(), AnyOf())}
