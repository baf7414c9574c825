"""Records of what somebody was told: a change of state, and that the word was passed on."""

from __future__ import annotations

from typing import Literal

from tensor_assets.records.base import RecordBase

# What was another one too when a time changed: the physical device; the adapter, which reads and calls what was
# compiled; or how the code was read, so that nobody knows whether it is the same.
Beside = Literal["device", "adapter", "reading"]


class AlertRecord(RecordBase, frozen=True, kw_only=True, tag="alert"):
    """A change of state of one series, told once. Its key is the series' own; its parents are the evidence.

    That it is in the store is the state: a change that is there already is not found again.
    """

    kind: Literal["outcome", "step", "drift"]
    axis: str = ""  # "clock/cache/data" of a time, empty for an outcome
    since: str  # when the first record of the new state was made, UTC
    before: str  # id of the last record of the old state
    after: str  # id of the first record of the new one
    was: str
    now: str
    slower: bool | None = None  # of a time
    ratio: float | None = None  # of the new level to the old one
    interval: tuple[float, float] | None = None  # 95 % of the ratio
    beside: tuple[Beside, ...] = ()  # cannot be told apart from the compiler's own change
    sentence: str


class NoticeRecord(RecordBase, frozen=True, kw_only=True, tag="notice"):
    """An alert was passed on: to a command that somebody configured, or to the log."""

    alert: str  # record id
    channel: str  # the command's program, or "log"
