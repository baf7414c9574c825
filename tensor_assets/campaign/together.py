"""Many cells in one process, side by side as far as this host allows, none in the way of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from typing import TypeVar

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.sessions.preparing import at_once

C = TypeVar("C")
T = TypeVar("T")

# So many processes of this kind are expected on a host: as many runs as dagster.yaml lets have one GPU.
PROCESSES = 4


def side_by_side(
    space: Workspace, cells: Sequence[C], work: Callable[[C], T], together: int = 0
) -> Iterator[tuple[C, T | Exception]]:
    """Each cell with what ``work`` made of it, or what kept it from that, as they end.

    ``together`` of them at once, or this process's share of what fits on the host. Interrupted, or given up by whoever
    listens, it ends the workers of the cells that are being made; nothing is filed of these.
    """
    together = min(len(cells), together or at_once() // PROCESSES)
    if together <= 1:
        yield from ((cell, _tried(work, cell)) for cell in cells)
        return
    with ThreadPoolExecutor(together, thread_name_prefix="cell") as pool:
        jobs = {pool.submit(_tried, work, cell): cell for cell in cells}
        try:
            for job in as_completed(jobs):
                yield jobs[job], job.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            begun = [job for job in jobs if not job.cancelled()]
            while wait(begun, timeout=0.0).not_done:
                space.abandon()  # again: one may just have started a worker
                wait(begun, timeout=1.0)
            raise


def _tried(work: Callable[[C], T], cell: C) -> T | Exception:
    try:
        return work(cell)
    except Exception as error:
        return error
