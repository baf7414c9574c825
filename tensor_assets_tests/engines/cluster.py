"""A Ray cluster of two nodes on this host, each with one unit of a resource that stands for its GPU."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil

HEAD, OTHER = "127.0.0.1", "127.0.0.2"
ADDRESS = f"http://{HEAD}:8265"
PATIENCE = 240.0
_TOKEN = "TENSOR_ASSETS_TEST_CLUSTER"
_PATIENT = {
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "180",
    "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "180",
    "RAY_gcs_server_request_timeout_seconds": "180",
    "RAY_USAGE_STATS_ENABLED": "0",
}


class Cluster:
    """For a network of its own: ports are Ray's usual ones."""

    def __init__(self, python: Path, environment: dict[str, str]) -> None:
        self._ray = python.with_name("ray")
        self._folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short: sockets lie below it
        self._token = secrets.token_hex(8)
        self._environment = {**environment, **_PATIENT, _TOKEN: self._token}
        self._nodes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        head = ("--head", "--port", "6379", "--dashboard-host", HEAD, "--dashboard-port", "8265")
        self._up(HEAD, *head, "--temp-dir", str(self._folder))
        self._up(OTHER, "--address", f"{HEAD}:6379", "--dashboard-agent-listen-port", "52366")

    def stop(self) -> list[int]:
        """Returns who was still there after both nodes had been asked to end, and ends them."""
        for node in self._nodes:
            node.send_signal(signal.SIGTERM)
        psutil.wait_procs(self._members(), timeout=20)
        left = self._members()
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for node in self._nodes:
            node.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        return [process.pid for process in left]

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(f"{ADDRESS}{path}", timeout=30) as response:
            return json.load(response)

    def nodes(self) -> list[dict[str, Any]]:
        found = self.ask("/api/v0/nodes")["data"]["result"]["result"]
        return [node for node in found if node["state"] == "ALIVE"]

    def job(self, run: str) -> dict[str, Any]:
        """What Ray knows of the run's job, with the address of the node that has it."""
        (found,) = [job for job in self.ask("/api/jobs/") if job["submission_id"] == f"dagster-run-{run}"]
        addresses = {node["node_id"]: node["node_ip"] for node in self.nodes()}
        return {**found, "node": addresses.get(found["driver_node_id"])}

    def _up(self, address: str, *options: str) -> None:
        """Start a node and wait for it. Ray gives up on its own parts after 30 s, which a busy machine may exceed."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            node = self._begin(address, *options)
            while node.poll() is None and time.monotonic() < end:
                with contextlib.suppress(OSError, KeyError, ValueError):
                    if address in [one["node_ip"] for one in self.nodes()]:
                        return
                time.sleep(0.2)
        said = (self._folder / f"{address}.log").read_text()[-1500:]
        raise AssertionError(f"the node {address} was not up in {PATIENCE:.0f} s\n{said}")

    def _begin(self, address: str, *options: str) -> subprocess.Popen[bytes]:
        command = [self._ray, "start", "--block", "--node-ip-address", address, "--num-cpus", "2", "--num-gpus", "0"]
        command += ["--resources", json.dumps({"H100": 1}), "--object-store-memory", "80000000", *options]
        with (self._folder / f"{address}.log").open("wb") as log:
            node = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log, start_new_session=True)
        self._nodes.append(node)
        return node

    def _members(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if _environ(process).get(_TOKEN) == self._token]


def _environ(process: psutil.Process) -> dict[str, str]:
    try:
        return dict(process.environ())
    except (psutil.Error, OSError):
        return {}
