"""Each compiler's environment, its lock and the system programs it needs. Builds nothing, starts no worker."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tensor_assets.doctor.findings import Finding, fail, first_line, ok, warn
from tensor_assets.doctor.installation import pinned
from tensor_assets.errors import TensorAssetsError
from tensor_assets.records import Outcome
from tensor_assets.settings import Settings
from tensor_assets.workers.adapters import AdapterFolder, discover
from tensor_assets.workers.environments import built_environment, environment_folder
from tensor_assets.workers.packed import packed_path
from tensor_assets.workers.system import missing_tools


def check_compilers(settings: Settings, environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """One finding per compiler at least: its environment, then what is wrong with its lock or its system programs."""
    try:
        adapters = discover(settings.adapters)
    except TensorAssetsError as error:
        yield fail("compilers", str(error), f"mend {settings.adapters} or set TENSOR_ASSETS_ADAPTERS")
        return
    if not adapters:
        yield fail(
            "compilers", f"{settings.adapters} holds no adapter.json", "export TENSOR_ASSETS_ADAPTERS=…/adapters"
        )
    for adapter in adapters.values():
        yield check_environment(adapter, settings)
        yield from check_lock(adapter)
        yield from check_tools(adapter, settings.target)
        yield from check_worker(adapter, environ)


def check_environment(adapter: AdapterFolder, settings: Settings) -> Finding:
    """Built from the current lock, for this interpreter, and whole; or packed, where they were brought along."""
    subject, targets = adapter.name, f"targets {', '.join(adapter.targets)}"
    if settings.packed is not None:
        return _packed(adapter, settings.packed, targets)
    remedy = f"tensor-assets environment {adapter.name}"
    root = environment_folder(adapter, settings.cache / "environments")
    if (freeze := built_environment(root)) is None:
        state = "not built yet" if not root.exists() else "its build was interrupted"
        return warn(subject, f"{state}: the first run that needs it builds it; {targets}", remedy)
    python = root / "bin" / "python"
    if not os.access(python, os.X_OK):
        return fail(subject, f"{python} is gone or leads nowhere", f"rm -r {root} && {remedy}")
    version = freeze.get(canonicalize_name(adapter.package), "") if adapter.package else "captures made elsewhere"
    return ok(subject, f"{' '.join(filter(None, (adapter.package, version)))}, environment {root.name}; {targets}")


def check_lock(adapter: AdapterFolder) -> Iterator[Finding]:
    """A requirement that the lock does not satisfy: somebody edited one and not the other."""
    source = adapter.path / "requirements.in"
    if not source.is_file():
        return
    try:
        wanted, locked = list(requirements(source)), {canonicalize_name(pin.name): pin for pin in pinned(adapter.lock)}
    except InvalidRequirement as error:
        yield fail(adapter.name, f"{source}: {first_line(error)}", f"mend {source}")
        return
    for requirement in wanted:
        pin = locked.get(canonicalize_name(requirement.name))
        version = next(iter(pin.specifier)).version if pin else ""
        if not requirement.specifier.contains(version or "0", prereleases=True) or not version:
            said = f"locks {requirement.name} {version}" if version else f"does not lock {requirement.name}"
            yield fail(adapter.name, f"requirements.lock {said}; requirements.in asks for {requirement}", "make lock")


def requirements(source: Path) -> Iterator[Requirement]:
    """The requirements of a ``requirements.in`` that apply here."""
    for line in source.read_text(encoding="utf-8").splitlines():
        text = line.partition(" #")[0].strip()
        if text and not text.startswith("#"):
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate():
                yield requirement


def check_tools(adapter: AdapterFolder, target: str) -> Iterator[Finding]:
    """System programs that the compiler needs for ``target`` and that are not here."""
    for outcome in missing_tools(adapter, target):
        yield warn(adapter.name, outcome.reason, outcome.remedy)


def check_worker(adapter: AdapterFolder, environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """An executable or a bundle that a variable names must be there."""
    for variable, runs in ((adapter.worker_variable, True), (adapter.import_variable, False)):
        named = environ.get(variable, "") if variable else ""
        if named and not (os.access(named, os.X_OK) if runs else Path(named).exists()):
            what = "cannot be executed" if runs and Path(named).exists() else "is not there"
            yield fail(adapter.name, f"{variable}={named} {what}", f"unset {variable}, or name the right file")


def _packed(adapter: AdapterFolder, packed: Path, targets: str) -> Finding:
    try:
        found = packed_path(adapter, packed)
    except TensorAssetsError as error:
        return fail(adapter.name, str(error), "unset TENSOR_ASSETS_PACKED, or name the folder that was brought along")
    if isinstance(found, Outcome):
        return warn(adapter.name, found.reason, f"add {adapter.name} to {packed / 'packed.json'}")
    return ok(adapter.name, f"packed in {packed}; {targets}")
