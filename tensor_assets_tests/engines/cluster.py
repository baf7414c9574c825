"""A Ray cluster of two nodes on this host, each with one unit of a resource that stands for its GPU."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil

HEAD, OTHER = "127.0.0.1", "127.0.0.2"
ADDRESS = f"http://{HEAD}:8265"
PATIENCE = 600.0  # a busy machine takes minutes where an idle one takes seconds
_TOKEN = "TENSOR_ASSETS_TEST_CLUSTER"
_PATIENT = {
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "180",
    "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "180",
    "RAY_gcs_server_request_timeout_seconds": "180",
    "RAY_USAGE_STATS_ENABLED": "0",
}


class Cluster:
    """For a network of its own: its job server is at Ray's usual address."""

    def __init__(self, python: Path, environment: dict[str, str]) -> None:
        self._python = python
        self._folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short: sockets lie below it
        self._token = secrets.token_hex(8)
        # A job calls `dagster` by its name.
        path = f"{python.parent}{os.pathsep}{environment['PATH']}"
        own = {"RAY_TMPDIR": str(self._folder), "PATH": path, _TOKEN: self._token}
        self._environment = {**environment, **_PATIENT, **own}
        self._nodes: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Ray gives up on its own parts after 30 s, which a busy machine may exceed: then once more."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self._nodes = self._begin()
            assert self._nodes.stdout is not None
            if b"up" in self._nodes.stdout.readline() and self._both_are_there(end):
                return
            self._nodes.kill()
            self._nodes.wait()
        said = (self._folder / "nodes.log").read_text()[-3000:]
        raise AssertionError(f"the cluster was not up in {PATIENCE:.0f} s\n{said}")

    def stop(self) -> list[int]:
        """Returns who was still there after the cluster had been asked to end, and ends them."""
        if self._nodes is not None and self._nodes.stdin is not None:
            self._nodes.stdin.close()
        psutil.wait_procs(self._members(), timeout=60)
        left = self._members()
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if self._nodes is not None:
            self._nodes.wait()
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

    def ended(self, run: str) -> dict[str, Any]:
        """The run's job once Ray knows that it has ended, a little after the run itself."""
        end = time.monotonic() + PATIENCE
        while (job := self.job(run))["status"] in ("PENDING", "RUNNING") and time.monotonic() < end:
            time.sleep(0.2)
        return job

    def _begin(self) -> subprocess.Popen[bytes]:
        program = Path(__file__).with_name("nodes.py")
        with (self._folder / "nodes.log").open("wb") as log:
            return subprocess.Popen(
                [self._python, program, HEAD, OTHER, "H100"],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def _both_are_there(self, end: float) -> bool:
        """As the job server sees it."""
        while time.monotonic() < end:
            with contextlib.suppress(OSError, KeyError, ValueError):
                if len(self.nodes()) == 2:
                    return True
            time.sleep(0.2)
        return False

    def _members(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if _environ(process).get(_TOKEN) == self._token]


def _environ(process: psutil.Process) -> dict[str, str]:
    try:
        return dict(process.environ())
    except (psutil.Error, OSError):
        return {}
