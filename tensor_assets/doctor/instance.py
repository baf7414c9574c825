"""Dagster's instance as its dagster.yaml describes it: every component is made, in a folder that is thrown away."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tensor_assets.doctor.findings import Finding, fail, first_line, ok, warn
from tensor_assets.settings import Settings

if TYPE_CHECKING:
    from dagster._core.instance.ref import InstanceRef

COMPONENTS = ("storage", "run_coordinator", "compute_log_manager", "scheduler")
EXTRAS = {"dagster_ray": "ray", "dagster_k8s": "k8s", "dagster_docker": "docker", "dagster_postgres": "k8s"}


class Home(NamedTuple):
    """Where the instance lives, and the folder whose dagster.yaml it will run with."""

    folder: Path
    config: Path


def home_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> Home:
    """A home of one's own keeps its dagster.yaml; the checkout's own takes the checkout's with every command."""
    own = settings.root / ".dagster"
    folder = Path(environ.get("DAGSTER_HOME") or own)
    return Home(folder, folder if folder != own and (folder / "dagster.yaml").is_file() else settings.root)


def check_instance(home: Home, target: str = "cpu") -> Iterator[Finding]:
    """The file, each component it configures, run monitoring. Connects to a database where one is configured."""
    source = home.config / "dagster.yaml"
    with tempfile.TemporaryDirectory(prefix="tensor-assets-doctor-") as scratch:
        try:
            ref = _read(home.config, scratch)
        except Exception as error:  # YAML's, Dagster's or a custom class's own, all of them mean: this file is wrong
            yield fail("instance", f"{source}: {explained(error)}", f"mend {source}")
            return
        yield ok("instance", f"{source}{'' if home.config == home.folder else f', for {home.folder}'}")
        for component in COMPONENTS:
            yield _made(ref, component, source)
        yield from _launcher(ref, source, target)
    yield from check_monitoring(ref.settings, source)
    yield check_retries(ref.settings, source)


def check_monitoring(settings: Mapping[str, Any], source: Path) -> Iterator[Finding]:
    """Without monitoring, a run whose process was killed stays "started" for ever."""
    monitoring = settings.get("run_monitoring") or {}
    if not monitoring.get("enabled"):
        yield warn(
            "run monitoring", f"off: a killed run stays STARTED for ever ({source})", "run_monitoring: {enabled: true}"
        )
    elif monitoring.get("max_resume_run_attempts"):
        yield fail(
            "run monitoring",
            f"{source} resumes runs: a resumed one could land on another GPU",
            "run_monitoring: {enabled: true, max_resume_run_attempts: 0}",
        )
    else:
        yield ok("run monitoring", "on, and no run is resumed")


def check_retries(settings: Mapping[str, Any], source: Path) -> Finding:
    """Without them, what a run of many cells had not made when it died is left to whoever launched it."""
    retries = settings.get("run_retries") or {}
    mending = "run_retries: {enabled: true, max_retries: 0, retry_on_asset_or_op_failure: false}"
    if not retries.get("enabled"):
        return warn("run retries", f"off: the rest of a backfill's run that dies is not made ({source})", mending)
    if retries.get("max_retries"):
        return warn(
            "run retries", f"{source} repeats every run that dies, on a device that may have killed it", mending
        )
    return ok("run retries", "a run of many cells that dies is repeated once, no other one")


def install_command(error: object) -> str:
    """What installs the engine whose module an error names, or ""."""
    said = str(error)
    return ".ci/setup engines" if any(module in said for module in EXTRAS) else ""


def explained(error: Exception) -> str:
    """One line; of a configuration that does not fit its schema, what does not fit instead of the schema."""
    from dagster._core.errors import DagsterInvalidConfigError

    if isinstance(error, DagsterInvalidConfigError) and error.errors:
        return first_line("; ".join(one.message for one in error.errors))
    return first_line(error)


def _read(config: Path, scratch: str) -> InstanceRef:
    from dagster._core.instance.ref import InstanceRef

    return InstanceRef.from_dir(scratch, config_dir=str(config))


def _launcher(ref: InstanceRef, source: Path, target: str) -> Iterator[Finding]:
    from tensor_assets.doctor.launchers import check_launcher

    coordinator = None
    with suppress(Exception):  # told by its own check
        coordinator = ref.run_coordinator
    try:
        launcher = ref.run_launcher
    except Exception as error:
        yield fail("run launcher", f"{source}: {explained(error)}", install_command(error) or f"mend {source}")
        return
    yield from check_launcher(launcher, coordinator, source, target)


def _made(ref: InstanceRef, component: str, source: Path) -> Finding:
    subject = f"instance {component.replace('_', ' ')}"
    try:
        made = getattr(ref, component)
    except Exception as error:  # a component's own: wrong config, missing module, a database that does not answer
        return fail(subject, f"{source}: {explained(error)}", install_command(error) or f"mend {component} in {source}")
    return ok(subject, type(made).__name__)
