"""What the launcher costs, on this machine, in one run: ``python -m tensor_assets_tests.launchers.measure``.

Simulated device, workers that do nothing, a real code server, daemon and webserver. Prints:

- launch overhead, from the request to the worker's first line, against Dagster's own launcher, alternately;
- idle seconds of the GPU between two runs of one session;
- backfills of cells: wall time, runs, memory; with ``--cells-per-run``, the same backfill for each of several sizes of
  runs, one after the other.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from tensor_assets.defs.cells import CELLS_PER_RUN
from tensor_assets_tests.launchers.deployment import Deployment, cell_tags

WORKER = Path(__file__).with_name("noop_worker.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=7, help="Of each kind, for the overhead.")
    parser.add_argument("--cells", default="10x6", help="Workloads x compilers of the backfill, e.g. 10x6 or 100x10.")
    parser.add_argument("--cells-per-run", type=int, nargs="*", default=[], help="Sizes of runs to compare.")
    arguments = parser.parse_args()
    workloads, compilers = map(int, arguments.cells.split("x"))
    for cells_per_run in arguments.cells_per_run or [CELLS_PER_RUN]:
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {cells_per_run} cells a run", flush=True)
        with (
            tempfile.TemporaryDirectory() as folder,
            running(Path(folder), workloads, compilers, cells_per_run) as deployment,
        ):
            if arguments.launches:
                launches(deployment, arguments.launches)
            backfill(deployment, compilers)


@contextmanager
def running(folder: Path, workloads: int, compilers: int, cells_per_run: int = CELLS_PER_RUN) -> Iterator[Deployment]:
    names = [f"noop_{number}" for number in range(compilers)]
    varied = "tensor_assets_tests.launchers.varied"
    deployment = Deployment(folder, compilers=names, worker=WORKER, workloads=workloads, definitions=varied)
    deployment.environment["VARIED_CELLS_PER_RUN"] = str(cells_per_run)
    try:
        deployment.start()
        yield deployment
    finally:
        deployment.stop()


def launches(deployment: Deployment, count: int) -> None:
    """One cell again and again, to the device and to the processor in turn; the very first of each is apart."""
    waited: dict[str, list[float]] = {"cuda": [], "cpu": []}
    for _ in range(count + 1):
        for target, seconds in waited.items():
            seconds.append(to_first_line(deployment, target))
    ours, dagsters = (statistics.median(waited[target][1:]) for target in waited)
    print(f"request → worker's first line, median of {count}, alternately")
    print(f"  H100RunLauncher, this host    {ours:6.2f} s   first {waited['cuda'][0]:6.2f} s")
    print(f"  Dagster's DefaultRunLauncher  {dagsters:6.2f} s   first {waited['cpu'][0]:6.2f} s")
    print(f"  ratio                         {ours / dagsters:6.2f}", flush=True)


def to_first_line(deployment: Deployment, target: str) -> float:
    note = deployment.control / f"first-line-affine-{target}"
    note.unlink(missing_ok=True)
    began = time.time()
    run = deployment.materialize(
        ("semantic_ir", "selected_plan"), "capture", cell_tags("noop_0|affine"), {"target": target, "force": True}
    )
    assert deployment.ended(run) == "SUCCESS", deployment.log(run)
    return float(note.read_text()) - began


def backfill(deployment: Deployment, compilers: int) -> None:
    cells = [f"noop_{number}|{workload}" for workload in deployment.workloads for number in range(compilers)]
    began, before = time.monotonic(), processor_seconds(deployment)
    with Memory(deployment) as memory:
        made = deployment.backfill(cells)
        state = deployment.backfill_ended(made, patience=36_000)
    wall, after = time.monotonic() - began, processor_seconds(deployment)
    spent = {name: (after[name] - before[name]) / len(cells) for name in after}
    runs = sorted(deployment.runs_of(made), key=lambda run: run["startTime"])
    failed = [run["runId"] for run in runs if run["status"] != "SUCCESS"]
    gaps = idle(runs)
    print(f"backfill of {len(deployment.workloads)} workloads × {compilers} compilers: {state}")
    print(f"  {len(runs)} runs, {len(failed)} failed, load {os.getloadavg()[0]:.1f}")
    print(f"  wall {wall:,.1f} s, {wall / len(cells):.2f} s a cell; processor {sum(spent.values()):.2f} s a cell:")
    there = max(run["endTime"] for run in runs) - min(run["startTime"] for run in runs)
    print(f"  of it from the first run's start to the last one's end {there:,.1f} s, {there / len(cells):.2f} s a cell")
    print("   ", ", ".join(f"{name} {seconds:.2f}" for name, seconds in spent.items()))
    print(f"  no run of the session on the GPU: median {statistics.median(gaps):.2f} s, longest {max(gaps):.2f} s")
    print(f"  memory of daemon, servers and runs: {memory.least / 1e6:,.0f} to {memory.most / 1e6:,.0f} MB")


def idle(runs: Sequence[dict[str, Any]]) -> list[float]:
    """Seconds from the end of one run to the start of the next; 0 where they overlap."""
    until, gaps = runs[0]["endTime"], []
    for run in runs[1:]:
        gaps.append(max(0.0, run["startTime"] - until))
        until = max(until, run["endTime"])
    return gaps


def family(pid: int) -> list[psutil.Process]:
    """The process and all below it."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def processor_seconds(deployment: Deployment) -> dict[str, float]:
    """Used so far, what has ended included: by the runs with their workers, and by each process of the deployment."""
    used = dict.fromkeys(("runs", *deployment.processes), 0.0)
    for name, process in deployment.processes.items():
        for member in family(process.pid):
            with suppress(psutil.NoSuchProcess):
                used[name if member.pid == process.pid else "runs"] += sum(member.cpu_times()[:4])
    return used


class Memory:
    """Proportional set size of everything the deployment runs, looked at every second."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment, self._over = deployment, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.least = self.most = self._now()

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            now = self._now()
            self.least, self.most = min(self.least, now), max(self.most, now)

    def _now(self) -> int:
        total = 0
        for process in (one for root in self._deployment.processes.values() for one in family(root.pid)):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_full_info().pss
        return total


if __name__ == "__main__":
    main()
