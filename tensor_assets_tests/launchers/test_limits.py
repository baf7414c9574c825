"""What the queue of dagster.yaml lets run beside each other, on a real instance with a real daemon."""

import pytest

from tensor_assets_tests.launchers.deployment import ROOT, Deployment, instance_config

pytestmark = [pytest.mark.instance]

SESSION = {"tensor_assets/session": "crowded"}
CELLS = [f"toy_a|{name}" for name in ("gated_projections", "norm_projection", "output_scale", "rmsnorm", "weight_view")]


def test_runs_wait_for_the_gpu_and_those_without_one_for_nothing(deployment: Deployment, tmp_path):
    limits = instance_config(["H100"], tmp_path)["run_coordinator"]["config"]["tag_concurrency_limits"]
    assert {limit["limit"] for limit in limits} == {4}, f"this test counts on the limits of {ROOT / 'dagster.yaml'}"
    for cell in CELLS:
        deployment.behave(cell, "linger")
    running = [deployment.launch(cell, tags=SESSION) for cell in CELLS[:4]]
    for cell in CELLS[:4]:
        deployment.pids(cell)
    waiting = deployment.launch(CELLS[4], tags=SESSION)
    assert deployment.ended(deployment.launch("toy_b|gemm", target="cpu")) == "SUCCESS"
    assert deployment.run(waiting)["status"] == "QUEUED"
    deployment.good(CELLS[0])
    deployment.pids(CELLS[4])
    for cell in CELLS:
        deployment.good(cell)
    assert {deployment.ended(run) for run in (*running, waiting)} == {"SUCCESS"}
