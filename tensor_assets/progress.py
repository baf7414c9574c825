"""Progress of long work: which compiler, which step, how long. Whoever works announces; whoever shows listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str], None]

_listeners: list[Progress] = []


def announce(step: str) -> None:
    """Tell every listener what happens now."""
    for listener in tuple(_listeners):
        listener(step)


@contextmanager
def listening(listener: Progress) -> Iterator[None]:
    """Have ``listener`` called with each step announced inside the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
