"""A compiler with releases: a package that tests make in any version and with any fault, and its adapter's folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import msgspec
import pytest

from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.settings import ROOT, load_settings
from tensor_assets.workers.installer import resolve
from tensor_assets_tests.releases.indexes import wheel

PACKAGE, MODULE = "tensor-assets-toy", "tensor_assets_toy"
REFERENCE = ROOT / "tensor_assets_tests" / "workers" / "adapters" / "numpy_reference"
SMALL = Options(shape="matrix_inspect", processes=4)

# What a release is made of; a release that changes one of these says so in its module.
GOOD = """
import time
TEXT = "style = 1\\n"      # how its program reads
MACHINE = "add\\n"         # what it selects
ROUNDS = True             # whether it keeps the contract
SECONDS = 0.0             # it sleeps in an invocation
def on_compile():
    pass
"""
ADAPTER = """

import tensor_assets_toy as toy


class ToyImplementation(NumpyImplementation):
    def __init__(self, request, dump_dir):
        toy.on_compile()
        super().__init__(request, dump_dir)
        self.source += toy.TEXT

    def invoke(self):
        self.results = evaluate(self.program, self.inputs, rounded=toy.ROUNDS and self.variant != "unrounded")
        time.sleep(toy.SECONDS)

    def capture(self):
        found = super().capture()
        machine = write_stage(self.dump_dir, "machine", "Machine", "machine", "asm", toy.MACHINE, "assemble()")
        return msgspec.structs.replace(found, stages=(*found.stages, machine))

    def plan(self):
        code = code_sha256(toy.MACHINE + self.variant, "asm")
        return Plan(launches=(Launch(kind="kernel", name="interpret", code_sha256=code),))


class Toy(NumpyAdapter):
    def greeting(self):
        versions = {"tensor-assets-toy": toy.VERSION}
        return msgspec.structs.replace(super().greeting(), version=toy.VERSION, versions=versions)

    def compile(self, request, inputs, dump_dir):
        return ToyImplementation(request, dump_dir)


ADAPTER = Toy
"""


class Checkout:
    """A checkout whose one compiler is at 1.0, and a folder of wheels that uv sees beside its index."""

    def __init__(self, folder: Path, name: str = "toy") -> None:
        self.folder, self.wheels, self.name = folder, folder / "wheels", name
        self.adapter = folder / "adapters" / name
        shutil.copytree(REFERENCE, self.adapter, ignore=shutil.ignore_patterns("__pycache__"))
        source = self.adapter / "adapter.py"
        source.write_text(source.read_text() + ADAPTER)
        about = {"name": name, "title": "Toy", "colour": "#444444", "package": PACKAGE, "targets": ["cpu"]}
        (self.adapter / "adapter.json").write_text(json.dumps(about))
        (self.adapter / "requirements.in").write_text(
            f"{PACKAGE}==1.0  # the compiler\nnumpy==2.4.6\nmsgspec==0.23.0\n"
        )
        self.release("1.0")
        resolve(self.adapter / "requirements.in", self.adapter / "requirements.lock", folder / "uv.log")
        self.space = self.opened()

    def release(self, version: str, module: str = "") -> Path:
        """Publish a version; ``module`` says what is different in it."""
        return wheel(self.wheels, version, name=MODULE, module=GOOD + module)

    def opened(self) -> Workspace:
        """The checkout as another process finds it."""
        settings = msgspec.structs.replace(
            load_settings(),
            store=str(self.folder / "store"),
            cache=self.folder / "cache",
            adapters=self.folder / "adapters",
            site=self.folder / "site" / "build",
        )
        return Workspace(settings)

    @property
    def accepted(self) -> str:
        lock = self.opened().adapter(self.name).lock.read_text()
        return lock.split(f"{PACKAGE}==")[1].split(" ")[0]


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Checkout:
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("TENSOR_ASSETS_LEASE", str(tmp_path / "lease"))
    return Checkout(tmp_path)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
