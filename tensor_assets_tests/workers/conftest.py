from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tensor_worker.arrays import save_arrays
from tensor_worker.messages import Compile

from tensor_assets.workers.adapters import KIT
from tensor_assets.workers.isolation import WorkerFolder, worker_variables
from tensor_assets.workers.process import Worker
from tensor_assets_tests.workers.programs import WEIGHT_VIEW, inputs

ADAPTERS = Path(__file__).parent / "adapters"


@pytest.fixture
def folder(tmp_path: Path) -> WorkerFolder:
    return WorkerFolder(tmp_path / "worker")


@pytest.fixture
def start(folder: WorkerFolder) -> Callable[..., Worker]:
    """A worker for one of the test adapters, or for a command, in this interpreter's environment; not yet started."""

    def start(adapter: str = "numpy_reference", command: Sequence[str] = (), **options: float) -> Worker:
        kit = (sys.executable, "-m", "tensor_worker", str(ADAPTERS / adapter))
        variables = worker_variables(folder, KIT, {})
        return Worker(command or kit, variables, folder.log, cwd=folder.path, name=adapter, **options)

    return start


@pytest.fixture
def compile_request(folder: WorkerFolder) -> Callable[..., Compile]:
    def request(variant: str = "default", target: str = "cpu") -> Compile:
        path = folder.arrays / "search.npz"
        save_arrays(path, inputs())
        return Compile(program=WEIGHT_VIEW, variant=variant, target=target, inputs=str(path), dump_dir=str(folder.dump))

    return request
