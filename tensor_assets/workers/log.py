"""Keeps a worker's stderr in a file, bounded: a compiler that floods its log must not fill the disk."""

from __future__ import annotations

import os
import threading
from collections import deque
from pathlib import Path

HEAD_BYTES = 8 * 1024 * 1024
TAIL_BYTES = 1024 * 1024
_CHUNK = 65536


class LogPump:
    """Copies ``fd`` into ``path`` until its end: the first 8 MiB as they come, of the rest the last MiB."""

    def __init__(self, fd: int, path: Path) -> None:
        self._fd, self._path = fd, path
        self._thread = threading.Thread(target=self._pump, name="worker log", daemon=True)
        self._thread.start()

    def finish(self, seconds: float = 5.0) -> None:
        """Wait until everything written so far is in the file."""
        self._thread.join(seconds)

    def _pump(self) -> None:
        try:
            self._write()
        except OSError:  # a full disk: the worker must not wait for a reader that is gone
            while os.read(self._fd, _CHUNK):
                pass
        os.close(self._fd)

    def _write(self) -> None:
        with self._path.open("ab", buffering=0) as file:
            room = HEAD_BYTES
            while room > 0 and (chunk := os.read(self._fd, min(_CHUNK, room))):
                room -= file.write(chunk)
            tail, dropped = self._tail()
            if dropped:
                file.write(f"\n[{dropped} bytes of the log dropped here]\n".encode())
            file.write(tail)

    def _tail(self) -> tuple[bytes, int]:
        chunks: deque[bytes] = deque()
        kept = dropped = 0
        while chunk := os.read(self._fd, _CHUNK):
            chunks.append(chunk)
            kept += len(chunk)
            while kept - len(chunks[0]) >= TAIL_BYTES:
                dropped += len(chunks[0])
                kept -= len(chunks.popleft())
        return b"".join(chunks), dropped
