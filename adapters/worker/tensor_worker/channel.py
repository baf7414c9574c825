"""The two pipes of a worker, kept apart from everything that a compiler prints or reads."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import BinaryIO

import msgspec

from tensor_worker.messages import Reply, Request

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Request)


class NotARequest(Exception):
    """A line that is no request of the protocol."""


class Channel:
    """Requests in, replies out. A thread reads ahead and sees the end of stdin while the main thread compiles."""

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests, self._replies = requests, replies
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    @classmethod
    def of_process(cls) -> Channel:
        """The process's own stdin and stdout; from now on fd 0 reads nothing and fd 1 writes to the log (stderr)."""
        requests = os.fdopen(os.dup(0), "rb")
        replies = os.fdopen(os.dup(1), "wb", buffering=0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        sys.stdout.flush()
        os.dup2(2, 1)
        return cls(requests, replies)

    def receive(self) -> Request:
        """The next request, waited for. Raises NotARequest."""
        line = self._lines.get()
        try:
            return _DECODER.decode(line)
        except msgspec.DecodeError as error:
            raise NotARequest(f"not a request of this protocol: {error}") from None

    def send(self, reply: Reply) -> None:
        # One write after another until the pipe has taken all: a raw file may take less than it was given.
        data = memoryview(_ENCODER.encode(reply) + b"\n")
        while data:
            data = data[self._replies.write(data) :]

    def _read(self) -> None:
        for line in self._requests:
            self._lines.put(line)
        end_with_parent()


def end_with_parent() -> None:
    """Nobody listens any more: end now, whatever the main thread is doing, and take the compiler's children along."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
