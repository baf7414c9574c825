"""Everything a step works with, opened once: settings, store, workloads, shapes, compilers."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tensor_assets.contract.manifest import Manifest, load_workloads
from tensor_assets.contract.shapes import Shapes, load_shapes
from tensor_assets.errors import DeviceRefused, SettingsError
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.releases.accepted import with_accepted_lock
from tensor_assets.sessions.allocation import device_of
from tensor_assets.sessions.inventory import SIMULATED
from tensor_assets.sessions.lease import Lease
from tensor_assets.settings import Settings, load_settings
from tensor_assets.workers.adapters import AdapterFolder, discover
from tensor_assets.workers.process import end_workers

if TYPE_CHECKING:
    from tensor_assets.campaign.environment import Ready
    from tensor_assets.claims.claim import Claim

T = TypeVar("T")

# The shape a suite's figures are quoted at, used when a run names none.
SUITE_SHAPE = {"matrix": "matrix", "original": "main"}


# A real device may also be asked for by its driver's name, e.g. "NVIDIA H100 80GB HBM3".
TARGETS = ("cpu", "sm_90", "cuda")


class Abandoned(Exception):
    """The work was given up from outside, so that its end says nothing of who was at work."""


class Workspace:
    """Opened lazily, so that a command which only reads the store loads nothing else."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or load_settings()
        self.lease = ""  # of the device, where a launcher granted one
        self.environments: dict[tuple[str, str], Ready] = {}  # by compiler and target, as they were found
        self.looking: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)  # held while one of these is looked into
        self._abandoned = Event()

    @cached_property
    def store(self) -> EvidenceStore:
        return EvidenceStore(self.settings.store)

    @cached_property
    def workloads(self) -> dict[str, Manifest]:
        return load_workloads(self.settings.workloads)

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """Every claim by its id. Raises ClaimError."""
        from tensor_assets.claims.reading import load_claims  # YAML and its queries, which a campaign does not need

        return load_claims(self.settings.claims)

    @cached_property
    def shapes(self) -> Shapes:
        return load_shapes(self.settings.shapes)

    @cached_property
    def adapters(self) -> dict[str, AdapterFolder]:
        """Every compiler, each with the lock that is accepted now."""
        found, cache = discover(self.settings.adapters), self.settings.cache
        return {name: with_accepted_lock(self.store, adapter, cache) for name, adapter in found.items()}

    def with_lock(self, compiler: str, lock: Path) -> Workspace:
        """The same workspace with another lock for one compiler: what that captures is filed under its environment."""
        other = Workspace(self.settings)
        other.store, other.workloads, other.shapes = self.store, self.workloads, self.shapes
        other.lease = self.lease
        adapter = msgspec.structs.replace(self.adapter(compiler), other_lock=lock, candidate=True)
        other.adapters = {**self.adapters, compiler: adapter}
        return other

    def forget_adapters(self) -> None:
        """After a decision on a release, here or elsewhere: which locks are accepted is asked anew."""
        self.__dict__.pop("adapters", None)
        self.environments.clear()

    def abandon(self) -> None:
        """End every worker of this process; from now on nothing of what they did is filed."""
        self._abandoned.set()
        end_workers()

    def require_wanted(self) -> None:
        """Called before anything a worker came to is filed. Raises Abandoned once nobody wants it any more."""
        if self._abandoned.is_set():
            raise Abandoned

    def host_lease(self) -> Lease:
        """Of this host. Raises Abandoned in place of a lease that nobody wants any more."""
        return Lease(wanted=self.require_wanted)

    def workload(self, name: str) -> Manifest:
        """The manifest called ``name``; SettingsError lists what there is."""
        return _named("workload", name, self.workloads)

    def adapter(self, name: str) -> AdapterFolder:
        """The compiler called ``name``; SettingsError lists what there is."""
        return _named("compiler", name, self.adapters)

    def shape(self, workload: str, asked: str = "") -> str:
        """``asked``, or the shape this workload's suite is quoted at; SettingsError if there is no such shape."""
        suite = self.workload(workload).suite
        return self.known_shape(asked or SUITE_SHAPE.get(suite, "matrix"))

    def known_shape(self, name: str) -> str:
        """``name`` itself; SettingsError lists the shapes there are if it is none of them."""
        if name not in self.shapes:
            raise SettingsError(f"shape {name!r} is not defined (have: {', '.join(self.shapes)})")
        return name


def resolved_target(target: str) -> str:
    """The name records are filed under: ``cuda`` is the device found, by its full name, as long as there is one.

    Raises SettingsError unless ``target`` is one of ``TARGETS`` or the full name of an NVIDIA device.
    """
    if target not in TARGETS and not target.removeprefix(SIMULATED).startswith("NVIDIA "):
        raise SettingsError(
            f"target {target!r} is not known (have: {', '.join(TARGETS)}, or a device by its full name)"
        )
    if target == "cuda":
        with suppress(DeviceRefused), device_of(target) as found:
            return found.name if found else target
    return target


def worker_target(target: str) -> str:
    """What a worker is told: every real device is ``cuda``, whatever its name."""
    return target if target in TARGETS else "cuda"


def _named(what: str, name: str, have: dict[str, T]) -> T:
    if name not in have:
        raise SettingsError(f"{what} {name!r} is not defined (have: {', '.join(have)})")
    return have[name]
