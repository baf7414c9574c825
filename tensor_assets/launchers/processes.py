"""The process of a run, named so that any other process of its host can tell whether it still lives."""

from __future__ import annotations

import os
import signal
import socket

import msgspec
import psutil

from tensor_assets.sessions.allocation import boot_id


class ProcessNote(msgspec.Struct, frozen=True, kw_only=True):
    """A process id comes round again; with its start time and the host's boot it does not."""

    host: str
    boot: str
    pid: int
    started: float  # Unix time, as the kernel has it

    @classmethod
    def of(cls, pid: int, started: float) -> ProcessNote:
        """A process of this host, now."""
        return cls(host=socket.gethostname(), boot=boot_id(), pid=pid, started=started)

    @classmethod
    def mine(cls) -> ProcessNote:
        return cls.of(os.getpid(), psutil.Process().create_time())

    @classmethod
    def read(cls, text: str) -> ProcessNote | None:
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError:
            return None

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def here(self) -> bool:
        """Whether this host can tell: another one, or a container with names of its own, cannot."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        if self.boot != boot_id():
            return False
        try:
            process = psutil.Process(self.pid)
            return bool(abs(process.create_time() - self.started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    def interrupt(self) -> bool:
        """As Ctrl-C does; the run records itself as cancelled. False if there is nobody to interrupt."""
        if not self.here or not self.alive:
            return False
        try:
            os.kill(self.pid, signal.SIGINT)
        except ProcessLookupError:  # it has just ended
            return False
        return True
