"""Prints the adversary table: ``python -m tensor_assets_tests.adversary.table --seeds 50``. Fails on any fault."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

# One thread for each process: the matrices are small. Read when NumPy is first imported, here and in the processes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tensor_assets_tests.adversary.matrix import Trial, examine, workloads

INSPECTED = ("inspect", "matrix_inspect")
TAIL_SEEDS = 2
Task = tuple[str, str, int]  # workload, shape, seed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, help="at inspect and matrix_inspect each")
    parser.add_argument("--tail-seeds", type=int, default=TAIL_SEEDS, help="at tail, on its last 64 rows")
    parser.add_argument("--workload", action="append", choices=sorted(workloads()), help="all of them by default")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args(arguments)
    started = time.monotonic()
    names = chosen.workload or list(workloads())
    trials = list(_run(list(_tasks(names, chosen.seeds, chosen.tail_seeds)), chosen.processes))
    print("\n".join(table(trials)))
    print(f"\n{len(trials):,} trials in {time.monotonic() - started:,.0f} s on {chosen.processes} processes")
    return 1 if any(trial.fault for trial in trials) else 0


def table(trials: Iterable[Trial]) -> Iterator[str]:
    """The lines: right compilers, wrong ones, where those are equivalent and why, and every kind of fault once."""
    by_compiler: dict[bool, dict[str, list[Trial]]] = {True: defaultdict(list), False: defaultdict(list)}
    for trial in trials:
        by_compiler[trial.right][trial.compiler].append(trial)
    yield f"{'right compiler':36}{'workloads':>10}{'trials':>8}{'admitted':>10}{'rejected':>10}"
    for name, found in by_compiler[True].items():
        yield f"{name:36}{_workloads(found):10}{_counts(found, '', 'admitted', 'rejected')}"
    yield ""
    yield f"{'wrong compiler':36}{'workloads':>10}{'trials':>8}{'caught':>10}{'misnamed':>10}{'admitted':>10}"
    for name, found in by_compiler[False].items():
        counted = [trial for trial in found if trial.finding != "equivalent"]
        yield f"{name:36}{_workloads(counted):10}{_counts(counted, '', 'caught', 'misnamed', 'admitted')}"
    yield ""
    yield from _equivalents(by_compiler[False])
    yield ""
    yield from _faults([trial for kind in by_compiler.values() for found in kind.values() for trial in found])


def _tasks(names: Sequence[str], seeds: int, tail_seeds: int) -> Iterator[Task]:
    """The long ones first."""
    yield from ((name, "tail", seed) for seed in range(tail_seeds) for name in names)
    yield from ((name, shape, seed) for seed in range(seeds) for shape in INSPECTED for name in names)


def _run(tasks: Sequence[Task], processes: int) -> Iterator[Trial]:
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for done, trials in enumerate(pool.map(_trials, tasks), start=1):
            if sys.stderr.isatty():
                print(f"\r{done} of {len(tasks)}", end="", file=sys.stderr, flush=True)
            yield from trials


def _trials(task: Task) -> list[Trial]:
    return list(examine(*task))


def _workloads(found: Sequence[Trial]) -> int:
    return len({trial.workload for trial in found})


def _counts(found: Sequence[Trial], *findings: str) -> str:
    counted = Counter(trial.finding for trial in found)
    numbers = [len(found) if finding == "" else counted[finding] for finding in findings]
    return f"{numbers[0]:8,}" + "".join(f"{number:10,}" for number in numbers[1:])


def _equivalents(compilers: dict[str, list[Trial]]) -> Iterator[str]:
    yield "equivalent to the contract, and not counted (each was tried too, and admitted)"
    for name, found in compilers.items():
        proofs: dict[str, dict[str, None]] = defaultdict(dict)
        for trial in found:
            if trial.finding == "equivalent":
                proofs[trial.said][trial.workload] = None
        for proof, names in proofs.items():
            yield f"  {name}: {proof} ({', '.join(names)})"


def _faults(trials: Sequence[Trial]) -> Iterator[str]:
    faults = [trial for trial in trials if trial.fault]
    yield f"{len(faults)} faults"
    shown: Counter[tuple[str, str, str]] = Counter()
    for trial in faults:
        kind = (trial.compiler, trial.workload, trial.finding)
        shown[kind] += 1
        if shown[kind] == 1:
            where = f"{trial.workload} ({trial.shape}, seed {trial.seed})"
            yield f"  {trial.compiler} on {where} {trial.finding}: {trial.said}"


if __name__ == "__main__":
    sys.exit(main())
