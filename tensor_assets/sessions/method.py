"""How a process is timed. Every number that could change a result is here, and their hash files the record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from tensor_worker.messages import Cache, Clock

# One invocation of this length refills a core's caches in well under 0.1 % of its time, so a switch needs no warm-up.
LONG_INVOCATION_SECONDS = 0.5


class Axis(msgspec.Struct, frozen=True):
    """One way of reading time: which clock, what the L2 cache holds, which input values."""

    clock: Clock = "host"
    cache: Cache = "warm"
    data: str = "random"

    @property
    def label(self) -> str:
        return f"{self.clock}/{self.cache}/{self.data}"

    @property
    def traced(self) -> bool:
        """Read with a profiler in the process, which may cost or break something."""
        return self.clock == "device"


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """A timing protocol. Limits of None are not applied."""

    name: str
    axes: tuple[Axis, ...] = (Axis(),)
    processes: int = 3  # fresh ones per configuration: their pairs are the A/A arm
    # The documents' protocol, kept so that its numbers stay comparable: 10 warm-ups, 3 pilots, 15 blocks that aim at
    # 10 ms (two clock reads vanish in it, 15 of them see one thermal state) and hold at most 200 invocations.
    warmups: int = 10
    pilots: int = 3
    block_seconds: float = 0.010
    block_invocations: int = 200
    blocks: int = 15
    switch_warmups: int = 5  # before every block, because another process has just used the device
    # Device time comes from tracing, whose set-up costs more than what it times: fewer, smaller blocks.
    traced_invocations: int = 10
    traced_blocks: int = 5
    # Where one invocation can take a second the counts above become budgets.
    fewest_blocks: int = 15
    opening_seconds: float | None = None  # warm-ups and pilots of one process
    process_seconds: float | None = None  # everything timed in one process
    version: int = 1  # raise when the procedure changes though no number here does

    @property
    def hash(self) -> str:
        """Names the method: SHA-256 over every number above."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()

    def described(self) -> dict[str, float | int | str]:
        """The numbers for a session record; axes as ``clock/cache/data``."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "axes"}
        axes = " ".join(axis.label for axis in self.axes)
        return {name: value for name, value in fields.items() if value is not None} | {"axes": axes, "hash": self.hash}


class Opening(NamedTuple):
    """Untimed invocations that follow a process's first timed probe."""

    warmups: int
    pilots: int


class Pace(NamedTuple):
    """How one process is timed from here on."""

    invocations: int  # in one block
    switch_warmups: int
    blocks: int
    seconds: float = 0.0  # one block is expected to take, warm-ups included


GPU = Method(
    name="gpu",
    axes=(
        Axis("host"),
        Axis("host", data="zeros"),
        Axis("host", "cold"),
        Axis("graph"),
        Axis("graph", "cold"),
        Axis("device"),
    ),
)
CPU = Method(name="cpu", switch_warmups=1, fewest_blocks=5, opening_seconds=2.0, process_seconds=15.0)


def method_for(target: str) -> Method:
    """The protocol of a target: a budget on ``cpu``, the documents' counts on a device."""
    return CPU if target == "cpu" else GPU


def opening(method: Method, probe_seconds: float) -> Opening:
    """Warm-ups and pilots still to run after one invocation took ``probe_seconds`` (it counts as a warm-up).

    Under a budget pilots come before further warm-ups; both may be none where the probe alone used it up.
    """
    if method.opening_seconds is None:
        return Opening(method.warmups - 1, method.pilots)
    affordable = int(max(0.0, method.opening_seconds - probe_seconds) / max(probe_seconds, 1e-9))
    pilots = min(method.pilots, affordable)
    return Opening(min(method.warmups - 1, affordable - pilots), pilots)


def traced_pace(method: Method) -> Pace:
    """How the device clock is read: every activity of a few invocations is recorded."""
    return Pace(method.traced_invocations, 1, method.traced_blocks)


def pace(method: Method, invocation_seconds: Sequence[float], spent_seconds: float = 0.0) -> Pace:
    """Block size, switch warm-ups and number of blocks, from the pilots' times and what the process already used.

    ``fewest_blocks`` is kept even where that overruns the budget: fewer would not be a measurement.
    """
    seconds = max(float(np.median(invocation_seconds)), 1e-9)
    invocations = min(method.block_invocations, max(1, round(method.block_seconds / seconds)))
    warmups = 0 if seconds >= LONG_INVOCATION_SECONDS else method.switch_warmups
    block_seconds = seconds * (invocations + warmups)
    if method.process_seconds is None:
        return Pace(invocations, warmups, method.blocks, block_seconds)
    affordable = int((method.process_seconds - spent_seconds) / block_seconds)
    return Pace(invocations, warmups, min(method.blocks, max(method.fewest_blocks, affordable)), block_seconds)
