"""How a device activity is called in words: by the number that every page gives it."""

from __future__ import annotations


def activity(launch: int) -> str:
    """``launch`` is an index into ``Plan.launches``; words count from 1, so that the first is ``activity 1``."""
    return f"activity {launch + 1}"
