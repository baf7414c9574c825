"""Ctrl-C, and what a batch system sends in its place: the first one stops the work, no other one disturbs its end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable() -> Iterator[None]:
    """For the main thread: the first of ``SIGNALS`` raises KeyboardInterrupt, those after it do nothing.

    One that this process was started to ignore, as a shell does for what it puts into the background, stays ignored.
    """
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            # Who was stopped says so and ends; a late one must not turn that into an end by a signal.
            signal.signal(number, signal.SIG_IGN if stopped else handler)
