"""uv, asked for what an environment needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import uv

_REASON_LENGTH = 300


class InstallFailed(Exception):
    """``str()`` is uv's own explanation in one line; ``log`` holds all it said."""

    def __init__(self, reason: str, log: Path) -> None:
        super().__init__(reason)
        self.log = log


class _Distribution(msgspec.Struct):
    name: str
    version: str


def new_environment(root: Path, log: Path) -> Path:
    """An empty virtual environment of this process's base interpreter at ``root``; its python. Raises InstallFailed."""
    _uv(["venv", "--python", base_python(), str(root)], log)
    return root / "bin" / "python"


def install(python: Path, lock: Path, log: Path) -> None:
    """Exactly what ``lock`` says, every file checked against its hash. Raises InstallFailed."""
    _uv(["pip", "sync", "--require-hashes", "--python", str(python), str(lock)], log)


def freeze(python: Path, log: Path) -> dict[str, str]:
    """Distribution → version of everything installed. Raises InstallFailed."""
    listed = _uv(["pip", "list", "--format", "json", "--python", str(python)], log)
    return {found.name: found.version for found in msgspec.json.decode(listed, type=list[_Distribution])}


def base_python() -> str:
    """The interpreter that this process's virtual environment, if it is in one, was made of."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def _uv(arguments: list[str], log: Path) -> bytes:
    """Run uv; stderr goes to ``log``, stdout is returned."""
    with log.open("ab") as file:
        file.write(f"$ uv {' '.join(arguments)}\n".encode())
        file.flush()
        done = subprocess.run(
            [uv.find_uv_bin(), *arguments],
            env=_variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
        )
    if done.returncode:
        raise InstallFailed(_explanation(log), log)
    return done.stdout


def _variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Ours, without what would point uv or the new interpreter at the environment we run in."""
    dropped = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT"}
    kept = {name: value for name, value in environ.items() if name not in dropped}
    return kept | {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}


def _explanation(log: Path) -> str:
    """What uv said last, from its "error" or "×" line on, as one line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    starts = [at for at, line in enumerate(lines) if line.startswith(("error", "×", "$"))]
    said = " ".join(lines[starts[-1] :] if starts else lines[-1:]).replace("│", " ")
    return " ".join(said.split())[:_REASON_LENGTH]
