from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from tensor_worker.arrays import save_arrays
from tensor_worker.messages import Compile

from tensor_assets.settings import Settings
from tensor_assets.workers.adapters import KIT, AdapterFolder, discover
from tensor_assets.workers.isolation import WorkerFolder, worker_variables
from tensor_assets.workers.process import Worker
from tensor_assets_tests.workers.programs import WEIGHT_VIEW, inputs
from tensor_assets_tests.workers.wheels import wheel

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


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        root=tmp_path,
        store=str(tmp_path / "store"),
        cache=tmp_path / "cache",
        workloads=(),
        adapters=tmp_path / "adapters",
        site=tmp_path / "site",
    )


@pytest.fixture
def adapter(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes an adapter folder whose lock pins the tiny wheel, which uv finds in a local folder and nowhere else."""
    links = tmp_path / "wheels"
    links.mkdir()
    monkeypatch.setenv("UV_FIND_LINKS", str(links))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    _, sha256 = wheel(links)

    def make(name: str = "tiny", sha256: str = sha256, **fields: object) -> AdapterFolder:
        folder = settings.adapters / name
        folder.mkdir(parents=True)
        manifest = {"name": name, "title": name, "colour": "#777777", "package": "Tiny.Compiler", "targets": ["cpu"]}
        (folder / "adapter.json").write_bytes(msgspec.json.encode(manifest | fields))
        (folder / "requirements.lock").write_text(f"tiny-compiler==1.2 \\\n    --hash=sha256:{sha256}\n")
        return discover(settings.adapters)[name]

    return make
