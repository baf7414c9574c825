"""A real `dagster dev`, driven over GraphQL as the UI drives it: one cell, its record, checks and metadata."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.instance, pytest.mark.compilers]

ROOT = Path(__file__).resolve().parents[2]
CELL = "tinygrad|weight_view"

LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
    ... on RunConfigValidationInvalid { errors { message } }
  }
}"""
STATUS = "query S($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
MATERIALIZED = """
query M($key: AssetKeyInput!, $partitions: [String!]) {
  assetNodeOrError(assetKey: $key) {
    ... on AssetNode {
      description groupName kinds
      assetMaterializations(partitions: $partitions, limit: 1) {
        metadataEntries {
          label ... on TextMetadataEntry { text } ... on TableMetadataEntry { table { records } }
        }
      }
      assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization {
        status evaluation { success severity description } } } } }
    }
  }
}"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Dagster:
    """`tensor-assets ui` in its own session, on its own instance and store."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        environment = {
            **os.environ,
            "DAGSTER_HOME": str(folder / "home"),
            "TENSOR_ASSETS_STORE": str(folder / "store"),
            "TENSOR_ASSETS_SITE": str(folder / "site"),
        }
        self.log = (folder / "dagster.log").open("w")
        command = [str(Path(sys.executable).with_name("tensor-assets")), "ui", "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, env=environment, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def ask(self, query: str, **variables: object) -> dict:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def ready(self, deadline: float = 120) -> None:
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            try:
                self.ask("{ version }")
            except OSError:
                time.sleep(0.5)
            else:
                return
        raise AssertionError(f"dagster dev was not up in {deadline} s: {Path(self.log.name).read_text()[-2000:]}")

    def finished(self, run: str, deadline: float = 600) -> str:
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            status = self.ask(STATUS, id=run)["runOrError"]["status"]
            if status in ("SUCCESS", "FAILURE", "CANCELED"):
                return status
            time.sleep(1)
        raise AssertionError(f"run {run} did not end in {deadline} s")

    def stop(self) -> list[int]:
        """SIGINT, as Ctrl-C gives it; returns who of its session was still there half a minute later, and ends them."""
        self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(60)
        end = time.monotonic() + 120  # the code server finishes its shutdown after its parent has gone
        while (left := self._members()) and time.monotonic() < end:
            time.sleep(0.5)
        if left:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.log.close()
        return left

    def _members(self) -> list[int]:
        return [p.pid for p in psutil.process_iter() if _session(p.pid) == self.process.pid]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


@pytest.fixture(scope="module")
def dagster(tmp_path_factory):
    running = Dagster(tmp_path_factory.mktemp("dagster"))
    try:
        running.ready()
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


def launch(dagster: Dagster, selection: list[str], tags: dict[str, str], config: dict) -> str:
    answer = dagster.ask(
        LAUNCH,
        params={
            "selector": {
                "repositoryLocationName": "tensor_assets",
                "repositoryName": "__repository__",
                "jobName": "__ASSET_JOB",
                "assetSelection": [{"path": [name]} for name in selection],
            },
            "runConfigData": {"ops": config},
            "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        },
    )["launchPipelineExecution"]
    assert answer["__typename"] == "LaunchRunSuccess", answer
    return answer["run"]["runId"]


def cell_tags() -> dict[str, str]:
    compiler, workload = CELL.split("|")
    return {
        "dagster/partition": CELL,
        "dagster/partition/compiler": compiler,
        "dagster/partition/workload": workload,
    }


def test_one_cell_from_the_ui(dagster):
    run = launch(
        dagster,
        ["semantic_ir", "selected_plan"],
        cell_tags(),
        {"capture": {"config": {"shape": "matrix_inspect", "target": "cpu"}}},
    )
    assert dagster.finished(run) == "SUCCESS"
    node = dagster.ask(MATERIALIZED, key={"path": ["selected_plan"]}, partitions=[CELL])["assetNodeOrError"]
    entries = {entry["label"]: entry for entry in node["assetMaterializations"][0]["metadataEntries"]}
    assert entries["outcome"]["text"] == "ok"
    assert len(entries["record"]["text"]) == len("sha256:") + 64
    assert len(entries["kernels"]["table"]["records"]) == 1
    assert node["groupName"] == "understand"
    checks = {c["name"]: c["executionForLatestMaterialization"] for c in node["assetChecksOrError"]["checks"]}
    assert set(checks) == {"outcome", "admission"}


def test_stopping_leaves_no_process(dagster):
    assert dagster.stop() == []
