"""One isolated environment per lock: built by uv from hash-pinned requirements, kept in the cache, built only once."""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
import time
from pathlib import Path

import msgspec

from tensor_assets.errors import StoreUnwritable
from tensor_assets.progress import Progress, announce
from tensor_assets.records import Outcome
from tensor_assets.settings import Settings
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.exclusive import exclusive
from tensor_assets.workers.failure import LOG_TYPE
from tensor_assets.workers.installer import InstallFailed, freeze, install, new_environment
from tensor_assets.workers.keeping import Keeper
from tensor_assets.workers.packed import packed_freeze, packed_hash, packed_path
from tensor_assets.workers.system import Tools, find_tools

_COMPLETE = ".complete"  # written last: without it a build was interrupted and starts again


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """A compiler's environment, ready. ``hash`` covers the lock, the interpreter and the toolchain."""

    python: Path
    hash: str
    lock_sha256: str
    python_version: str
    freeze: dict[str, str]  # distribution → version, all of it
    version: str  # of the compiler itself
    toolchain: dict[str, str]  # e.g. {"clang": "Debian clang version 14.0.6"}
    variables: dict[str, str] = {}  # how the compiler is told where its tools are
    built_seconds: float = 0.0  # 0 when it was there already


class _Built(msgspec.Struct, frozen=True):
    freeze: dict[str, str]


def build_environment(
    adapter: AdapterFolder,
    settings: Settings,
    progress: Progress = announce,
    *,
    target: str = "",
    keeper: Keeper | None = None,
) -> Environment | Outcome:
    """The environment of ``adapter`` for ``target`` (the settings' by default), built now unless it exists.

    A build that fails, or a tool that is missing and cannot be installed, is an outcome; ``keeper`` gets its log.
    Raises StoreUnwritable if the cache folder cannot be written.
    """
    tools = find_tools(adapter, target or settings.target, settings.cache, progress)
    if isinstance(tools, Outcome):
        return tools
    if settings.packed is not None:
        return _packed(adapter, settings.packed, tools)
    started = time.monotonic()
    try:
        root, built, fresh = _built(adapter, settings.cache / "environments", progress)
    except InstallFailed as failure:
        return _failed(adapter, failure, keeper)
    except OSError as error:
        raise StoreUnwritable(f"{settings.cache}: environments cannot be written there ({error.strerror})") from None
    return _environment(adapter, root, built, tools, time.monotonic() - started if fresh else 0.0)


def environment_folder(adapter: AdapterFolder, environments: Path) -> Path:
    """Named by the lock's hash and the interpreter, so that compilers with one lock share one folder."""
    return environments / f"{adapter.lock_sha256[:16]}-py{platform.python_version()}"


def built_environment(root: Path) -> dict[str, str] | None:
    """What is installed in the environment at ``root``; None where its build has not ended. Builds nothing."""
    found = _complete(root)
    return None if found is None else found.freeze


def _packed(adapter: AdapterFolder, packed: Path, tools: Tools) -> Environment | Outcome:
    """An environment that was brought along; see packed.py."""
    path = packed_path(adapter, packed)
    if isinstance(path, Outcome):
        return path
    found = packed_freeze(path)
    if adapter.package and _normalized(adapter.package) not in found:
        return Outcome(
            status="unavailable",
            reason=f"{adapter.package} is neither packed in {packed.name} nor installed in {sys.executable}",
            remedy=f"tensor-assets pack {packed.name} {adapter.name}",
        )
    return Environment(
        python=Path(sys.executable),
        hash=packed_hash(found, tools.versions),
        lock_sha256=adapter.lock_sha256,
        python_version=platform.python_version(),
        freeze=found,
        version=found.get(_normalized(adapter.package), ""),
        toolchain=tools.versions,
        variables={**tools.variables, "PYTHONPATH": path},
    )


def _built(adapter: AdapterFolder, environments: Path, progress: Progress) -> tuple[Path, _Built, bool]:
    root = environment_folder(adapter, environments)
    if (found := _complete(root)) is not None:
        return root, found, False
    environments.mkdir(parents=True, exist_ok=True)
    waiting = f"{adapter.name}: waiting for another process that builds this environment"
    with exclusive(environments / f"{root.name}.flock", lambda: progress(waiting)):
        if (found := _complete(root)) is not None:
            return root, found, False
        return root, _build(adapter, root, progress), True


def _complete(root: Path) -> _Built | None:
    try:
        return msgspec.json.decode((root / _COMPLETE).read_bytes(), type=_Built)
    except (OSError, msgspec.DecodeError):
        return None


def _build(adapter: AdapterFolder, root: Path, progress: Progress) -> _Built:
    """Build in place: a virtual environment cannot be moved."""
    shutil.rmtree(root, ignore_errors=True)
    log = root.with_suffix(".log")
    log.unlink(missing_ok=True)
    progress(f"{adapter.name}: creating an environment for Python {platform.python_version()}")
    python = new_environment(root, log)
    progress(f"{adapter.name}: installing {_count(adapter.lock)} packages")
    install(python, adapter.lock, log)
    built = _Built(freeze(python, log))
    temporary = root / f"{_COMPLETE}.new"
    temporary.write_bytes(msgspec.json.encode(built))
    temporary.rename(root / _COMPLETE)
    return built


def _count(lock: Path) -> int:
    return sum(1 for line in lock.read_text().splitlines() if "==" in line and not line.startswith((" ", "#")))


def _environment(adapter: AdapterFolder, root: Path, built: _Built, tools: Tools, seconds: float) -> Environment:
    parts = [
        adapter.lock_sha256,
        f"{platform.python_implementation()} {platform.python_version()} {platform.machine()}",
        *(f"{name}={version}" for name, version in sorted(tools.versions.items())),
    ]
    return Environment(
        python=root / "bin" / "python",
        hash=hashlib.sha256("\0".join(parts).encode()).hexdigest(),
        lock_sha256=adapter.lock_sha256,
        python_version=platform.python_version(),
        freeze=built.freeze,
        version=built.freeze.get(_normalized(adapter.package), ""),
        toolchain=tools.versions,
        variables=tools.variables,
        built_seconds=seconds,
    )


def _normalized(distribution: str) -> str:
    return distribution.lower().replace("_", "-").replace(".", "-")


def _failed(adapter: AdapterFolder, failure: InstallFailed, keeper: Keeper | None) -> Outcome:
    log = None
    if keeper is not None and failure.log.is_file():
        log = keeper.put_file(failure.log, media_type=LOG_TYPE, name=f"{adapter.name}-install.log", private=True)
    return Outcome(
        status="unavailable",
        reason=f"the environment of {adapter.name} cannot be built: {failure}",
        remedy=f"uv pip install --require-hashes -r {adapter.path.name}/requirements.lock",
        log=log,
    )
