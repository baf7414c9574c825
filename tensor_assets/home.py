"""The home folder of this account, where there is one."""

from __future__ import annotations

from pathlib import Path


def home() -> Path | None:
    """None for an id without an account and without ``HOME``, as containers run under."""
    try:
        return Path.home()
    except RuntimeError:
        return None
