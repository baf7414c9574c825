"""A real instance on a host with a GPU: ``python -m tensor_assets_tests.launchers.on_device FOLDER``.

First with a policy that does not allow this GPU, which must refuse it by name; then with one that does, which must make
``weight_view`` for every compiler (captures, a timing session, benchmarks) on one allocation. Prints both, exits with 1
if either is not so. FOLDER keeps the instance, its logs and its store.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from tensor_assets.errors import DeviceRefused
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Allocation
from tensor_assets.sessions.inventory import open_gpu
from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets_tests.launchers.deployment import ROOT, Deployment, cell_tags

WORKLOAD = "weight_view"
CONFIG = {"target": "cuda", "shape": ""}
SESSION = {"tensor_assets/session": "on-device"}
PATIENCE = 540.0  # seconds for a backfill that compiles


class OnDevice(Deployment):
    """The checkout's own compilers and ``dagster.yaml``, and whatever GPU is there."""

    def __init__(self, folder: Path, policy: Sequence[str]) -> None:
        super().__init__(folder, compilers=())
        self.allow(policy)
        for name in ("TENSOR_ASSETS_ADAPTERS", "TENSOR_ASSETS_PACKED", "TENSOR_ASSETS_WORKLOADS"):
            self.environment.pop(name)
            if name in os.environ:
                self.environment[name] = os.environ[name]
        self.environment["PYTHONPATH"] += f":{os.environ.get('PYTHONPATH', '')}"

    def allow(self, policy: Sequence[str]) -> None:
        """The daemon, which launches, must be started anew."""
        config = yaml.safe_load((ROOT / "dagster.yaml").read_text())
        config["run_launcher"]["config"] = {"policy": {"accelerators": list(policy)}}
        (self.home / "dagster.yaml").write_text(yaml.safe_dump(config))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--refused", nargs="+", default=["H100"], help="A policy that this GPU does not meet.")
    parser.add_argument("--allowed", nargs="+", default=["H100", "H200"], help="One that it does meet.")
    chosen = parser.parse_args()
    try:
        with open_gpu() as gpu:
            device = gpu.name
    except DeviceRefused as refusal:
        sys.exit(f"{refusal}")
    deployment = OnDevice(chosen.folder.resolve(), chosen.refused)
    try:
        deployment.start()
        refused = _refused(deployment, chosen.refused, device)
        deployment.kill("daemon")
        deployment.allow(chosen.allowed)
        deployment.begin("daemon")
        made = _made(deployment, chosen.allowed)
    finally:
        deployment.stop()
    return 0 if refused and made else 1


def _refused(deployment: OnDevice, policy: Sequence[str], device: str) -> bool:
    run = deployment.launch(f"{_compilers()[0]}|{WORKLOAD}", "cuda")
    status, log = deployment.ended(run), deployment.log(run)
    told = [line for line in log.splitlines() if device in line]
    print(f"policy {' or '.join(policy)} on {device}: {status}")
    print("\n".join(f"  {line}" for line in dict.fromkeys(told)), flush=True)
    return status == "FAILURE" and bool(told)


def _made(deployment: OnDevice, policy: Sequence[str]) -> bool:
    print(f"policy {' or '.join(policy)}: {WORKLOAD} by {', '.join(_compilers())}")
    fine = True
    for what, step in {"captures": _captures, "timing session": _session, "benchmarks": _benchmarks}.items():
        began = time.monotonic()
        states = step(deployment)
        fine &= all(state in ("COMPLETED_SUCCESS", "SUCCESS") for state in states)
        print(f"  {what}: {', '.join(states)} after {time.monotonic() - began:.1f} s", flush=True)
    return _one_allocation(EvidenceStore(deployment.store)) and fine


def _captures(deployment: OnDevice) -> list[str]:
    cells = [f"{compiler}|{WORKLOAD}" for compiler in _compilers()]
    made = deployment.backfill(cells, SESSION, config=CONFIG)
    return [deployment.backfill_ended(made, PATIENCE)]


def _session(deployment: OnDevice) -> list[str]:
    tags = {"dagster/partition": WORKLOAD, **SESSION}
    run = deployment.materialize(("timing_session",), "timing_session", tags, CONFIG)
    return [deployment.ended(run, PATIENCE)]


def _benchmarks(deployment: OnDevice) -> list[str]:
    """As runs of one cell each: a backfill waits for the daemon's next tick."""
    tags = [cell_tags(f"{compiler}|{WORKLOAD}") | SESSION for compiler in _compilers()]
    runs = [deployment.materialize(("benchmark",), "benchmark", one, CONFIG) for one in tags]
    return [deployment.ended(run, PATIENCE) for run in runs]


def _one_allocation(store: EvidenceStore) -> bool:
    """Prints whose records name which allocation; whether it is one, and every record that has a device names it."""
    found: set[str] = set()
    for _, record in store.records():
        allocation: Allocation | None = getattr(record, "allocation", None)
        if allocation is None:
            continue
        found.add(allocation.id)
        kind, key = type(record).__name__, record.key
        what = f"{kind:18} {key.compiler:10} {key.variant:16} {record.outcome.status:12}"
        print(f"    {what} {allocation.device} {allocation.id}")
    print(f"  {len(found)} allocation{'' if len(found) == 1 else 's'}")
    return len(found) == 1


def _compilers() -> list[str]:
    """Those that can run on a device."""
    return [name for name, adapter in discover(load_settings().adapters).items() if "cuda" in adapter.targets]


if __name__ == "__main__":
    sys.exit(main())
