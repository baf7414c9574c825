"""Many cells in one process, side by side as far as this host allows, none in the way of another."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Generator, Hashable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from typing import TypeVar

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.progress import announce
from tensor_assets.sessions.preparing import at_once

C = TypeVar("C", bound=Hashable)
T = TypeVar("T")

# So many processes of this kind are expected on a host: as many runs as dagster.yaml lets have one GPU.
PROCESSES = 4
POLL_SECONDS = 0.2


def side_by_side(
    space: Workspace,
    cells: Sequence[C],
    work: Callable[[C], T],
    together: int = 0,
    after: Callable[[C], C | None] = lambda _: None,
) -> Generator[tuple[C, T | Exception], None, None]:
    """Each cell with what ``work`` made of it, or what kept it from that, as they end.

    ``together`` of them at once, or this process's share of what fits on the host. A cell begins when the one that
    ``after`` names, an earlier one of ``cells``, has ended. Interrupted, or given up by whoever listens, it ends the
    workers of the cells that are being made; nothing is filed of these.
    """
    together = min(len(cells), together or at_once() // PROCESSES)
    if together <= 1:
        yield from ((cell, _tried(work, cell)) for cell in cells)
        return
    behind: defaultdict[C | None, list[C]] = defaultdict(list)
    for cell in cells:
        behind[after(cell)].append(cell)
    jobs: dict[Future[T | Exception], C] = {}
    under_way: set[C] = set()

    def made(cell: C) -> T | Exception:
        under_way.add(cell)
        try:
            return _tried(work, cell)
        finally:
            under_way.discard(cell)

    with ThreadPoolExecutor(together, thread_name_prefix="cell") as pool:
        try:
            jobs |= {pool.submit(made, cell): cell for cell in behind[None]}
            running = set(jobs)
            while running:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for job in ended:
                    begun = {pool.submit(made, cell): cell for cell in behind[jobs[job]]}
                    jobs |= begun
                    running |= begun.keys()
                    yield jobs[job], job.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            _give_up(space, under_way)
            raise


def all_of(
    space: Workspace,
    cells: Sequence[C],
    work: Callable[[C], T],
    together: int = 0,
    after: Callable[[C], C | None] = lambda _: None,
) -> dict[C, T]:
    """As ``side_by_side``, in the order of ``cells``. Raises what kept one from being made; the others are given up."""
    found = {}
    with closing(side_by_side(space, cells, work, together, after)) as made:
        for cell, result in made:
            if isinstance(result, Exception):
                raise result
            found[cell] = result
    return {cell: found[cell] for cell in cells}


def _tried(work: Callable[[C], T], cell: C) -> T | Exception:
    try:
        return work(cell)
    except Exception as error:
        return error


def _give_up(space: Workspace, under_way: AbstractSet[C]) -> None:
    """End the workers of those that are under way, and wait for these. Threads take from ``under_way`` meanwhile."""
    if stopped := tuple(under_way):
        announce(f"stopping: {', '.join(map(str, stopped))}; what is finished is kept")
    space.abandon()
    while under_way:
        time.sleep(POLL_SECONDS)
        space.abandon()  # again: one may just have started a worker
