"""One physical GPU for one session: shared by that session's runs, refused to every other one while any of them lives.

A run holds a ``flock``, which the kernel frees however the run ends; a file beside it says which session that is.
Between a launcher's choice and the run's first breath nobody can hold it, so the file also carries a reservation, which
lapses by itself.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from tensor_assets.errors import LeaseDamaged, StoreUnwritable
from tensor_assets.progress import announce
from tensor_assets.sessions.allocation import boot_id
from tensor_assets.sessions.lease import POLL_SECONDS, Holder, Lease, default_folder, open_lock, prepare, try_lock

# From the launch of a run to its first line: importing Dagster and the definitions from a cold disk, on a busy host.
RESERVED_SECONDS = 180.0
_PREFIX = "gpu-"


class Session(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose a GPU is."""

    name: str
    run: str  # the run that it was reserved for, or that took it first
    boot_id: str  # of the host: whatever was written before a restart is void
    reserved_until: float = 0.0  # Unix time; 0 once a run has taken it


class Leased(msgspec.Struct, frozen=True, kw_only=True):
    """How the lease of one GPU stands."""

    session: Session | None
    holders: tuple[Holder, ...]
    damaged: str = ""  # what is wrong with the session's file

    @property
    def free(self) -> bool:
        return self.session is None and not self.holders and not self.damaged

    def __str__(self) -> str:
        if self.damaged:
            return f"unreadable ({self.damaged})"
        if self.session is None:
            return "free"
        if not self.holders:
            left = max(0.0, self.session.reserved_until - time.time())
            return f"reserved for session {self.session.name} (run {self.session.run}) for another {left:.0f} s"
        return f"session {self.session.name}: {'; '.join(map(str, self.holders))}"


def leased_uuids(folder: Path | None = None) -> tuple[str, ...]:
    """The GPUs that are leased now, whether or not they are still there."""
    found = (folder or default_folder()).glob(f"{_PREFIX}*")
    uuids = sorted(path.name.removeprefix(_PREFIX) for path in found)
    return tuple(uuid for uuid in uuids if not GpuLease(uuid, folder).state().free)


class GpuLease:
    """The lease of the GPU with this UUID on this host, whichever Dagster instance, user or checkout asks."""

    def __init__(self, uuid: str, folder: Path | None = None) -> None:
        self.uuid = uuid
        self.folder = (folder or default_folder()) / f"{_PREFIX}{uuid.replace('/', '-')}"
        self._file = self.folder / "session.json"
        self._notes = Lease(self.folder)

    def state(self) -> Leased:
        """Who has it now."""
        if not self.folder.is_dir():
            return Leased(session=None, holders=())
        with self._gate():
            return self._state()

    def reserve(self, session: str, run: str, seconds: float = RESERVED_SECONDS) -> bool:
        """Keep it for a run that is about to start; False if another session has it. Raises LeaseDamaged.

        ``seconds``: at most RESERVED_SECONDS.
        """
        with self._gate():
            now = self._readable()
            if now.session is not None and now.session.name != session:
                return False
            if not now.holders:
                self._write(session, run, time.time() + seconds)
            return True

    def release(self, run: str) -> None:
        """Give back what was reserved for a run that never took it."""
        if not self.folder.is_dir():
            return
        with self._gate():
            now = self._state()
            if now.session is not None and now.session.run == run and not now.holders:
                self._void()

    @contextmanager
    def held(self, session: str, run: str, purpose: str, tell: Callable[[str], None] = announce) -> Iterator[None]:
        """Hold it for one run of ``session``; waits as long as another session has it, and says for whom.

        Raises LeaseDamaged.
        """
        with ExitStack() as held:
            held.callback(self._tidy)  # runs last, when the lock is open again
            told = ""
            while (busy := self._taken(session, run, held)) is not None:
                if told != (told := str(busy.session)):
                    tell(f"{purpose} waits for {self.uuid}: {busy}")
                time.sleep(POLL_SECONDS)
            with self._notes.noted(Holder(os.getpid(), "shared", purpose, time.time())):
                yield

    def _taken(self, session: str, run: str, held: ExitStack) -> Leased | None:
        """None once it is ours until ``held`` closes; otherwise how it stands."""
        with self._gate():
            now = self._readable()
            if now.session is not None and now.session.name != session:
                return now
            lock = held.enter_context(open_lock(self.folder / "lease"))
            try_lock(lock, fcntl.LOCK_SH)  # alone with the gate: nobody holds it exclusively
            self._write(session, run, 0.0)
            return None

    def _tidy(self) -> None:
        """Whoever gives up waiting leaves another session's reservation alone."""
        with self._gate():
            if not self._is_held() and self._state().session is None:
                self._void()

    def _void(self) -> None:
        try:
            self._file.unlink(missing_ok=True)
        except PermissionError:  # another user's, in a folder where only owners remove files
            _overwrite(self._file, b"")

    def _readable(self) -> Leased:
        now = self._state()
        if now.damaged:
            raise LeaseDamaged(
                f"{self._file}: {now.damaged}, so it cannot be told which session has {self.uuid}; once no run "
                f"uses the GPU (`tensor-assets devices` lists them), remove the file"
            )
        return now

    def _state(self) -> Leased:
        """Read under the gate. What nobody holds or has reserved is nobody's, whatever the file says."""
        held, holders = self._is_held(), self._notes.holders()
        try:
            session = msgspec.json.decode(self._file.read_bytes(), type=Session)
        except FileNotFoundError:
            session = None
            if held:
                return Leased(session=None, holders=holders, damaged="it is missing")
        except (OSError, msgspec.DecodeError) as error:
            # Not held: void anyway, and the next session writes it anew.
            return Leased(session=None, holders=holders, damaged=str(error) if held else "")
        if held:
            return Leased(session=session, holders=holders)
        # One that is longer than any was made before the clock was set back, and would last for as long as that was.
        left = session.reserved_until - time.time() if session is not None and session.boot_id == boot_id() else 0.0
        reserved = 0.0 < left < RESERVED_SECONDS + 1.0
        return Leased(session=session if reserved else None, holders=())

    def _is_held(self) -> bool:
        with open_lock(self.folder / "lease") as lock:
            return not try_lock(lock, fcntl.LOCK_EX)

    @contextmanager
    def _gate(self) -> Iterator[None]:
        """Everything is read and changed by one process at a time, for microseconds."""
        prepare(self.folder)
        with open_lock(self.folder / "gate") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield

    def _write(self, session: str, run: str, until: float) -> None:
        draft = self._file.with_name(f"session-{os.getpid()}.new")
        content = Session(name=session, run=run, boot_id=boot_id(), reserved_until=until)
        try:
            draft.write_bytes(msgspec.json.encode(content))
            draft.chmod(0o666)
            try:
                draft.replace(self._file)
            except PermissionError:  # what another user's killed run left, in a folder where only owners replace files
                _overwrite(self._file, draft.read_bytes())
                draft.unlink()
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StoreUnwritable(
                f"lease file {self._file}: {error.strerror}; name another folder in TENSOR_ASSETS_LEASE"
            ) from None


def _overwrite(file: Path, content: bytes) -> None:
    """In place: any user may write the file, and the kernel refuses to open it for creation."""
    with file.open("r+b") as opened:
        opened.truncate()
        opened.write(content)
