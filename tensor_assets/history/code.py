"""Whether two records ran the same code, which is not whether our adapter read it the same way.

A plan's fingerprint is what an adapter read. Two plans that the same adapter read otherwise are other code. Where the
adapter, or the kit below it, was another one as well, only what the compiler itself emitted can say so: kernels that
each side has and the other has not. A library call that one adapter saw and another did not says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from tensor_assets.records import BenchmarkRecord, CaptureRecord

# What a record's code is to that of the one before: the same, other code, or the same as far as two adapters can tell.
Turn = Literal["", "other", "reread"]


class Kernel(NamedTuple):
    """Code of the compiler's own, twice: a kit that normalizes otherwise changes the one and not the other."""

    normalized: str  # SHA-256, as the plan has it
    text: str  # SHA-256 of its stage as the compiler wrote it, empty where the plan names none

    def is_in(self, others: tuple[Kernel, ...]) -> bool:
        return any(self.normalized == other.normalized or (self.text and self.text == other.text) for other in others)


class Reading(NamedTuple):
    """What was seen of the code that a record timed, and by which adapter."""

    fingerprint: str
    method: str = ""  # of the capture: hash of the adapter, the kit and the contract; empty where it is not here
    kernels: tuple[Kernel, ...] = ()


def readings(captures: Iterable[tuple[str, CaptureRecord]]) -> dict[str, Reading]:
    """By record id: the little of each capture that tells its code from another's."""
    return {record_id: Reading(one.fingerprint, one.key.method, _kernels(one)) for record_id, one in captures}


def reading_of(record: BenchmarkRecord, known: Mapping[str, Reading]) -> Reading:
    """What was read of the capture that a benchmark names as its parent."""
    return next((known[parent] for parent in record.provenance.parents if parent in known), Reading(record.fingerprint))


def turn(earlier: Reading, later: Reading) -> Turn:
    if earlier.fingerprint == later.fingerprint:
        return ""
    if earlier.method == later.method:
        return "other"
    return "other" if _lacks(earlier, later) and _lacks(later, earlier) else "reread"


def _lacks(one: Reading, other: Reading) -> bool:
    """Whether ``one`` is without a kernel of the other's."""
    return not all(kernel.is_in(one.kernels) for kernel in other.kernels)


def _kernels(capture: CaptureRecord) -> tuple[Kernel, ...]:
    texts = {file.stage: file.text.sha256 for file in capture.stages}
    launches = capture.plan.launches if capture.plan else ()
    own = [one for one in launches if one.kind == "kernel" and one.code_sha256]  # a call's words are the adapter's own
    return tuple(dict.fromkeys(Kernel(one.code_sha256, texts.get(one.stage, "")) for one in own))
