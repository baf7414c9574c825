"""Devices, disks and leases that fail under a run, on a real instance with a real daemon and a simulated device."""

import os
import shutil
import signal
import threading

import pytest

from tensor_assets.evidence.verification import verify
from tensor_assets.sessions.gpu_lease import GpuLease
from tensor_assets_tests.launchers.deployment import H100, H200, Deployment

pytestmark = [pytest.mark.instance]

SESSION = "tensor_assets/session"


@pytest.fixture
def elsewhere(deployment: Deployment):
    """Another session on the same host, which has the GPU until ``free()``."""
    free = threading.Event()
    taken = threading.Event()

    def hold():
        with GpuLease("GPU-one", deployment.lease).held("elsewhere", "0", "somebody's run", pytest.fail):
            taken.set()
            free.wait(300)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(60)
    yield free.set
    free.set()
    thread.join()


def test_a_device_that_the_policy_does_not_allow_is_refused_by_name(deployment):
    deployment.plug(H200)
    run = deployment.launch("toy_a|gemm")
    assert deployment.ended(run) == "FAILURE"
    assert (
        "policy asks for H100; this host has simulated NVIDIA H200 (GPU-two). "
        "Allow it with accelerators: [H100, H200]" in deployment.log(run)
    )


def test_a_run_waits_for_another_session_and_says_so(deployment, elsewhere):
    run = deployment.launch("toy_a|gemm")
    waits = f"run {run} waits for GPU-one: session elsewhere: somebody's run (process {os.getpid()}"
    deployment.wait_for(lambda: waits in deployment.log(run), "word of whom it waits for")
    elsewhere()
    assert deployment.ended(run) == "SUCCESS"


def test_a_gpu_that_disappears_between_lease_and_start(deployment, elsewhere, witness):
    run = deployment.launch("toy_a|gemm")
    deployment.wait_for(lambda: "waits for GPU-one" in deployment.log(run), "the run, granted and waiting")
    deployment.plug()
    elsewhere()
    assert deployment.ended(run) == "FAILURE"
    assert f"(GPU-one), granted to session {run}, is gone" in deployment.log(run)
    witness("a GPU that disappears between lease and start", "the run fails, naming it", "nothing was begun")


def test_a_corrupted_lease_file(deployment, elsewhere, witness):
    file = deployment.lease / "gpu-GPU-one" / "session.json"
    file.write_bytes(b"\x00\x00{")
    run = deployment.launch("toy_a|gemm")
    assert deployment.ended(run) == "FAILURE"
    log = deployment.log(run)
    assert "LeaseDamaged" in log
    assert "session.json" in log
    assert "remove the file" in log
    elsewhere()
    deployment.wait_for(lambda: GpuLease("GPU-one", deployment.lease).state().free, "the end of the other session")
    assert deployment.ended(deployment.launch("toy_a|gemm")) == "SUCCESS"
    witness("a session's lease file corrupted", "the run fails, naming file and mending", "nothing was begun")


def test_a_restart_in_mid_session(deployment, witness):
    """All processes are gone, as after a power cut, and the host has another boot id when Dagster is back."""
    deployment.behave("toy_a|projection_chain", "hang_with_child")
    cut = deployment.launch("toy_a|projection_chain", tags={SESSION: "monday"})
    deployment.pids("toy_a|projection_chain")
    deployment.good("toy_a|projection_chain")
    deployment.kill("daemon")
    os.kill(deployment.process_of(cut), signal.SIGKILL)
    deployment.plug(H100, boot_id="the-next-boot")
    deployment.begin("daemon")
    assert deployment.ended(cut) == "FAILURE"
    run = deployment.launch("toy_b|gemm", tags={SESSION: "monday"})
    assert deployment.ended(run) == "FAILURE"
    assert "a session is never resumed on another allocation" in deployment.log(run)
    assert deployment.ended(deployment.launch("toy_b|gemm", tags={SESSION: "tuesday"})) == "SUCCESS"
    witness(
        "a restart in mid-session (fresh boot id)",
        "its run is failed, the session's next one refused",
        "nothing; a new session runs",
    )


def test_a_session_stays_on_its_gpu_or_fails(deployment):
    other = {**H100, "uuid": "GPU-three"}
    deployment.plug(H100, other)
    assert deployment.ended(first := deployment.launch("toy_a|gemm", tags={SESSION: "steady"})) == "SUCCESS"
    assert deployment.run(first)["tags"]["tensor_assets/device"] == "GPU-one"
    deployment.plug(other)
    gone = deployment.launch("toy_b|gemm", tags={SESSION: "steady"})
    assert deployment.ended(gone) == "FAILURE"
    assert "session steady runs on simulated NVIDIA H100 80GB HBM3 (GPU-one) and on nothing else" in deployment.log(
        gone
    )
    deployment.plug(other, H100)
    assert deployment.ended(last := deployment.launch("toy_b|gemm", tags={SESSION: "steady"})) == "SUCCESS"
    assert deployment.run(last)["tags"]["tensor_assets/device"] == "GPU-one"


def test_a_full_disk_while_evidence_is_written(deployment, witness):
    disk = deployment.store.parent
    filler = disk / "filler"
    with filler.open("wb") as file:  # what is left is less than the record takes; its files may be there already
        file.write(bytes(shutil.disk_usage(disk).free - 8 * 1024))
    try:
        run = deployment.launch("toy_a|two_layer")
        assert deployment.ended(run) == "FAILURE"
        assert "No space left" in deployment.log(run) or "no space left" in deployment.log(run)
        assert verify(deployment.store).sound
    finally:
        filler.unlink()
    assert deployment.ended(deployment.launch("toy_a|two_layer")) == "SUCCESS"
    witness(
        "full disk while evidence is written",
        "the run fails, saying so; the store is sound",
        "that cell, made by the next run",
    )
