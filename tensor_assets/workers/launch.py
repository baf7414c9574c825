"""A worker for one adapter: its command, its private folder, its environment, put together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tensor_assets.workers.adapters import KIT, AdapterFolder
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.isolation import WorkerFolder, worker_variables
from tensor_assets.workers.process import DEADLINE, Worker


def worker_for(
    adapter: AdapterFolder,
    environment: Environment,
    folder: WorkerFolder,
    *,
    name: str = "",
    deadline: float = DEADLINE,
    lifetime: float | None = None,
    environ: Mapping[str, str] = os.environ,
    prefix: Sequence[str] = (),
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Worker:
    """A worker, not yet started (``with`` starts it); its files and caches are below ``folder``.

    Caches are whatever ``folder.cache`` holds: nothing for a capture, a restored snapshot for timing. A profiler that
    wraps the worker puts ``prefix`` before its command and ``variables`` into its environment.
    """
    return Worker(
        (*prefix, *worker_command(adapter, environment, environ)),
        worker_variables(folder, KIT, {**adapter.variables, **environment.variables, **variables}, environ),
        folder.log,
        cwd=folder.path,
        name=name or adapter.name,
        deadline=deadline,
        lifetime=lifetime,
        version=adapter.worker_version if _named(adapter, environ) else "",
    )


def worker_command(
    adapter: AdapterFolder, environment: Environment, environ: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """The kit in the compiler's environment, or the executable that the adapter's own variable names."""
    if named := _named(adapter, environ):
        return (named,)
    return (str(environment.python), "-m", "tensor_worker", str(adapter.path))


def _named(adapter: AdapterFolder, environ: Mapping[str, str]) -> str:
    """The executable that somebody named to serve in the kit's place."""
    return environ.get(adapter.worker_variable, "") if adapter.worker_variable else ""
