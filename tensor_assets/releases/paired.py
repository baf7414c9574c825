"""Old and new in one session: two arms of every configuration, interleaved, so that drift of the device cancels."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from tensor_assets.campaign.environment import environment_record, searches
from tensor_assets.campaign.fixtures import fixture_record, load_fixtures
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.session import starter
from tensor_assets.campaign.stored import Stored, file, reuse
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import CaptureRecord, Comparison, Key, SessionRecord, SpeedChange, Timing
from tensor_assets.releases.difference import Code
from tensor_assets.sessions.benchmark import summarize
from tensor_assets.sessions.method import method_for
from tensor_assets.sessions.participants import Contender
from tensor_assets.sessions.session import run_session

# Two arms of three processes pool to 4 degrees of freedom, under the 6 below which nothing is claimed; of four, to 6.
FEWEST_PROCESSES = 4
_CLOCKS = ("device", "graph", "host")  # the closest to the kernels first


class Pair(NamedTuple):
    """One configuration, captured in the accepted environment and in the candidate's."""

    old: Stored[CaptureRecord]
    new: Stored[CaptureRecord]

    @property
    def both_admitted(self) -> bool:
        return all(one.record.admission is not None and one.record.admission.admitted is True for one in self)


def time_pairs(
    old: Workspace, new: Workspace, workload: str, pairs: Sequence[Pair], options: Options
) -> Stored[SessionRecord]:
    """One session with both arms of every pair. Raises what ``run_session`` does."""
    fixtures = fixture_record(old, workload, options.shape)
    processes = max(FEWEST_PROCESSES, options.processes)
    method = msgspec.structs.replace(method_for(options.target), processes=processes)
    compiler, filed = pairs[0].old.record.key.compiler, fixtures.record.key
    lineup = [(options.seed, *((one.record.key, one.record.fingerprint) for one in pair)) for pair in pairs]
    key = Key(
        workload=filed.workload,
        shape=filed.shape,
        compiler=compiler,
        target=options.target,
        environment=hashlib.sha256(msgspec.json.encode(lineup)).hexdigest()[:16],
        method=method.hash,
    )
    if not options.force and (found := reuse(old.store, SessionRecord, key)):
        return found
    record = run_session(
        fixtures.record.program,
        load_fixtures(old, fixtures.record),
        [_contender(space, arm, one) for pair in pairs for space, arm, one in _arms(old, new, pair)],
        target=options.target,
        method=method,
        seed=options.seed,
        key=key,
        parents=(fixtures.id, *(one.id for pair in pairs for one in pair)),
        keeper=old.store,
        granted=old.lease,
    )
    return file(old.store, record)


def speed_changes(session: Stored[SessionRecord], pair: Pair) -> tuple[SpeedChange, ...]:
    """New against old on every axis, as their session alone sees it."""
    old = {_axis(t): t for t in summarize(session.id, session.record, pair.old.record, arm="old").timings}
    new = summarize(session.id, session.record, pair.new.record, arm="new").timings
    return tuple(_speed(old.get(_axis(timing)), timing) for timing in new)


def judged(speed: SpeedChange, comparison: Comparison | None, code: Code) -> SpeedChange:
    """With the verdict of ``comparison``; where the code is the same, whatever differs is no finding about it.

    By a clock on the device that is noise. The host's clock also reads the runtime around the code, which a release
    may well have changed: then it is called so. Neither is ever an alert.
    """
    verdict = comparison.verdict if comparison else "insufficient"
    if code in ("same", "text") and verdict in ("faster", "slower"):
        outside: Literal["runtime", "noise"] = "runtime" if speed.clock == "host" else "noise"
        return msgspec.structs.replace(speed, comparison=comparison, verdict=outside)
    return msgspec.structs.replace(speed, comparison=comparison, verdict=verdict)


def headline(speeds: Sequence[SpeedChange]) -> SpeedChange | None:
    """The one to speak of: warm, on random data, by the clock closest to the kernels."""
    usable = [speed for speed in speeds if speed.old_ns is not None and speed.new_ns is not None]
    return min(usable, key=lambda s: (_CLOCKS.index(s.clock), s.cache != "warm", s.data != "random"), default=None)


def _arms(old: Workspace, new: Workspace, pair: Pair) -> list[tuple[Workspace, str, CaptureRecord]]:
    return [(old, "old", pair.old.record), (new, "new", pair.new.record)]


def _contender(space: Workspace, arm: str, capture: CaptureRecord) -> Contender:
    key = capture.key
    ready = environment_record(space, key.compiler, key.target)
    assert ready.environment is not None, "an admitted capture had an environment"
    return Contender(
        compiler=key.compiler,
        variant=key.variant,
        fingerprint=capture.fingerprint,
        start=starter(space, space.adapter(key.compiler), ready.environment, capture.cache),
        arm=arm,
        cache=capture.cache.sha256 if capture.cache else "",
        searches=searches(ready.stored.record, key.variant),
    )


def _speed(old: Timing | None, new: Timing) -> SpeedChange:
    return SpeedChange(
        clock=new.clock,
        cache=new.cache,
        data=new.data,
        verdict=new.comparison.verdict if new.comparison else "insufficient",
        comparison=new.comparison,
        noise=new.noise,
        old_ns=old.median_ns if old else None,
        new_ns=new.median_ns,
    )


def _axis(timing: Timing) -> tuple[str, str, str]:
    return timing.clock, timing.cache, timing.data
