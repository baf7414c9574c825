"""Programs that pip cannot bring: found, or installed from the system's packages where that is allowed, saying so."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tensor_assets.progress import Progress
from tensor_assets.records import Outcome
from tensor_assets.workers.adapters import AdapterFolder, SystemTool
from tensor_assets.workers.exclusive import exclusive

_APT = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=2"]


class Tools(NamedTuple):
    versions: dict[str, str]  # preferred name → what `--version` says first
    variables: dict[str, str]  # environment variable → the command that was found


def missing_tools(adapter: AdapterFolder, target: str) -> list[Outcome]:
    """What ``adapter`` needs for ``target`` and this system does not have now; installs nothing."""
    wanted = [tool for tool in adapter.system if not tool.targets or target in tool.targets]
    return [
        _missing(tool, _hindrance() or "the first run that needs it installs it")
        for tool in wanted
        if _find(tool) is None
    ]


def find_tools(adapter: AdapterFolder, target: str, cache: Path, progress: Progress) -> Tools | Outcome:
    """Every tool that ``adapter`` needs for ``target``; the first that is missing makes the compiler unavailable."""
    versions, variables = {}, {}
    for tool in adapter.system:
        if tool.targets and target not in tool.targets:
            continue
        path = _find(tool) or _install(tool, adapter.name, cache, progress)
        if isinstance(path, Outcome):
            return path
        versions[tool.command[0]] = _version(path)
        if tool.variable:
            variables[tool.variable] = path
    return Tools(versions, variables)


def _find(tool: SystemTool) -> str | None:
    return next((path for command in tool.command if (path := shutil.which(command))), None)


def _install(tool: SystemTool, compiler: str, cache: Path, progress: Progress) -> str | Outcome:
    if (hindrance := _hindrance()) is not None:
        return _missing(tool, hindrance)
    cache.mkdir(parents=True, exist_ok=True)
    waiting = f"{compiler}: waiting for another process that installs system packages"
    with exclusive(cache / "system-packages.flock", lambda: progress(waiting)):
        if path := _find(tool):
            return path
        progress(
            f"{compiler}: installing the system package {tool.debian} ({tool.why}; SYSTEM_PACKAGES=0 turns this off)"
        )
        if (failure := _apt_install(tool.debian)) is not None:
            return _missing(tool, f"apt-get could not install it: {failure}")
    return _find(tool) or _missing(tool, f"the package {tool.debian} brought none of these commands")


def _hindrance(environ: Mapping[str, str] = os.environ) -> str | None:
    """Why nothing may be installed here, or None."""
    if environ.get("SYSTEM_PACKAGES") == "0":
        return "SYSTEM_PACKAGES=0 forbids installing it"
    if os.geteuid() != 0:
        return "installing it needs root"
    if not shutil.which("apt-get"):
        return "this system has no apt-get"
    return None


def _apt_install(package: str) -> str | None:
    """None if it worked, else apt's last words. The package lists are fetched only if it does not work without."""
    install = [*_APT, "install", "-y", "--no-install-recommends", package]
    if _apt(install) is None:
        return None
    return _apt([*_APT, "update"]) or _apt(install)


def _apt(command: list[str]) -> str | None:
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    said = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
    return said[-1]


def _missing(tool: SystemTool, hindrance: str) -> Outcome:
    first, *others = tool.command
    others = others if len(others) < 3 else [others[0], "…", others[-1]]
    names = f"{first} (or {' '.join(others)})" if others else first
    return Outcome(
        status="unavailable",
        reason=f"{names} is not installed: {tool.why}; {hindrance}",
        remedy=f"apt-get install -y --no-install-recommends {tool.debian}",
    )


def _version(command: str) -> str:
    done = subprocess.run([command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = (done.stdout or done.stderr).strip().splitlines()
    return said[0] if said else "unknown"
