from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tensor_assets.evidence.verification import verify
from tensor_assets.sessions.gpu_lease import leased_uuids
from tensor_assets.workers.process import TOKEN
from tensor_assets_tests.evidence.test_faults import mounted
from tensor_assets_tests.launchers.deployment import H100, Deployment


@pytest.fixture(scope="session")
def shared(tmp_path_factory) -> Iterator[Deployment]:
    """One deployment for all tests of faults, its store on a disk that can be filled."""
    folder = tmp_path_factory.mktemp("deployment")
    with mounted(folder / "disk", "size=96m"):
        deployed = Deployment(folder, store=folder / "disk" / "store")
        try:
            deployed.start()
            yield deployed
        finally:
            deployed.stop()


@pytest.fixture
def deployment(shared: Deployment) -> Iterator[Deployment]:
    """The shared deployment with its device plugged in; afterwards nothing may be left of what the test did."""
    shared.plug(H100)
    yield shared
    shared.wait_for(lambda: not workers_of(shared.folder), "the end of every worker")
    shared.wait_for(lambda: not leased_uuids(shared.lease), "the end of every lease")
    assert not shared.store.exists() or verify(shared.store).sound


def workers_of(folder: Path) -> list[int]:
    """Processes that any worker of the deployment is, or started."""
    found = []
    for process in psutil.process_iter():
        try:
            environ = process.environ()
        except (psutil.Error, OSError):
            continue
        if TOKEN in environ and environ.get("HOME", "").startswith(str(folder)):
            found.append(process.pid)
    return found
