"""A real Ray cluster of two nodes behind the launcher: where a run lands, how it ends, what is left of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest
import yaml

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CaptureRecord
from tensor_assets.sessions.gpu_lease import GpuLease
from tensor_assets_tests.engines.cluster import ADDRESS, HEAD, OTHER, PATIENCE, Cluster
from tensor_assets_tests.engines.conftest import Image
from tensor_assets_tests.engines.namespace import loopback_only
from tensor_assets_tests.launchers.deployment import H100, Deployment, alive

pytestmark = [pytest.mark.instance, pytest.mark.timeout(1800)]

# What is captured once is not captured again, so each test has a cell of its own.
CELL, LOST, ENDED = "toy_a|weight_view", "toy_a|bias", "toy_b|weight_view"
SHARED = ("DAGSTER_HOME", "PYTHONPATH")  # with every TENSOR_ASSETS_… variable, what a run needs wherever it lands


class RayDeployment(Deployment):
    """The usual deployment, of the image's Python; its GPU runs are Ray jobs with one unit of H100."""

    def __init__(self, folder: Path, image: Image) -> None:
        super().__init__(folder)
        self._python = str(image.python)
        shared = [name for name in self.environment if name in SHARED or name.startswith("TENSOR_ASSETS_")]
        config = yaml.safe_load((self.home / "dagster.yaml").read_text())
        config["run_launcher"]["config"]["gpu"] = {
            "module": "dagster_ray",
            "class": "RayRunLauncher",
            "config": {"ray": {"address": ADDRESS, "num_cpus": 1, "resources": {"H100": 1}, "env_vars": shared}},
        }
        (self.home / "dagster.yaml").write_text(yaml.safe_dump(config))

    def begin(self, name: str) -> None:
        with patch.object(sys, "executable", self._python):
            super().begin(name)

    def wait_for(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
        return super().wait_for(condition, what, patience)

    def lease_is_free(self) -> bool:
        return GpuLease(H100["uuid"], self.lease).state().free

    def captures(self) -> list[CaptureRecord]:
        return [record for _, record in EvidenceStore(self.store).records(CaptureRecord)]


@pytest.fixture(scope="module")
def running(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RayDeployment, Cluster]]:
    """Everything in a network of its own, this process with it: Ray listens on all addresses."""
    with loopback_only():
        deployment = RayDeployment(tmp_path_factory.mktemp("ray"), image)
        cluster = Cluster(image.python, image.environment)
        try:
            cluster.start()
            deployment.start()
            yield deployment, cluster
        finally:
            deployment.stop()
            left = cluster.stop()
    assert left == []


@pytest.fixture
def ray(running: tuple[RayDeployment, Cluster]) -> RayDeployment:
    deployment, _ = running
    for cell in (CELL, LOST, ENDED):
        deployment.good(cell)
    return deployment


def pinned(node: str, session: str) -> dict[str, str]:
    resources = {"H100": 1, f"node:{node}": 0.001}
    return {"dagster-ray/config": json.dumps({"resources": resources}), "tensor_assets/session": session}


def driver_of(run: str) -> psutil.Process | None:
    """The process that Ray started for the run."""
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if "execute_run" in command and any(run in word for word in command):
            return process
    return None


def test_a_cell_runs_as_a_ray_job_on_the_node_that_its_session_names(ray, running):
    _, cluster = running
    assert {node["node_ip"] for node in cluster.nodes()} == {HEAD, OTHER}
    run = ray.launch(CELL, tags=pinned(OTHER, "pinned"))
    assert ray.ended(run) == "SUCCESS", ray.log(run)
    job, tags = cluster.ended(run), ray.run(run)["tags"]
    assert (job["status"], job["node"]) == ("SUCCEEDED", OTHER)
    assert (tags["tensor_assets/route"], tags["tensor_assets/device"]) == ("gpu", H100["uuid"])
    (capture,) = ray.captures()
    assert capture.outcome.status == "ok"
    assert capture.key.target == f"simulated {H100['name']}"
    assert ray.lease_is_free()


def test_a_job_that_dies_before_its_run_starts_is_reported_as_that(ray):
    run = ray.launch(CELL)
    driver = ray.wait_for(lambda: driver_of(run), "the run's process")
    driver.suspend()  # so that it cannot start while it is looked at
    assert ray.run(run)["status"] == "STARTING"
    driver.kill()
    assert ray.ended(run) == "FAILURE"
    assert "The run's worker died before the run started: Ray job failed" in ray.log(run)
    assert "timed out" not in ray.log(run)
    assert ray.lease_is_free()


def test_a_job_that_dies_in_the_middle_fails_its_run_and_leaves_nothing(ray):
    before = len(ray.captures())
    ray.behave(LOST, "hang")
    run = ray.launch(LOST)
    (worker,) = ray.pids(LOST)
    assert not ray.lease_is_free()
    psutil.Process(ray.process_of(run)).kill()
    assert ray.ended(run) == "FAILURE"
    assert "Ray job" in ray.log(run)
    ray.wait_for(lambda: not alive(worker), "the end of its worker")
    ray.wait_for(ray.lease_is_free, "a free lease")
    assert len(ray.captures()) == before


def test_what_was_lost_is_made_by_the_next_run(ray):
    """Without a node named, wherever Ray has the accelerator."""
    before = len(ray.captures())
    run = ray.launch(LOST)
    assert ray.ended(run) == "SUCCESS", ray.log(run)
    assert len(ray.captures()) == before + 1


def test_ending_a_run_from_the_ui_ends_its_job_and_every_descendant(ray, running):
    _, cluster = running
    ray.behave(ENDED, "hang_with_child")
    run = ray.launch(ENDED, tags={"tensor_assets/session": "ended"})
    worker, child = ray.pids(ENDED)
    ray.terminate(run)
    assert ray.ended(run) == "CANCELED"
    ray.wait_for(lambda: not alive(worker) and not alive(child), "the end of its worker and that one's child")
    ray.wait_for(ray.lease_is_free, "a free lease")
    assert cluster.ended(run)["status"] == "STOPPED"
