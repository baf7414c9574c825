"""Before the clock starts: every process is started, compiles, tells its plan and runs once; many at a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event
from typing import NamedTuple

import psutil
from tensor_worker.messages import Compile, GetPlan, Run
from tensor_worker.program import Program

from tensor_assets.progress import announce
from tensor_assets.records import Outcome
from tensor_assets.sessions.participants import Contender, Participant
from tensor_assets.workers.failure import WorkerFailed

# A compiler at work was seen to need up to 3.5 GiB (MAX from cold); what is more is left to the others on this host.
COMPILE_BYTES = 4 << 30
CONTAINER = Path("/sys/fs/cgroup")
# Left free when another process is about to join: below this the kernel starts to kill.
RESERVE_BYTES = 1 << 30


def enlist(contenders: Sequence[Contender], processes: int, folder: Path) -> list[Participant]:
    """``processes`` participants of every contender, first replicates first: what runs out of memory is a late one.

    Contenders of one configuration (its snapshot's, and fresh searches of it) share one numbering of replicates.
    """
    most = max((contender.processes or processes for contender in contenders), default=0)
    turns = [c for turn in range(most) for c in contenders if turn < (c.processes or processes)]
    seen: Counter[str] = Counter()
    participants = []
    for index, contender in enumerate(turns):
        participants.append(Participant(index, contender, seen[contender.label], folder / f"process-{index}"))
        seen[contender.label] += 1
    return participants


class Start(NamedTuple):
    """What every participant is started with."""

    program: Program
    target: str
    search: Path  # inputs that a search may see
    first: Path  # inputs of the first run


def prepare(participants: Sequence[Participant], start: Start, stack: ExitStack, together: int = 0) -> None:
    """Start and compile all of them, ``together`` or as many as cores and memory allow. Trouble becomes their outcome.

    Workers end with ``stack``. An interrupt here ends those that are compiling and starts no others.
    """
    abandoned = Event()
    with ThreadPoolExecutor(together or at_once(), thread_name_prefix="prepare") as pool:
        jobs = [pool.submit(_prepare, one, start, stack, abandoned) for one in participants]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            abandoned.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for one in participants:
                if one.worker:
                    one.worker.close(orderly=False)
            raise


def at_once() -> int:
    """How many compilations fit on this host now."""
    return max(1, min(len(os.sched_getaffinity(0)), int(free_bytes() / COMPILE_BYTES)))


def free_bytes() -> int:
    """Memory that a new process can have: what the host has left, or its container if that is less."""
    available = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):  # no limit ("max"), or no such interface
        limit, used = (int((CONTAINER / f"memory.{name}").read_text()) for name in ("max", "current"))
        return min(available, limit - used + _cached_bytes())
    return available


def _cached_bytes() -> int:
    """Of what the container uses, the files that the kernel keeps only as long as nobody needs the room."""
    for line in (CONTAINER / "memory.stat").read_text().splitlines():
        name, _, size = line.partition(" ")
        if name == "inactive_file":
            return int(size)
    return 0


def _prepare(one: Participant, start: Start, stack: ExitStack, abandoned: Event) -> None:
    announce(f"{start.program.workload}: preparing {one.contender.label}, process {one.replicate + 1}")
    if free_bytes() < RESERVE_BYTES:
        one.outcome = Outcome(status="unavailable", reason="not enough free memory for another process of the session")
        return
    one.folder.mkdir(parents=True)
    try:
        one.worker = stack.enter_context(one.contender.start(one.folder))
        if not abandoned.is_set():
            _compile(one, start)
    except WorkerFailed as failure:
        one.outcome = failure.outcome


def _compile(one: Participant, start: Start) -> None:
    dump = one.folder / "session-dump"
    dump.mkdir()
    request = Compile(
        program=start.program,
        variant=one.contender.variant,
        target="cpu" if start.target == "cpu" else "cuda",
        inputs=str(start.search),
        dump_dir=str(dump),
        capture=False,
    )
    one.asked.ask(request)
    one.fingerprint = one.asked.ask(GetPlan()).fingerprint
    one.first_seconds = one.asked.ask(Run(inputs=str(start.first), outputs=str(one.folder / "first.npz"))).seconds


def pin(participants: Sequence[Participant]) -> int:
    """Put the main thread of every worker on one and the same core, helper threads left free. Returns the core.

    Only one of them runs at a time, and a shared core took the difference between identical processes from up to
    27 % to under 2 % (H200 host). After the first run, or thread pools would be sized for one core.
    """
    core = max(os.sched_getaffinity(0))
    for one in participants:
        with suppress(ProcessLookupError, psutil.NoSuchProcess):  # its next request tells
            os.sched_setaffinity(one.asked.pid, {core})
            one.core = core
            one.threads = psutil.Process(one.asked.pid).num_threads()
    return core
