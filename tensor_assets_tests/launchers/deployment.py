"""A real instance as people deploy one: code server, daemon and webserver, each a process that can be killed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import yaml
from dagster import DagsterInstance

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "tensor_assets_tests" / "workers" / "adapters" / "numpy_reference"
TOY = Path(__file__).with_name("toy")
PATIENCE = 120.0  # seconds that a slow machine may take for what takes one

H100 = {"name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-one", "driver": "580.159.04", "memory_gib": 80}
H200 = {"name": "NVIDIA H200", "uuid": "GPU-two", "driver": "580.159.04", "memory_gib": 141}

LAUNCH = """
mutation ($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
  ... on RunConfigValidationInvalid { errors { message } } } }"""
BACKFILL = """
mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
TERMINATE = """
mutation ($id: String!) { terminateRun(runId: $id) { __typename ... on PythonError { message }
  ... on TerminateRunFailure { message } } }"""
RUN = """
query ($id: ID!) { runOrError(runId: $id) { ... on Run { status tags { key value } startTime endTime } } }"""
RUNS = """
query ($filter: RunsFilter) { runsOrError(filter: $filter) { ... on Runs {
  results { runId status tags { key value } startTime endTime } } } }"""
LOGS = """
query ($id: ID!) { logsForRun(runId: $id, limit: 1000) { ... on EventConnection { events {
  ... on MessageEvent { message } ... on ErrorEvent { error { message cause { message } } } } } } }"""
STATE = "query ($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"


class Deployment:
    """One instance below ``folder``, its devices simulated; workers are toys (see toy/adapter.py), or ``worker``.

    ``workloads`` adds so many programs, named w000 and on, to the checkout's. ``definitions`` is the module of them.
    """

    def __init__(
        self,
        folder: Path,
        compilers: Sequence[str] = ("toy_a", "toy_b"),
        devices: Sequence[dict[str, Any]] = (H100,),
        accelerators: Sequence[str] = ("H100",),
        store: Path | None = None,
        lease: Path | None = None,
        worker: Path | None = None,
        workloads: int = 0,
        definitions: str = "tensor_assets.definitions",
    ) -> None:
        self.folder, self.home = folder, folder / "home"
        self.store, self.control = store or folder / "store", folder / "control"
        self.inventory, self.lease = folder / "inventory.json", lease or folder / "lease"
        for path in (self.home, self.control, folder / "packed", folder / "workloads"):
            path.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.plug(*devices)
        make_adapters(folder / "adapters", compilers, self.control)
        self.workloads = make_workloads(folder / "workloads", workloads)
        (folder / "packed" / "packed.json").write_text(json.dumps({name: [] for name in compilers}))
        (self.home / "dagster.yaml").write_text(yaml.safe_dump(instance_config(accelerators, self.inventory)))
        socket_path = folder / "code.sock"
        located = {"socket": str(socket_path), "host": "localhost", "location_name": "tensor_assets"}
        self.workspace = folder / "workspace.yaml"
        self.workspace.write_text(yaml.safe_dump({"load_from": [{"grpc_server": located}]}))
        self.code_command = ("api", "grpc", "-m", definitions, "--socket", str(socket_path))
        self.code_command += ("--location-name", "tensor_assets")
        self.environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}:{ROOT}/adapters/worker",
            "DAGSTER_HOME": str(self.home),
            "DAGSTER_GRPC_TIMEOUT_SECONDS": "180",
            "TENSOR_ASSETS_ADAPTERS": str(folder / "adapters"),
            "TENSOR_ASSETS_CACHE": str(folder / "cache"),
            "TENSOR_ASSETS_LEASE": str(self.lease),
            "TENSOR_ASSETS_PACKED": str(folder / "packed"),
            "TENSOR_ASSETS_SITE": str(folder / "site"),
            "TENSOR_ASSETS_STORE": str(self.store),
            "TENSOR_ASSETS_TARGET": "cuda",
            "TENSOR_ASSETS_WORKLOADS": str(folder / "workloads"),
            **({"TOY_WORKER": str(worker)} if worker else {}),
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    # Its processes

    def start(self) -> None:
        # Processes that make one instance's databases at the same time fail each other.
        with DagsterInstance.from_config(str(self.home)) as instance:
            assert instance.schedule_storage is not None
        for name in ("code", "webserver", "daemon"):
            self.begin(name)
        self.wait_for(self.answers, "the webserver's answer")

    def begin(self, name: str) -> None:
        commands: dict[str, tuple[str, ...]] = {
            "code": ("-m", "dagster", *self.code_command),
            "webserver": (
                "-m",
                "dagster_webserver",
                "-h",
                "127.0.0.1",
                "-p",
                str(self.port),
                "-w",
                str(self.workspace),
            ),
            "daemon": ("-m", "dagster._daemon", "run", "-w", str(self.workspace)),
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *commands[name.rstrip("0123456789")]],
                env=self.environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def answers(self) -> bool:
        try:
            nodes = self.ask("{ assetNodes { assetKey { path } } }")["assetNodes"]
        except OSError:
            return False
        return bool(nodes)

    # What people do in the UI

    def ask(self, query: str, **variables: object) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def launch(self, cell: str, target: str = "", tags: dict[str, str] | None = None) -> str:
        """One cell's capture, as the UI launches a partition: its tags are the partition's and no others."""
        config = {"target": target} if target else {}
        return self.materialize(("semantic_ir", "selected_plan"), "capture", cell_tags(cell) | (tags or {}), config)

    def materialize(
        self, assets: Sequence[str], op: str, tags: dict[str, str], config: dict[str, Any] | None = None
    ) -> str:
        answer = self.ask(
            LAUNCH,
            params={
                "selector": {
                    "repositoryLocationName": "tensor_assets",
                    "repositoryName": "__repository__",
                    "jobName": "__ASSET_JOB",
                    "assetSelection": [{"path": [name]} for name in assets],
                },
                "runConfigData": {"ops": {op: {"config": {"shape": "matrix_inspect", **(config or {})}}}},
                "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
            },
        )["launchPipelineExecution"]
        assert answer["__typename"] == "LaunchRunSuccess", answer
        return answer["run"]["runId"]

    def backfill(
        self,
        cells: Sequence[str],
        tags: dict[str, str] | None = None,
        assets: Sequence[str] = ("semantic_ir", "selected_plan"),
        op: str = "capture",
        config: dict[str, Any] | None = None,
    ) -> str:
        answer = self.ask(
            BACKFILL,
            params={
                "partitionNames": list(cells),
                "assetSelection": [{"path": [name]} for name in assets],
                "tags": [{"key": key, "value": value} for key, value in (tags or {}).items()],
                "runConfigData": {"ops": {op: {"config": {"shape": "matrix_inspect", **(config or {})}}}},
            },
        )["launchPartitionBackfill"]
        assert answer["__typename"] == "LaunchBackfillSuccess", answer
        return answer["backfillId"]

    def terminate(self, run: str) -> None:
        answer = self.ask(TERMINATE, id=run)["terminateRun"]
        assert answer["__typename"] == "TerminateRunSuccess", answer

    # What they see there

    def run(self, run: str) -> dict[str, Any]:
        found = self.ask(RUN, id=run)["runOrError"]
        return {**found, "tags": {tag["key"]: tag["value"] for tag in found["tags"]}}

    def runs_of(self, backfill: str) -> list[dict[str, Any]]:
        tags = [{"key": "dagster/backfill", "value": backfill}]
        found = self.ask(RUNS, filter={"tags": tags})["runsOrError"]["results"]
        return [{**one, "tags": {tag["key"]: tag["value"] for tag in one["tags"]}} for one in found]

    def log(self, run: str) -> str:
        events = self.ask(LOGS, id=run)["logsForRun"]["events"]
        errors = [event["error"] for event in events if event.get("error")]
        causes = [error["cause"]["message"] for error in errors if error.get("cause")]
        return "\n".join(
            [event["message"] for event in events if event.get("message")] + [e["message"] for e in errors] + causes
        )

    def ended(self, run: str, patience: float = PATIENCE) -> str:
        final = ("SUCCESS", "FAILURE", "CANCELED")
        return self.wait_for(
            lambda: status if (status := self.run(run)["status"]) in final else "", f"the end of run {run}", patience
        )

    def backfill_ended(self, backfill: str, patience: float = PATIENCE) -> str:
        def state() -> str:
            found = self.ask(STATE, id=backfill)["partitionBackfillOrError"]["status"]
            return found if found.startswith("COMPLETED") or found in ("FAILED", "CANCELED") else ""

        return self.wait_for(state, f"the end of backfill {backfill}", patience, every=1.0)

    def wait_for(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE, every: float = 0.2) -> Any:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if found := condition():
                    return found
            time.sleep(every)
        logs = "\n".join(path.read_text()[-1500:] for path in sorted(self.folder.glob("*.log")))
        raise AssertionError(f"{what} did not come in {patience:.0f} s\n{logs}")

    # What happens to it

    def plug(self, *devices: dict[str, Any], boot_id: str = "") -> None:
        """From now on these are the host's devices."""
        draft = self.inventory.with_suffix(".new")
        draft.write_text(json.dumps({"devices": devices, "boot_id": boot_id}))
        draft.replace(self.inventory)

    def behave(self, cell: str, how: str) -> None:
        """Have the cell's next worker misbehave."""
        (self.control / f"{cell}.pids").unlink(missing_ok=True)
        (self.control / cell).write_text(how)

    def good(self, cell: str) -> None:
        (self.control / cell).unlink(missing_ok=True)

    def pids(self, cell: str) -> list[int]:
        """The misbehaving worker, then its child if it has one."""
        path = self.control / f"{cell}.pids"
        self.wait_for(path.exists, f"the worker of {cell}")
        return [int(part) for part in path.read_text().split()]

    def process_of(self, run: str) -> int:
        """The run's own process, as its tag has it."""
        told = self.wait_for(lambda: self.run(run)["tags"].get("tensor_assets/process"), f"the process of run {run}")
        return int(json.loads(told)["pid"])


def instance_config(accelerators: Sequence[str], inventory: Path) -> dict[str, Any]:
    """The checkout's own dagster.yaml, with a policy, simulated devices and a quicker look at what died."""
    config = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    config["run_launcher"]["config"] = {
        "policy": {"accelerators": list(accelerators)},
        "inventory": str(inventory),
    }
    config["run_monitoring"]["poll_interval_seconds"] = 2
    return config


def make_adapters(folder: Path, names: Sequence[str], control: Path) -> None:
    for name in names:
        path = folder / name
        path.mkdir(parents=True)
        shutil.copyfile(REFERENCE / "adapter.py", path / "reference.py")
        shutil.copyfile(REFERENCE / "interpret.py", path / "interpret.py")
        shutil.copyfile(TOY / "adapter.py", path / "adapter.py")
        (path / "requirements.lock").write_text("numpy==2.4.6\n")
        about = {"name": name, "title": name, "colour": "#777777", "package": "numpy", "targets": ["cpu", "cuda"]}
        more = {"variables": {"TOY_CONTROL": str(control)}, "worker_variable": "TOY_WORKER"}
        (path / "adapter.json").write_text(json.dumps({**about, **more}))


def make_workloads(folder: Path, count: int) -> list[str]:
    """Programs of the checkout again, under other names; none is the gate."""
    sources = sorted(path for path in (ROOT / "fixtures" / "workloads").glob("*.json") if path.stem != "gemm")
    names = [f"w{number:03}" for number in range(count)]
    for name, source in zip(names, itertools.cycle(sources), strict=False):
        (folder / f"{name}.json").write_text(json.dumps({**json.loads(source.read_text()), "workload": name}))
    return names


def cell_tags(cell: str) -> dict[str, str]:
    """A partition's, as the UI gives them."""
    compiler, workload = cell.split("|")
    return {
        "dagster/partition": cell,
        "dagster/partition/compiler": compiler,
        "dagster/partition/workload": workload,
    }


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
