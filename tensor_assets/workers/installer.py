"""uv, asked for what an environment needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import uv

from tensor_assets.workers.pip_settings import index_of_pip
from tensor_assets.workers.process import TOKEN

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
    ask_uv(["venv", "--python", base_python(), str(root)], log)
    return root / "bin" / "python"


def install(python: Path, lock: Path, log: Path) -> None:
    """Exactly what ``lock`` says, every file checked against its hash. Raises InstallFailed."""
    ask_uv(["pip", "sync", "--require-hashes", "--python", str(python), str(lock)], log)


def freeze(python: Path, log: Path) -> dict[str, str]:
    """Distribution → version of everything installed. Raises InstallFailed."""
    listed = ask_uv(["pip", "list", "--format", "json", "--python", str(python)], log)
    return {found.name: found.version for found in msgspec.json.decode(listed, type=list[_Distribution])}


def resolve(requirements: Path, lock: Path, log: Path, options: Sequence[str] = ()) -> None:
    """Write what ``requirements`` needs into ``lock``, every file with its hash, no index address in it.

    What ``lock`` holds already is kept wherever it still fits, except as ``options`` of ``uv pip compile`` say. Raises
    InstallFailed.
    """
    command = ["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--generate-hashes", *options]
    ask_uv([*command, str(requirements), "--output-file", str(lock)], log)


def base_python() -> str:
    """The interpreter that this process's virtual environment, if it is in one, was made of."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def ask_uv(arguments: Sequence[str], log: Path, *, stdin: bytes = b"", seconds: float | None = None) -> bytes:
    """Run uv, with the package index that it is configured for; stderr goes to ``log``, stdout is returned.

    Raises InstallFailed, also where there was no end after ``seconds``.
    """
    with log.open("ab") as file:
        file.write(f"$ uv {' '.join(arguments)}\n".encode())
        file.flush()
        try:
            done = subprocess.run(
                [uv.find_uv_bin(), *arguments],
                env=_variables(),
                input=stdin,
                stdout=subprocess.PIPE,
                stderr=file,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            raise InstallFailed(f"no answer within {seconds:.0f} s", log) from None
    if done.returncode:
        raise InstallFailed(_explanation(log), log)
    return done.stdout


def _variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Ours, without what would point uv or the new interpreter at the environment we run in."""
    dropped = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT"}
    kept = {name: value for name, value in environ.items() if name not in dropped}
    ours = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1", TOKEN: "uv"}
    return index_of_pip(kept) | kept | ours


def _explanation(log: Path) -> str:
    """What uv said last, from its "error" or "×" line on, as one line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    starts = [at for at, line in enumerate(lines) if line.startswith(("error", "×", "$"))]
    said = " ".join(lines[starts[-1] :] if starts else lines[-1:]).replace("│", " ")
    return " ".join(said.split())[:_REASON_LENGTH]
