"""Whether the package index that uv or pip is configured with answers. No address is known here: uv itself is asked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import uv

from tensor_assets.doctor.findings import Finding, fail, first_line, ok, warn
from tensor_assets.doctor.installation import LOCKS, pinned
from tensor_assets.settings import Settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.environments import built_environment, environment_folder
from tensor_assets.workers.pip_settings import index_of_pip

SECONDS = 8.0
REMEDY = "set UV_DEFAULT_INDEX to an index that this host reaches, or bring environments along: TENSOR_ASSETS_PACKED"


def check_index(
    needed: bool, environ: Mapping[str, str] = os.environ, seconds: float = SECONDS, locks: Path = LOCKS
) -> Finding:
    """uv resolves the package the project bootstraps from, past its cache. ``needed``: something is not built yet."""
    asked = str(next(pinned(locks / "bootstrap.lock")))
    said = _resolve(asked, environ, seconds)
    if not said:
        return ok("package index", f"answers for {asked}")
    if needed:
        return fail("package index", f"{said}; environments are yet to be built", REMEDY)
    return warn("package index", f"{said}; every environment is built, new releases are not seen", REMEDY)


def environments_missing(settings: Settings) -> bool:
    """Whether some compiler's environment would have to be installed from the index."""
    if settings.packed is not None:
        return False
    folder = settings.cache / "environments"
    adapters = discover(settings.adapters).values()
    return any(built_environment(environment_folder(adapter, folder)) is None for adapter in adapters)


def _resolve(requirement: str, environ: Mapping[str, str], seconds: float) -> str:
    """Why the index did not answer, or ""."""
    command = [uv.find_uv_bin(), "pip", "compile", "-q", "--no-deps", "--no-header", "--no-cache", "-"]
    variables = {
        **index_of_pip(environ),
        **environ,
        "UV_HTTP_TIMEOUT": f"{seconds:.0f}",
        "UV_HTTP_RETRIES": "0",
        "NO_COLOR": "1",
    }
    try:
        done = subprocess.run(
            command, input=requirement, env=variables, capture_output=True, text=True, timeout=seconds + 1
        )
    except subprocess.TimeoutExpired:
        return f"no answer for {requirement} in {seconds + 1:.0f} s"
    return "" if done.returncode == 0 else first_line(done.stderr.replace("│", " ") or "uv failed")
