"""A capture made elsewhere, as a folder that its compiler's adapter reads: filed beside our own, never judged."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from tensor_worker.messages import Greeting, Hello
from tensor_worker.program import Program

from tensor_assets.campaign.capture import capture_key
from tensor_assets.campaign.stored import Stored, file, provenance
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.errors import BundleRefused, EnvironmentBroken, SettingsError
from tensor_assets.records import CaptureRecord, EnvironmentRecord, Key, Outcome
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.capture import SEARCH_FIXTURE, CaptureTask, capture_variant
from tensor_assets.workers.environments import Environment, build_environment
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.isolation import WorkerFolder
from tensor_assets.workers.launch import worker_for
from tensor_assets.workers.scratch import scratch_folder

MANIFEST = "manifest.json"


class _Format(msgspec.Struct, frozen=True):
    format: str


class _Device(msgspec.Struct, frozen=True):
    name: str


class _Patch(msgspec.Struct, frozen=True):
    sha256: str


class _Manifest(msgspec.Struct, frozen=True):
    """What a record is filed under. The adapter has checked the whole of it before this is believed."""

    program: Program
    device: _Device
    patch: _Patch | None = None


def compiler_of(folder: Path) -> str:
    """Whose capture a folder says it holds: its format is ``<compiler>-capture``. Raises BundleRefused."""
    path = folder / MANIFEST
    if not path.is_file():
        raise BundleRefused(f"{folder}: there is no {MANIFEST} in it, so it is no capture made elsewhere")
    try:
        stated = msgspec.json.decode(path.read_bytes(), type=_Format).format
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BundleRefused(f"{path}: {error}") from None
    compiler, _, rest = stated.rpartition("-")
    if rest != "capture" or not compiler:
        raise BundleRefused(f"{path}: format {stated!r} is none of a capture (<compiler>-capture)")
    return compiler


def import_capture(
    space: Workspace, compiler: str, folder: Path, devices: tuple[str, ...] = ()
) -> Stored[CaptureRecord]:
    """``devices``: refuse a capture of any other.

    Raises SettingsError for a compiler that imports nothing, BundleRefused with the adapter's reason.

    The record's environment is the hash of the manifest, which names every file by its hash; its outcome is
    ``unavailable``: it was not run here.
    """
    # The adapter itself reads the folder, whatever executable is named to run the compiler.
    adapter = msgspec.structs.replace(space.adapter(compiler), worker_variable="")
    if not adapter.import_variable:
        raise SettingsError(f"{compiler} reads no captures made elsewhere")
    environment = _environment(space, adapter, folder)
    with scratch_folder(space.settings.cache) as scratch:
        greeting = _greeting(adapter, environment, WorkerFolder(scratch / "greeting"))
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Manifest)
        if devices and manifest.device.name not in devices:
            raise BundleRefused(f"{folder}: made on {manifest.device.name}, not on {' or '.join(devices)}")
        (variant,) = greeting.variants
        parents = (_filed_environment(space, adapter, environment, greeting, manifest).id,)
        key = _key(adapter, environment, variant.name, manifest)
        task = CaptureTask(
            adapter=adapter,
            environment=environment,
            program=manifest.program,
            fixtures=build_fixtures(manifest.program, [SEARCH_FIXTURE]),
            variant=variant.name,
            target="cuda",
            key=key,
            parents=parents,
        )
        return file(space.store, capture_variant(task, space.store, scratch / "capture"))


def _environment(space: Workspace, adapter: AdapterFolder, folder: Path) -> Environment:
    path = folder / MANIFEST
    if not path.is_file():
        raise BundleRefused(f"{folder}: there is no {MANIFEST} in it")
    built = build_environment(adapter, space.settings, keeper=space.store)
    if isinstance(built, Outcome):
        raise EnvironmentBroken(f"{adapter.name}: {built.reason}")
    variables = {**built.variables, adapter.import_variable: str(folder.resolve())}
    return msgspec.structs.replace(built, hash=hashlib.sha256(path.read_bytes()).hexdigest(), variables=variables)


def _greeting(adapter: AdapterFolder, environment: Environment, folder: WorkerFolder) -> Greeting:
    try:
        with worker_for(adapter, environment, folder) as worker:
            return worker.ask(Hello())
    except WorkerFailed as failure:
        raise BundleRefused(failure.outcome.reason) from None


def _key(adapter: AdapterFolder, environment: Environment, variant: str, manifest: _Manifest) -> Key:
    program, target = manifest.program, manifest.device.name
    return capture_key(program.workload, program.shape, adapter, variant, target, environment.hash, _patch(manifest))


def _patch(manifest: _Manifest) -> str:
    return manifest.patch.sha256 if manifest.patch else ""


def _filed_environment(
    space: Workspace, adapter: AdapterFolder, environment: Environment, greeting: Greeting, manifest: _Manifest
) -> Stored[EnvironmentRecord]:
    """Where it was made: its versions, as the bundle states them."""
    record = EnvironmentRecord(
        key=Key(
            compiler=adapter.name,
            target=manifest.device.name,
            environment=environment.hash,
            patch=_patch(manifest),
        ),
        outcome=Outcome(status="unavailable", reason=f"captured elsewhere on {manifest.device.name}, not here"),
        provenance=provenance(),
        python="",
        lock_sha256="",
        freeze=greeting.versions,
        version=greeting.version,
        variants=greeting.variants,
    )
    return file(space.store, record)
