"""Processes that die at the worst moment, on a real instance with a real daemon and a simulated device."""

import os
import signal

import pytest

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CaptureRecord
from tensor_assets_tests.launchers.deployment import Deployment, alive

pytestmark = [pytest.mark.instance]

SIMULATED = "simulated NVIDIA H100 80GB HBM3"


def captures(deployment: Deployment) -> dict[str, tuple[str, CaptureRecord]]:
    """The latest capture of every cell on the device: its id and itself."""
    found = EvidenceStore(str(deployment.store)).records(CaptureRecord)
    return {f"{r.key.compiler}|{r.key.workload}": (id, r) for id, r in found if r.key.target == SIMULATED}


def outcome(deployment: Deployment, cell: str) -> str:
    return captures(deployment)[cell][1].outcome.status


def test_a_launch_from_the_ui_carries_no_tags_and_is_routed(deployment):
    run = deployment.launch("toy_b|two_layer")
    assert deployment.ended(run) == "SUCCESS"
    tags = deployment.run(run)["tags"]
    assert (tags["tensor_assets/route"], tags["tensor_assets/device"]) == ("gpu", "GPU-one")
    assert tags["tensor_assets/session"] == run
    _, record = captures(deployment)["toy_b|two_layer"]
    assert record.allocation.simulated
    assert (record.allocation.device, record.allocation.lease) == (SIMULATED, run)
    assert record.provenance.command[:3] == ("dagster", "api", "execute_run")


def test_a_run_for_the_processor_goes_to_the_default_launcher(deployment):
    run = deployment.launch("toy_a|gemm", target="cpu")
    assert deployment.ended(run) == "SUCCESS"
    tags = deployment.run(run)["tags"]
    assert tags["tensor_assets/route"] == "default"
    assert "tensor_assets/device" not in tags


def test_kill_9_of_a_worker(deployment, witness):
    deployment.behave("toy_a|bias", "hang")
    run = deployment.launch("toy_a|bias")
    (worker,) = deployment.pids("toy_a|bias")
    deployment.good("toy_a|bias")
    os.kill(worker, signal.SIGKILL)
    assert deployment.ended(run) == "SUCCESS"
    assert outcome(deployment, "toy_a|bias") == "crashed"
    assert "SIGKILL" in captures(deployment)["toy_a|bias"][1].outcome.reason
    witness("kill -9 of a worker", "outcome crashed, the run goes on", "nothing")


def test_kill_9_of_a_workers_child(deployment, witness):
    deployment.behave("toy_b|bias", "hang_with_child")
    run = deployment.launch("toy_b|bias")
    worker, child = deployment.pids("toy_b|bias")
    deployment.good("toy_b|bias")
    os.kill(child, signal.SIGKILL)
    assert deployment.ended(run) == "SUCCESS"
    assert outcome(deployment, "toy_b|bias") == "crashed"
    assert not alive(worker)
    witness("kill -9 of a worker's child", "outcome crashed, as its compiler said", "nothing")


NEIGHBOURS = ["toy_a|public_projection", "toy_a|relu", "toy_a|residual"]  # of one run, in its order


def test_kill_9_of_a_run_in_a_backfill(deployment, witness):
    cells = [*NEIGHBOURS, "toy_b|relu"]
    deployment.behave("toy_a|relu", "hang_with_child")
    backfill = deployment.backfill(cells)
    left = deployment.pids("toy_a|relu")
    (running,) = [run["runId"] for run in deployment.runs_of(backfill) if NEIGHBOURS[0] in run["tags"].values()]
    done = captures(deployment)[NEIGHBOURS[0]][0]
    os.kill(deployment.process_of(running), signal.SIGKILL)
    deployment.good("toy_a|relu")
    assert deployment.ended(running) == "FAILURE"
    assert "is gone" in deployment.log(running)
    assert deployment.backfill_ended(backfill) == "COMPLETED_SUCCESS"
    deployment.wait_for(lambda: not any(map(alive, left)), "the end of the killed run's worker and its child")

    after = captures(deployment)
    assert after[NEIGHBOURS[0]][0] == done, "what was made before is found, not made again"
    runs = deployment.runs_of(backfill)
    assert sorted(run["status"] for run in runs) == ["FAILURE", "SUCCESS", "SUCCESS"]
    assert {run["tags"]["tensor_assets/session"] for run in runs} == {f"backfill-{backfill}"}
    assert len({after[cell][1].allocation.id for cell in cells}) == 1
    witness(
        "kill -9 of a run in a backfill",
        "failed by the monitor; other runs go on; repeated once, for what is missing",
        "nothing",
    )


def test_a_cell_that_kills_every_run_it_is_in(deployment, witness):
    cells = ["toy_b|norm_projection", "toy_b|output_scale", "toy_b|projection_chain"]
    deployment.behave("toy_b|output_scale", "kill_run")
    backfill = deployment.backfill(cells)
    assert deployment.backfill_ended(backfill, patience=300) == "COMPLETED_FAILED"
    assert [run["status"] for run in deployment.runs_of(backfill)] == ["FAILURE"] * 2
    assert [cell for cell in cells if cell not in captures(deployment)] == ["toy_b|output_scale"]
    deployment.good("toy_b|output_scale")
    assert deployment.ended(deployment.launch("toy_b|output_scale")) == "SUCCESS"
    witness("a cell that kills every run it is in", "its run is repeated once, from the other end", "that cell")


def test_termination_from_the_ui(deployment, witness):
    deployment.behave("toy_a|softmax", "hang_with_child")
    run = deployment.launch("toy_a|softmax")
    left = deployment.pids("toy_a|softmax")
    deployment.good("toy_a|softmax")
    deployment.terminate(run)
    assert deployment.ended(run) == "CANCELED"
    deployment.wait_for(lambda: not any(map(alive, left)), "the end of the worker and its child")
    assert "toy_a|softmax" not in captures(deployment)
    witness("SIGTERM from the UI", "cancelled; worker and child ended", "that cell, made by the next run")


def test_a_worker_that_ignores_sigterm(deployment, witness):
    deployment.behave("toy_b|softmax", "hang_deaf")
    run = deployment.launch("toy_b|softmax")
    left = deployment.pids("toy_b|softmax")
    deployment.good("toy_b|softmax")
    deployment.terminate(run)
    assert deployment.ended(run) == "CANCELED"
    deployment.wait_for(lambda: not any(map(alive, left)), "the end of the worker")
    witness(
        "a worker that ignores SIGTERM", "cancelled; killed after a grace of 2 s", "that cell, made by the next run"
    )


def test_kill_9_of_the_daemon_in_the_middle_of_a_backfill(deployment, witness):
    cells = ["toy_a|affine", "toy_b|affine"]
    for cell in cells:
        deployment.behave(cell, "linger")
    backfill = deployment.backfill(cells)
    first = deployment.wait_for(
        lambda: next((c for c in cells if (deployment.control / f"{c}.pids").exists()), ""), "a worker"
    )
    deployment.kill("daemon")
    for cell in cells:
        deployment.good(cell)
    deployment.wait_for(lambda: first in captures(deployment), "the end of the run that was there")
    deployment.begin("daemon")
    assert deployment.backfill_ended(backfill) == "COMPLETED_SUCCESS"
    assert set(cells) <= set(captures(deployment))
    witness("kill -9 of the daemon in a backfill", "its run ends; the next daemon launches the rest", "nothing")


def test_kill_9_of_the_webserver(deployment, witness):
    deployment.behave("toy_a|affine_relu", "linger")
    run = deployment.launch("toy_a|affine_relu")
    deployment.pids("toy_a|affine_relu")
    deployment.kill("webserver")
    deployment.good("toy_a|affine_relu")
    deployment.begin("webserver")
    deployment.wait_for(deployment.answers, "the webserver's answer")
    assert deployment.ended(run) == "SUCCESS"
    witness("kill -9 of the webserver", "the run does not notice", "nothing")


def test_two_daemons_on_one_instance(deployment, witness):
    deployment.begin("daemon2")
    try:
        runs = [deployment.launch(f"toy_{name}|{workload}") for name in "ab" for workload in ("gemm", "input_scale")]
        assert {deployment.ended(run) for run in runs} == {"SUCCESS"}
        assert [deployment.log(run).count("Started process for run") for run in runs] == [1] * 4
    finally:
        deployment.kill("daemon2")
    witness("two daemons on one instance", "every run is launched once", "nothing")
