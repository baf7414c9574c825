from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tensor_assets.settings import ROOT


class Image(NamedTuple):
    """A folder as the Dockerfile's ``project`` stage lays it out, and the Python that ``make engines`` made there."""

    folder: Path
    python: Path
    environment: dict[str, str]  # for commands there: nothing of this process's own Python

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """What the Dockerfile copies before it calls make, and nothing else; then the very command that it calls."""
    folder = tmp_path_factory.mktemp("image")
    stage = re.search(r"FROM system AS project\n(.*?)\nFROM ", (ROOT / "Dockerfile").read_text(), re.DOTALL)
    assert stage is not None
    for line in stage[1].splitlines():
        if line.startswith("COPY"):
            copy(*line.split()[2:-1], to=folder)
    dropped = {"PYTHONPATH", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    made = Image(folder, folder / ".venv" / "bin" / "python", {**environment, "SYSTEM_PACKAGES": "0"})
    done = made.run("make", "engines")
    assert done.returncode == 0, done.stderr
    return made


def copy(*sources: str, to: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "build.generated")
    for source in sources:
        target = to / source
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copyfile(ROOT / source, target)
            shutil.copymode(ROOT / source, target)
