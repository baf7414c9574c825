"""One lease for the whole host: shared while compiling, exclusive while timing.

Locks are ``flock``s on open files, so the kernel frees them however a holder ends. Every process of this host that
sees the same folder takes part, whichever Dagster instance, user or checkout it belongs to.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec

from tensor_assets.errors import StoreUnwritable
from tensor_assets.progress import announce

POLL_SECONDS = 0.2
NAME = "tensor_assets"


class Holder(msgspec.Struct, frozen=True):
    """Who holds the lease, as they told it when they took it."""

    pid: int
    mode: str  # "shared" or "exclusive"
    purpose: str
    since: float  # Unix time

    def __str__(self) -> str:
        return f"{self.purpose} (process {self.pid}, {self.mode}, for {max(0.0, time.time() - self.since):.0f} s)"


class Lease:
    """Use as ``with Lease().exclusive("timing weight_view"): …``. Waits as long as it takes and says for whom.

    ``wanted`` is called while it waits, and once it need not; it raises where nobody wants the lease any more.
    """

    def __init__(self, folder: Path | None = None, wanted: Callable[[], None] = lambda: None) -> None:
        self.folder, self._wanted = folder or default_folder(), wanted

    @contextmanager
    def shared(self, purpose: str, tell: Callable[[str], None] = announce) -> Iterator[None]:
        """Held together with other shared holders; never while anybody holds it exclusively."""
        with self._held("shared", purpose, tell):
            yield

    @contextmanager
    def exclusive(self, purpose: str, tell: Callable[[str], None] = announce) -> Iterator[None]:
        """Held alone. Whoever waits for it lets no newcomer in, so compilations cannot starve a timing."""
        with self._held("exclusive", purpose, tell):
            yield

    def holders(self) -> tuple[Holder, ...]:
        """Who holds the lease now; the notes of holders that died are removed."""
        found = [_read_holder(path) for path in sorted(self.folder.glob("holder-*.json"))]
        return tuple(sorted((one for one in found if one is not None), key=lambda one: one.since))

    @contextmanager
    def _held(self, mode: str, purpose: str, tell: Callable[[str], None]) -> Iterator[None]:
        prepare(self.folder)
        kind = fcntl.LOCK_SH if mode == "shared" else fcntl.LOCK_EX
        with open_lock(self.folder / "gate") as gate, open_lock(self.folder / "lease") as lease:
            # The gate is a turnstile: passed by everyone, kept by an exclusive waiter until its turn has come.
            self._wait(gate, fcntl.LOCK_EX, purpose, tell)
            self._wait(lease, kind, purpose, tell)
            fcntl.flock(gate, fcntl.LOCK_UN)
            with self.noted(Holder(os.getpid(), mode, purpose, time.time())):
                yield

    def _wait(self, file: IO[bytes], kind: int, purpose: str, tell: Callable[[str], None]) -> None:
        told: frozenset[int] = frozenset()
        while not try_lock(file, kind):
            self._wanted()
            holders = self.holders()
            now = frozenset(holder.pid for holder in holders)
            if now - told:
                tell(f"{purpose} waits for this host's lease: {'; '.join(map(str, holders))}")
                told = now
            time.sleep(POLL_SECONDS)
        self._wanted()

    @contextmanager
    def noted(self, holder: Holder) -> Iterator[None]:
        """Have the holder listed for the time of the block, and no longer than this process lives."""
        # Locked and written before it carries a name that readers look for: no live note is taken for a dead one.
        with ExitStack() as stack:
            with _usable_folder(self.folder):
                note = stack.enter_context(tempfile.NamedTemporaryFile(prefix="draft-", dir=self.folder, delete=False))
                draft = Path(note.name)
                stack.callback(draft.unlink, missing_ok=True)
                fcntl.flock(note, fcntl.LOCK_EX)
                note.write(msgspec.json.encode(holder))
                note.flush()
                draft.chmod(0o644)
                name = draft.rename(self.folder / f"holder-{draft.name}.json")
            stack.callback(name.unlink, missing_ok=True)
            yield


def default_folder() -> Path:
    """``TENSOR_ASSETS_LEASE``, else one in the host's lock folder, else in its temporary one (never a user's own)."""
    if named := os.environ.get("TENSOR_ASSETS_LEASE"):
        return Path(named)
    shared = (parent / NAME for parent in (Path("/run/lock"), Path("/var/lock")))
    return next((folder for folder in shared if _usable(folder)), Path(tempfile.gettempdir()) / NAME)


def _usable(folder: Path) -> bool:
    """Whether it is there for everyone, or can be made."""
    return os.access(folder if folder.exists() else folder.parent, os.W_OK)


def prepare(folder: Path) -> None:
    with _usable_folder(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):  # another user made it, already open to everyone
            folder.chmod(0o1777)


def open_lock(path: Path) -> IO[bytes]:
    """A lock needs no write access, so any user's file serves every user, whatever that user's umask."""
    with _usable_folder(path.parent):
        with suppress(FileNotFoundError):
            return path.open("rb")
        with suppress(FileExistsError):  # another process was faster
            made = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
            os.fchmod(made, 0o644)
            return os.fdopen(made, "rb")
        return path.open("rb")


@contextmanager
def _usable_folder(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = error.filename or folder
        raise StoreUnwritable(
            f"lease folder {folder}: {what}: {error.strerror}; name another folder in TENSOR_ASSETS_LEASE"
        ) from None


def try_lock(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_holder(path: Path) -> Holder | None:
    with suppress(OSError, msgspec.DecodeError), path.open("rb") as note:
        if try_lock(note, fcntl.LOCK_SH):  # nobody holds the note: its writer is gone
            path.unlink(missing_ok=True)
            return None
        return msgspec.json.decode(note.read(), type=Holder)
    return None
