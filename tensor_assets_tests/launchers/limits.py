"""Dagster's two means to limit runs on a GPU, tried in one run: ``python -m tensor_assets_tests.launchers.limits``.

The same runs on a real daemon, one GPU run at a time in each way: as many for the simulated GPU as asked, then one for
the processor, which has nothing to wait for. Prints for each way how long the GPU stood idle between two runs, how
many of them had a process at once, when the run for the processor began, and what the UI says of a run that waits.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tensor_assets_tests.launchers.deployment import Deployment
from tensor_assets_tests.launchers.measure import WORKER

TAGS = [{"key": "tensor_assets/route", "value": "gpu", "limit": 1}]
WAYS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "tag limit": (TAGS, {}),
    "pool, by run": ([], {"pools": {"granularity": "run", "default_limit": 1}}),
    "pool, by step": ([], {"pools": {"granularity": "op", "default_limit": 1}}),
}
WAITING = """
query ($id: ID!) { runOrError(runId: $id) { ... on Run { status hasConcurrencyKeySlots allPools } }
  instance { concurrencyLimits { concurrencyKey slotCount claimedSlots { runId } pendingSteps { runId } }
    runQueueConfig { tagConcurrencyLimitsYaml } } }"""
ACTIVE = ("STARTING", "STARTED")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="For the GPU.")
    parser.add_argument("--seconds", type=float, default=4.0, help="That each of them computes.")
    arguments = parser.parse_args()
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            tried(way, Path(folder), arguments.runs, arguments.seconds)


def tried(way: str, folder: Path, count: int, seconds: float) -> None:
    deployment = Deployment(folder, compilers=("noop_0",), worker=WORKER, workloads=count + 1)
    (deployment.control / "seconds").write_text(str(seconds))
    limit(deployment, way)
    try:
        deployment.start()
        warm = deployment.launch(f"noop_0|{deployment.workloads[-1]}")
        assert deployment.ended(warm) == "SUCCESS", deployment.log(warm)
        runs = [deployment.launch(f"noop_0|{workload}") for workload in deployment.workloads[:-1]]
        apart, asked = deployment.launch("noop_0|affine", target="cpu"), time.time()
        most, said = watched(deployment, [*runs, apart], runs)
        report(way, [deployment.run(run) for run in runs], deployment.run(apart)["startTime"] - asked, most, said)
    finally:
        deployment.stop()


def limit(deployment: Deployment, way: str) -> None:
    """Change the deployment's dagster.yaml; to be called before it starts."""
    path = deployment.home / "dagster.yaml"
    config = yaml.safe_load(path.read_text())
    tag_limits, pools = WAYS[way]
    config["run_coordinator"]["config"]["tag_concurrency_limits"] = tag_limits
    path.write_text(yaml.safe_dump({**config, **({"concurrency": pools} if pools else {})}))


def watched(deployment: Deployment, runs: Sequence[str], limited: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Until all have ended: the most limited ones that had begun at once, and what is told of the last one."""
    most, said, states = 0, {}, ["QUEUED"]
    while not {"QUEUED", *ACTIVE}.isdisjoint(states):
        states = [deployment.run(run)["status"] for run in runs]
        most = max(most, sum(state in ACTIVE for state in states[: len(limited)]))
        if not said and states[len(limited) - 1] == "QUEUED" and "STARTED" in states:
            said = deployment.ask(WAITING, id=limited[-1])
        time.sleep(0.3)
    assert set(states) == {"SUCCESS"}, states
    return most, said


def report(way: str, runs: Sequence[dict[str, Any]], begun: float, most: int, said: dict[str, Any]) -> None:
    ordered = sorted(runs, key=lambda run: run["startTime"])
    gaps = [after["startTime"] - before["endTime"] for before, after in itertools.pairwise(ordered)]
    whole = ordered[-1]["endTime"] - ordered[0]["startTime"]
    print(f"{way}: {len(runs)} runs in {whole:.1f} s, at most {most} with a process at once")
    print(
        f"  from one run's end to the next one's start: median {statistics.median(gaps):.2f} s, worst {max(gaps):.2f}"
    )
    print(f"  the run for the processor began {begun:.1f} s after it was asked for")
    print(f"  told of a run that waits: {said}", flush=True)


if __name__ == "__main__":
    main()
