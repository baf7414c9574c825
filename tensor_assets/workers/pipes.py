"""Lines to and from a worker, each with a deadline and a bound: no worker can make the orchestrator wait or swell."""

from __future__ import annotations

import os
import select
import time


class TooLong(Exception):
    """More bytes than allowed came before the end of a reply."""


class Ended(Exception):
    """The other end is closed."""


class LinePipes:
    """Writes lines to one file descriptor, reads lines from another; both become non-blocking and are owned."""

    def __init__(self, writing: int, reading: int) -> None:
        self._writing, self._reading = writing, reading
        self._buffer = bytearray()
        for fd in (writing, reading):
            os.set_blocking(fd, False)

    def write_line(self, line: bytes, until: float) -> None:
        """Raises Ended, or TimeoutError when ``until`` (monotonic seconds) passes first."""
        data = memoryview(line + b"\n")
        while data:
            _wait(self._writing, select.POLLOUT, until)
            try:
                data = data[os.write(self._writing, data) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise Ended from None

    def read_line(self, until: float, limit: int) -> bytes:
        """One line without its end. Raises Ended, TooLong beyond ``limit`` bytes, TimeoutError."""
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                return line
            searched = len(self._buffer)
            if searched > limit:
                raise TooLong
            self._fill(until)

    def close_writing(self) -> None:
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    def close(self) -> None:
        self.close_writing()
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1

    def _fill(self, until: float) -> None:
        _wait(self._reading, select.POLLIN, until)
        try:
            chunk = os.read(self._reading, 1 << 20)
        except BlockingIOError:
            return
        if not chunk:
            raise Ended
        self._buffer += chunk


def _wait(fd: int, event: int, until: float) -> None:
    if fd < 0:
        raise Ended
    poll = select.poll()
    poll.register(fd, event)
    left = until - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError
