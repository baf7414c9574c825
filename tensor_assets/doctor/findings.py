"""What a check found: one line, and what mends it."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    """``fail``: something that was asked for cannot run. ``warn``: it runs, with less than there could be."""

    subject: str
    state: State
    message: str
    remedy: str = ""  # a command, or the setting to change; empty where nothing is to be done


def ok(subject: str, message: str) -> Finding:
    return Finding(subject, "ok", message)


def warn(subject: str, message: str, remedy: str = "") -> Finding:
    return Finding(subject, "warn", message, remedy)


def fail(subject: str, message: str, remedy: str = "") -> Finding:
    return Finding(subject, "fail", message, remedy)


def first_line(error: object, limit: int = 300) -> str:
    """What an exception says, as one line of at most ``limit`` characters."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= limit else f"{said[: limit - 1]}…"
